/** A value that a JSON schema accepts: the arguments of a simulated tool call. */

type Schema = Readonly<Record<string, unknown>>

/** Schemas may refer to themselves; deeper than this they get null. */
const DEPTH_MAX = 8

export function exampleValue(schema: unknown): unknown {
  return build(asSchema(schema), asSchema(schema), 0)
}

function build(schema: Schema, root: Schema, depth: number): unknown {
  if (depth > DEPTH_MAX) return null
  if (typeof schema.$ref === 'string') return build(lookUp(schema.$ref, root), root, depth + 1)
  const [given] = [schema.const, schema.default, first(schema.enum), first(schema.examples)].filter(
    (value) => value !== undefined,
  )
  if (given !== undefined) return given
  const choice = first(schema.anyOf) ?? first(schema.oneOf) ?? first(schema.allOf)
  if (choice !== undefined) return build(asSchema(choice), root, depth + 1)
  switch (typeOf(schema)) {
    case 'object':
      return buildObject(schema, root, depth)
    case 'array':
      return [build(asSchema(schema.items), root, depth + 1)]
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 1
    case 'boolean':
      return true
    case 'null':
      return null
    default:
      return 'example'
  }
}

/** Only what is required: the shortest arguments that a tool has to cope with. */
function buildObject(schema: Schema, root: Schema, depth: number): unknown {
  const required = Array.isArray(schema.required) ? schema.required : []
  const properties = asSchema(schema.properties)
  return Object.fromEntries(
    required.map((name) => [name, build(asSchema(properties[String(name)]), root, depth + 1)]),
  )
}

function typeOf({ type, properties, items }: Schema): unknown {
  if (Array.isArray(type)) return type.find((one) => one !== 'null') ?? 'null'
  if (type !== undefined) return type
  if (properties !== undefined) return 'object'
  return items === undefined ? 'string' : 'array'
}

/** `#/$defs/Name`: references within the document are all that tools use. */
function lookUp(reference: string, root: Schema): Schema {
  const steps = reference.split('/').slice(1)
  return steps.reduce((schema, step) => asSchema(schema[step]), root)
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
