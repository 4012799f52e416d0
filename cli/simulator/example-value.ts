/** A value that a JSON schema accepts: the arguments of a simulated tool call, or a structured answer. */
import { matching } from './example-text.ts'

type Schema = Readonly<Record<string, unknown>>

/** Schemas may refer to themselves; below this depth they get null. */
const DEPTH_MAX = 8
/** Below this depth, optional members are omitted. */
const DEEP = 4
const ITEMS_MAX = 100

export function exampleValue(schema: unknown): unknown {
  return build(asSchema(schema), asSchema(schema), 0)
}

function build(given: Schema, root: Schema, depth: number): unknown {
  if (depth > DEPTH_MAX) return null
  const schema = merged(given, root, depth)
  const [fixed] = [schema.const, schema.default, first(schema.enum), first(schema.examples)].filter(
    (value) => value !== undefined,
  )
  if (fixed !== undefined) return fixed
  switch (typeOf(schema)) {
    case 'object':
      return buildObject(schema, root, depth)
    case 'array':
      return buildArray(schema, root, depth)
    case 'integer':
      return numberIn(schema, 1)
    case 'number':
      return numberIn(schema, Number(schema.multipleOf ?? 0))
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return matching(schema)
  }
}

/** With its references, all of `allOf`, and the first choice that ends. */
function merged(schema: Schema, root: Schema, depth: number): Schema {
  const { $ref, allOf, anyOf, oneOf, ...own } = schema
  const choices = [anyOf ?? oneOf ?? []].flat()
  const ending = depth < DEEP ? undefined : choices.find((one) => asSchema(one).type === 'null')
  const parts = [
    ...(typeof $ref === 'string' ? [lookUp($ref, root)] : []),
    ...[allOf ?? []].flat(),
    ...(choices.length > 0 ? [ending ?? choices[0]] : []),
  ].map(asSchema)
  if (parts.length === 0 || depth > DEPTH_MAX) return own
  return parts.map((part) => merged(part, root, depth + 1)).reduce(together, own)
}

function together(one: Schema, other: Schema): Schema {
  const required = [...listOf(one.required), ...listOf(other.required)]
  const properties = { ...asSchema(one.properties), ...asSchema(other.properties) }
  return {
    ...other,
    ...one,
    ...(required.length > 0 && { required }),
    ...(Object.keys(properties).length > 0 && { properties }),
  }
}

/** Only required members: the shortest arguments that a tool must accept. */
function buildObject(schema: Schema, root: Schema, depth: number): unknown {
  const properties = asSchema(schema.properties)
  const names = [...new Set(listOf(schema.required).map(String))]
  return Object.fromEntries(
    names.map((name) => [name, build(asSchema(properties[name]), root, depth + 1)]),
  )
}

function buildArray(schema: Schema, root: Schema, depth: number): unknown[] {
  const start = listOf(schema.prefixItems)
  const most = typeof schema.maxItems === 'number' ? schema.maxItems : ITEMS_MAX
  const least = typeof schema.minItems === 'number' ? schema.minItems : depth < DEEP ? 1 : 0
  const length = Math.min(Math.max(least, start.length), most, ITEMS_MAX)
  return Array.from({ length }, (_, index) =>
    build(asSchema(start[index] ?? schema.items), root, depth + 1),
  )
}

/** The smallest allowed value, or 1, as a multiple of `step`. */
function numberIn(schema: Schema, step: number): number {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema
  const grid = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : step
  const least =
    typeof above === 'number' ? above : typeof minimum === 'number' ? minimum : undefined
  const most = typeof below === 'number' ? below : typeof maximum === 'number' ? maximum : undefined
  if (least === undefined)
    return most === undefined || most > 1 ? onGrid(1, grid) : most - (grid || 1)
  if (above === undefined || least !== above) return onGrid(least, grid)
  if (grid > 0) return onGrid(least + grid / 2, grid)
  return most === undefined ? least + 1 : (least + most) / 2
}

function onGrid(value: number, grid: number): number {
  return grid > 0 ? Math.ceil(value / grid) * grid : value
}

function typeOf({ type, properties, required, items, minimum, maximum }: Schema): unknown {
  if (Array.isArray(type)) return type.find((one) => one !== 'null') ?? 'null'
  if (type !== undefined) return type
  if (properties !== undefined || required !== undefined) return 'object'
  if (minimum !== undefined || maximum !== undefined) return 'number'
  return items === undefined ? 'string' : 'array'
}

/** `#/$defs/Name`: tools use only references within the document. */
function lookUp(reference: string, root: Schema): Schema {
  const steps = reference.split('/').slice(1)
  return steps.reduce((schema, step) => asSchema(schema[step]), root)
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
