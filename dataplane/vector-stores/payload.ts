/** The parts of a payload that a passage needs, by the names that loaders use. */
import { listOf, recordOf, textOf } from '../json/values.ts'

type Payload = Readonly<Record<string, unknown>>

/** Fields in which loaders store the text, the most common first. */
const TEXT_FIELDS = ['text', 'content', 'page_content', 'document']
/** Fields in which loaders store the origin; also below `metadata`. */
const SOURCE_FIELDS = ['source', 'url', 'file_name', 'file', 'path', 'title']

/** `a.b` is the member b of a, unless a member has the whole name. */
export function fieldAt(payload: Payload, field: string): unknown {
  if (Object.hasOwn(payload, field)) return payload[field]
  const dot = field.indexOf('.')
  if (dot < 0) return undefined
  const below = field.slice(0, dot)
  if (!Object.hasOwn(payload, below)) return undefined
  return fieldAt(recordOf(payload[below]), field.slice(dot + 1))
}

export function passageText(payload: Payload, field: string | undefined): string | undefined {
  const fields = field === undefined ? TEXT_FIELDS : [field]
  return fields.map((one) => textOf(fieldAt(payload, one))).find((text) => text !== undefined)
}

export function sourceOf(payload: Payload): string | undefined {
  const places = [payload, recordOf(payload.metadata)]
  const sources = places.flatMap((place) => SOURCE_FIELDS.map((field) => textOf(place[field])))
  return sources.find((source) => source !== undefined)
}

/** Some stores match a list if one of its entries is equal. */
export function belongsTo(payload: Payload, field: string, tenant: string): boolean {
  const value = fieldAt(payload, field)
  return String(value) === tenant || listOf(value).some((one) => String(one) === tenant)
}
