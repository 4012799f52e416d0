/** A checker of a vendor gets a request as it was sent, and returns the complaints of the vendor. */

// biome-ignore lint/suspicious/noExplicitAny: requests are read without a type.
export type Json = any

export interface Sent {
  readonly method?: string
  /** Path and query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body: Json
}

export interface Complaint {
  /** The rule that was broken, as a short name. */
  readonly rule: string
  readonly at: string
  readonly message: string
}

export type Checker = (sent: Sent, complaints: Complaints) => void

/** Gathers what a vendor refuses. */
export class Complaints {
  readonly list: Complaint[] = []

  add(rule: string, at: string, message: string): void {
    this.list.push({ rule, at, message })
  }

  demand(holds: boolean, rule: string, at: string, message: string): void {
    if (!holds) this.add(rule, at, message)
  }

  /** Refuses members that the vendor does not have. */
  knows(value: Json, names: string, at: string): void {
    if (typeof value !== 'object' || value === null) return
    const known = names.split(' ')
    for (const name of Object.keys(value))
      if (!known.includes(name)) this.add(`unknown-member ${name}`, at, `Unknown "${name}".`)
  }

  /** Refuses texts that are empty or only white space. */
  text(value: unknown, at: string): void {
    if (typeof value !== 'string') this.add('text-type', at, 'A text must be a string.')
    else if (value.trim() === '') this.add('blank-text', at, 'A text must not be blank.')
  }

  range(value: unknown, [least, most]: readonly [number, number], at: string): void {
    if (value == null) return
    const fits = typeof value === 'number' && value >= least && value <= most
    this.demand(fits, 'range', at, `It must be from ${least} to ${most}, and is ${value}.`)
  }
}

export function entries(list: Json): [number, Json][] {
  return Array.isArray(list) ? [...list.entries()] : []
}

export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
