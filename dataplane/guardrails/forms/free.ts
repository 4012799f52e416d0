/** Values whose members are the client's own: schemas, arguments of tools, metadata. All their texts are shown. */
import { isRecord, parsed } from '../../json/values.ts'
import type { Form, Seen } from './form.ts'

/** Names that JSON Schema gives its members. */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...['$defs', '$ref', '$schema', 'additionalProperties', 'allOf', 'anyOf', 'const', 'default'],
  ...['definitions', 'deprecated', 'description', 'enum', 'examples', 'exclusiveMaximum'],
  ...['exclusiveMinimum', 'format', 'items', 'maxItems', 'maxLength', 'maximum', 'minItems'],
  ...['minLength', 'minimum', 'multipleOf', 'not', 'nullable', 'oneOf', 'pattern', 'properties'],
  ...['required', 'strict', 'title', 'type', 'uniqueItems'],
])
/** Words that JSON Schema knows as types. */
const TYPES: ReadonlySet<string> = new Set([
  ...['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'],
])

/** Texts may be changed in place; names are shown together, and cannot be changed. */
export const free: Form = (value, path, seen) => {
  const names = new Set<string>()
  collect(value, names)
  show(value, path, seen, names)
  if (names.size > 0) seen.text([...names].join('\n'), path, true)
}

function collect(value: unknown, names: Set<string>): void {
  if (Array.isArray(value)) for (const one of value) collect(one, names)
  if (!isRecord(value)) return
  for (const [name, one] of Object.entries(value)) {
    if (!KEYWORDS.has(name) && name !== '') names.add(name)
    collect(one, names)
  }
}

function show(
  value: unknown,
  path: Parameters<Form>[1],
  seen: Seen,
  names: ReadonlySet<string>,
): void {
  if (typeof value === 'string') {
    // Lists of required members repeat their names.
    if (value !== '' && !TYPES.has(value) && !names.has(value)) seen.text(value, path)
  } else if (Array.isArray(value)) {
    for (const [at, one] of value.entries()) {
      path.push(at)
      show(one, path, seen, names)
      path.pop()
    }
  } else if (isRecord(value)) {
    for (const [name, one] of Object.entries(value)) {
      path.push(name)
      show(one, path, seen, names)
      path.pop()
    }
  }
}

/** A text that models read as JSON: its escapes hide characters, so it is shown without them too. */
export const jsonText: Form = (value, path, seen) => {
  if (value === null || value === undefined || value === '') return
  if (typeof value !== 'string') {
    seen.refuse(path, 'must be a text')
    return
  }
  seen.text(value, path)
  if (!ESCAPES.test(value)) return
  const read = parsed(value)
  if (read !== undefined) seen.text(JSON.stringify(read), path, true)
}

const ESCAPES = /\\[u/]/
