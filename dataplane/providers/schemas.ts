/** Adapts JSON schemas to vendors: an object schema has a type, and a schema for answers is closed. */
import { isRecord, type Json, listOf, recordOf, textOf } from '../json/values.ts'

/** The parameters of a function; the same schema if it is an object schema already. */
export function objectSchema(schema: unknown, wantsProperties = false): Json {
  if (!isRecord(schema)) return { type: 'object', properties: {} }
  const isTyped = schema.type === 'object'
  const isWhole = !wantsProperties || isRecord(schema.properties)
  if (isTyped && isWhole) return schema
  return { ...schema, type: 'object', ...(!isWhole && { properties: {} }) }
}

/** Members that contain schemas: one, a list, or one for each name. */
const ONE = ['items']
const LISTS = ['anyOf', 'allOf']
const DEFINITIONS = ['$defs', 'definitions']
const MAPS = ['properties', ...DEFINITIONS]
/** Members that stay unchanged. */
const PLAIN = ['type', 'title', 'enum', 'const', 'default', 'required', 'description']
const FORMATS = [
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'],
]

/**
 * The schema in Anthropic's form for an answer or a strict tool. It follows the transform in Anthropic's SDKs
 * (2026-11-26): objects are closed, and bounds and other keywords move into the description, where the model reads
 * them.
 */
export function closedSchema(schema: unknown): Json {
  const before = recordOf(schema)
  if (textOf(before.$ref) !== undefined) return { $ref: before.$ref, ...definitionsIn(before) }
  const kept: Record<string, unknown> = {}
  const said: string[] = []
  for (const [name, value] of Object.entries(before)) {
    if (ONE.includes(name)) kept[name] = closedSchema(value)
    else if (LISTS.includes(name)) kept[name] = listOf(value).map(closedSchema)
    else if (name === 'oneOf') kept.anyOf = listOf(value).map(closedSchema)
    else if (MAPS.includes(name)) kept[name] = eachClosed(value)
    else if (PLAIN.includes(name) || isTaken(name, value)) kept[name] = value
    else if (isWorthSaying(name, value)) said.push(`${name}: ${JSON.stringify(value)}`)
  }
  if (isObjects(before)) kept.additionalProperties = false
  const words = [textOf(before.description), said.length > 0 && `{${said.join(', ')}}`]
  const description = words.filter(Boolean).join('\n\n')
  return { ...kept, ...(description !== '' && { description }) }
}

/** A recursive type is a reference beside its own definition. */
function definitionsIn(schema: Json): Json {
  const present = DEFINITIONS.filter((name) => isRecord(schema[name]))
  return Object.fromEntries(present.map((name) => [name, eachClosed(schema[name])]))
}

function eachClosed(schemas: unknown): Json {
  const all = Object.entries(recordOf(schemas))
  return Object.fromEntries(all.map(([name, one]) => [name, closedSchema(one)]))
}

function isTaken(name: string, value: unknown): boolean {
  if (name === 'minItems') return value === 0 || value === 1
  return name === 'format' && FORMATS.includes(String(value))
}

/** An object that is already closed, or the schema's name, adds nothing for a model. */
function isWorthSaying(name: string, value: unknown): boolean {
  return !name.startsWith('$') && !(name === 'additionalProperties' && typeof value === 'boolean')
}

function isObjects({ type, properties }: Json): boolean {
  return type === 'object' || listOf(type).includes('object') || isRecord(properties)
}
