/** A zod schema in the form of the API server: typed at every node, bounded, without defaults. */

import { z } from 'zod'
import type { Tree } from '../dataplane/config/document/tree.ts'
import { isRecord } from '../dataplane/json/values.ts'
import { rules } from './fields.ts'

/** A value that only its form limits, such as a hash, still needs a maximum length. */
const STRING_LENGTH_MAX = 4096
const NAME_LENGTH_MAX = 253

/** Pods resolve references, so any text may be one. */
const REFERENCE = '\\$\\{.+\\}'
const FILE_REFERENCE = '\\$\\{file:'

export interface StructuralOptions {
  /** Whether any text may be a reference such as `${env:NAME}`. */
  readonly references: boolean
}

export function makeStructural(schema: z.ZodType, options: StructuralOptions): Tree {
  const json: unknown = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    reused: 'inline',
  })
  return structural(json, options)
}

function structural(node: unknown, options: StructuralOptions): Tree {
  if (!isRecord(node)) throw new Error('a schema must be an object')
  const { default: initial, description, propertyNames: _names, $schema: _url, ...rest } = node
  const meaning = describe(description, { initial, values: rest.enum })
  const typed = withChildren(merged(rest), options)
  const shaped = typed.type === 'string' ? boundText(typed, options) : typed
  return { ...(meaning === undefined ? {} : { description: meaning }), ...shaped }
}

/**
 * The API server would write defaults into the user's text; pods apply them instead, and descriptions name them.
 * `kubectl explain` shows no values if a rule replaces `enum`, so the text lists them.
 */
function describe(
  description: unknown,
  { initial, values }: { readonly initial: unknown; readonly values: unknown },
): string | undefined {
  const hasDefault = initial !== undefined && !(typeof initial === 'object' && isEmpty(initial))
  const standard = hasDefault ? `Default: ${JSON.stringify(initial)}.` : undefined
  const choices =
    Array.isArray(values) && values.length > 1 ? `One of: ${values.join(', ')}.` : undefined
  const parts = [description, choices, standard].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : parts.join(' ')
}

function isEmpty(value: object | null): boolean {
  return value === null || Object.keys(value).length === 0
}

/** Alternatives are either a number and a text, or texts of several forms. */
function merged(node: Tree): Tree {
  const { anyOf, ...rest } = node
  if (!Array.isArray(anyOf)) return node
  if (rest['x-kubernetes-int-or-string'] === true) return rest
  const choices = anyOf.filter(isRecord)
  if (!choices.every(({ type }) => type === 'string')) {
    throw new Error(`alternatives of different types are not structural: ${JSON.stringify(anyOf)}`)
  }
  const lengths = choices.map(({ maxLength }) => Number(maxLength ?? 0))
  return {
    ...rest,
    type: 'string',
    minLength: 1,
    maxLength: Math.max(...lengths),
    pattern: choices.map(patternOf).join('|'),
  }
}

function patternOf({ pattern, enum: values }: Tree): string {
  if (typeof pattern === 'string') return pattern
  if (!Array.isArray(values)) return '^.+$'
  return values.map((value) => `^${String(value).replace(/[^A-Za-z0-9]/g, '\\$&')}$`).join('|')
}

function withChildren(node: Tree, options: StructuralOptions): Tree {
  const { properties, items, additionalProperties, ...rest } = node
  if (Array.isArray(rest.required) && rest.required.length === 0) delete rest.required
  return {
    ...rest,
    ...(isRecord(properties)
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, child]) => [name, structural(child, options)]),
          ),
        }
      : {}),
    ...(items === undefined ? {} : { items: structural(items, options) }),
    ...(isRecord(additionalProperties) && properties === undefined
      ? { additionalProperties: structural(additionalProperties, options) }
      : {}),
  }
}

function boundText(node: Tree, { references }: StructuralOptions): Tree {
  const { format, pattern, enum: values, ...rest } = node
  if (Array.isArray(values)) {
    return references ? { ...rest, ...namesOrReference(values) } : { ...rest, enum: values }
  }
  // The author of a resource may not read files of a pod; the operator checks untyped nodes for them.
  const noFile = references ? { not: { pattern: FILE_REFERENCE } } : {}
  const bounded = { maxLength: STRING_LENGTH_MAX, ...rest, ...noFile }
  // A format repeats the pattern, and the API server knows its formats.
  if (format === 'date-time') {
    return references
      ? { ...bounded, anyOf: [{ format }, { pattern: REFERENCE }] }
      : { ...bounded, format }
  }
  if (typeof pattern !== 'string') return bounded
  return { ...bounded, pattern: references ? `${pattern}|${REFERENCE}` : pattern }
}

/** A rule states the allowed values in one line; alternatives would need three. */
function namesOrReference(values: readonly unknown[]): Tree {
  const names = values.map((value) => `'${value}'`).join(', ')
  const rule = `self.contains('\${') || self in [${names}]`
  const message = `must be one of: ${values.join(', ')}`
  return { maxLength: NAME_LENGTH_MAX, ...rules({ rule, message }) }
}
