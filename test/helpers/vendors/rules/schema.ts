/** Rules of schemas of tools and of structured output. */
import { type Complaints, isObject, type Json } from './contract.ts'

/** Keywords whose values are schemas, lists of them, or maps of them. */
const NESTED = ['items', 'additionalProperties', 'not'] as const
const LISTS = ['anyOf', 'allOf', 'oneOf', 'prefixItems'] as const
const MAPS = ['properties', '$defs', 'definitions'] as const

export function eachSchema(schema: Json, at: string, see: (one: Json, at: string) => void): void {
  if (!isObject(schema)) return
  see(schema, at)
  for (const name of NESTED) eachSchema(schema[name], `${at}.${name}`, see)
  for (const name of LISTS)
    if (Array.isArray(schema[name]))
      for (const [index, one] of schema[name].entries())
        eachSchema(one, `${at}.${name}.${index}`, see)
  for (const name of MAPS)
    if (isObject(schema[name]))
      for (const [key, one] of Object.entries(schema[name]))
        eachSchema(one, `${at}.${name}.${key}`, see)
}

/** OpenAI: the parameters are an object, and objects have properties. */
export function checkOpenAiSchema(schema: Json, at: string, c: Complaints): void {
  if (schema === undefined) return
  c.demand(
    isObject(schema) && schema.type === 'object',
    'schema-type',
    at,
    'type must be "object".',
  )
  c.demand(
    isObject(schema?.properties),
    'schema-properties',
    at,
    'object schema missing properties.',
  )
  eachSchema(schema, at, (one, place) => {
    const isArray = one.type === 'array'
    c.demand(
      !isArray || one.items !== undefined,
      'schema-items',
      place,
      'array schema missing items.',
    )
  })
}

export function checkTyped(schema: Json, at: string, c: Complaints): void {
  c.demand(
    isObject(schema) && schema.type === 'object',
    'schema-type',
    at,
    'type must be "object".',
  )
}

const BOUNDS =
  'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems'

/** Anthropic's strict tools and structured output: no bounds, and closed objects. */
export function checkClosedSchema(schema: Json, at: string, c: Complaints): void {
  eachSchema(schema, at, (one, place) => {
    for (const word of BOUNDS.split(' '))
      if (word in one) c.add(`schema-keyword ${word}`, place, `"${word}" is not supported.`)
    if (typeof one.minItems === 'number' && one.minItems > 1)
      c.add('schema-keyword minItems', place, '"minItems" over 1 is not supported.')
    if (one.type === 'object' && one.additionalProperties !== false)
      c.add('schema-open', place, 'additionalProperties must be false.')
  })
}
