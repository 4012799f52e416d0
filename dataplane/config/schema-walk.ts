/** Looks up fields and descriptions of the schema for a place in the document. */
import { z } from 'zod'
import type { Path } from './judgement/problems.ts'

type Schema = z.core.$ZodType

/** The schema of the value at `path`; nothing if the schema has no such place. */
function schemaAt(root: Schema, path: Path): Schema | undefined {
  let schema: Schema | undefined = unwrap(root)
  for (const part of path) {
    if (schema instanceof z.ZodObject) schema = memberOf(schema, String(part))
    else if (schema instanceof z.ZodArray) schema = schema.element
    else if (schema instanceof z.ZodRecord) schema = schema.valueType
    else return undefined
    if (schema !== undefined) schema = unwrap(schema)
  }
  return schema
}

/** Names of the fields that may stand at `path`. */
export function fieldsAt(root: Schema, path: Path): string[] {
  const schema = schemaAt(root, path)
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
}

export function descriptionAt(root: Schema, path: Path): string | undefined {
  const part = path.at(-1)
  const parent = schemaAt(root, path.slice(0, -1))
  if (!(parent instanceof z.ZodObject) || typeof part !== 'string') return undefined
  const member = memberOf(parent, part)
  return member === undefined ? undefined : z.globalRegistry.get(member)?.description
}

function memberOf(schema: z.ZodObject, name: string): Schema | undefined {
  return Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined
}

function unwrap(schema: Schema): Schema {
  let inner = schema
  while (
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault ||
    inner instanceof z.ZodNullable
  ) {
    inner = inner.unwrap()
  }
  return inner
}
