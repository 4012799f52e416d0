/** The account of one tenant at one upstream: its output tokens, and its waiting requests. */
import { Decayed } from './decayed.ts'
import type { Weighed } from './weights.ts'

/** A later answer changes the expectation by this part of the difference. */
const SMOOTHING = 1 / 8

export class Account<T> implements Weighed {
  readonly tenant: string
  isLow: boolean
  /**
   * Output tokens by weight, on the scale of all accounts: the account with the least goes next.
   */
  mark = 0
  /** In the order of arrival. */
  readonly waiting: T[] = []
  running = 0
  /** When it began to wait, as an increasing number. */
  since = 0
  /** Its position in the list of waiting accounts. */
  index = -1
  /**
   * The expected output tokens of one answer, from the last answers; undefined before the first.
   */
  expected: number | undefined
  readonly used = new Decayed()

  constructor(tenant: string, isLow: boolean) {
    this.tenant = tenant
    this.isLow = isLow
  }

  get isIdle(): boolean {
    return this.running === 0 && this.waiting.length === 0
  }
}

export function expectedAfter(before: number | undefined, tokens: number): number {
  return before === undefined ? tokens : before + (tokens - before) * SMOOTHING
}
