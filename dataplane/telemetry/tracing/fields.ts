/** Fields of a trace as attributes, each with the key that its declaration names. */
import { type FieldFacts, namesIn } from '../trace/field.ts'
import { TRACE_FIELDS, type Trace } from '../trace/fields.ts'
import { type Key, keyOf, type Writer } from './writer.ts'

export interface FieldAttribute {
  readonly name: keyof typeof TRACE_FIELDS
  readonly key: Key
  /** A number that may be fractional. */
  readonly isDecimal: boolean
}

/** The fields that a span or a record has. */
export function attributesIn(place: 'span' | 'record'): FieldAttribute[] {
  return namesIn(place, TRACE_FIELDS).map((name) => {
    const field = TRACE_FIELDS[name]
    return { name, key: attributeKey(name, field), isDecimal: field.kind === 'ms' }
  })
}

export function attributeKey(name: string, { attribute = `gw.${name}` }: FieldFacts): Key {
  return keyOf(attribute)
}

/** A field whose value is `none` is left out. */
export function writeFields(
  out: Writer,
  trace: Trace,
  attributes: readonly FieldAttribute[],
  member: number,
): void {
  for (const { name, key, isDecimal } of attributes) {
    const value = trace[name]
    if (value === undefined || value === 'none' || typeof value === 'object') continue
    const isWhole = !isDecimal || typeof value !== 'number'
    out.attribute(member, key, isWhole ? value : { decimal: value })
  }
}
