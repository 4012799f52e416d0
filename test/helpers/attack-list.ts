/** The attacks by name, as the table shows them. */
export const ATTACKS = [
  'no attack',
  'bodies of 4 MiB in chunks of one byte',
  'the same by a key without the route',
  'the same with a header that only the other reader takes',
  'five bodies of 8 MiB of empty lists at once',
  'a tenant behind its rate sends lists of 8 MiB',
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

/** The data that the attacking thread gets. */
export interface Orders {
  readonly attack: Attack
  readonly url: string
  readonly keys: Readonly<Record<string, string>>
  /** One number: 1 while it is to attack, 0 while it is to wait. */
  readonly isOn: Int32Array
}
