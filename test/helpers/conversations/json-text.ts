/** JSON in which numbers keep their text. */

/** JSON text that is written unchanged. */
export class Raw {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export function written(value: unknown): string {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map((one) => written(one ?? null)).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, one]) => one !== undefined)
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${written(one)}`).join()}}`
}

/** A number by its text. */
export class Num {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

// biome-ignore lint/suspicious/noExplicitAny: read like a client without types reads.
export type Json = any

/** The tree of a text, with numbers as `Num`. */
export function exactly(text: string): Json {
  const keep = (_name: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? new Num(context?.source ?? '') : value
  return JSON.parse(text, keep as (name: string, value: unknown) => unknown)
}

/** One text for all texts of the same value; numbers as written. */
export function canonical(text: string): string {
  try {
    return canonicalOf(exactly(text))
  } catch {
    return `no JSON: ${text}`
  }
}

export function canonicalOf(value: Json): string {
  if (value instanceof Num) return value.text
  if (Array.isArray(value)) return `[${value.map(canonicalOf).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const names = Object.keys(value).toSorted()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalOf(value[name])}`).join()}}`
}
