/** The account of one tenant at one upstream: its output tokens, and its requests that wait. */
import { Decayed } from './decayed.ts'
import type { Weighed } from './weights.ts'

/** A later answer moves the expectation by this part of the difference. */
const SMOOTHING = 1 / 8

export class Account<T> implements Weighed {
  readonly tenant: string
  isLow: boolean
  /** Output tokens by weight, on the scale of all accounts: the least one goes next. */
  mark = 0
  /** In the order of arrival. */
  readonly waiting: T[] = []
  running = 0
  /** When it began to wait, as a number that grows. */
  since = 0
  /** Place in the list of accounts that wait. */
  index = -1
  /** The output tokens of one answer, as the last ones had; undefined before the first. */
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
