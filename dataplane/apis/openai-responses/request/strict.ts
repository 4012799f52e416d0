/** Whether a JSON schema may be used strictly: every object requires all of its properties and allows no others. */
import { isRecord, listOf, recordOf } from '../../../json/values.ts'

const BRANCHES = ['anyOf', 'oneOf', 'allOf'] as const

export function isStrictable(schema: unknown): boolean {
  if (!isRecord(schema)) return true
  const { type, properties, required, items, $defs } = schema
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'))
  const below = recordOf(properties)
  if (isObject) {
    if (schema.additionalProperties !== false) return false
    const names = listOf(required)
    if (!Object.keys(below).every((name) => names.includes(name))) return false
  }
  const branches = BRANCHES.flatMap((name) => listOf(schema[name]))
  const all = [...Object.values(below), ...Object.values(recordOf($defs)), ...branches, items]
  return all.every(isStrictable)
}
