/** The attacks by name, in the order of the table. */
export const ATTACKS = [
  'no attack',
  'bodies of 4 MiB in chunks of one byte',
  'the same with a key without the route',
  'the same with a header that only Node accepts',
  'five bodies of 8 MiB of empty lists at once',
  'a tenant above its rate sends lists of 8 MiB',
  'a key without the route sends lists of 8 MiB',
  'a key without the route sends texts of 8 MiB',
  'a key without scope sends lists of 8 MiB',
  'unknown key, lists of 8 MiB',
  '24 unfinished bodies of 8 MiB, two slots',
  'upstream: an event of 1 MiB in chunks of one byte',
  'upstream: a whole answer of 30 MiB of lists',
  'upstream: a whole answer of 16 MiB of brackets',
] as const

export type Attack = (typeof ATTACKS)[number]

/** The data for the attacking thread. */
export interface Orders {
  readonly attack: Attack
  readonly url: string
  readonly keys: Readonly<Record<string, string>>
  /** One number: 1 to attack, 0 to wait. */
  readonly isOn: Int32Array
}
