/** Which pods cannot reach the shared store, and how they admit requests meanwhile. */
import type { PodState } from '../delivery/pusher.ts'
import { listed } from './facts.ts'

interface StoreTrouble {
  /** True if some pod answers every request with 503. */
  readonly refuses: boolean
  readonly message: string
}

export function storeTrouble(pods: readonly PodState[]): StoreTrouble | undefined {
  const alone = pods.filter(({ report }) => report?.storeAway !== undefined)
  if (alone.length === 0) return undefined
  const refuses = alone.some(({ report }) => report?.storeAway?.failOpen === false)
  const meanwhile = refuses
    ? 'requests are refused with 503 meanwhile'
    : 'each admits its own share of the limits meanwhile'
  const names = listed(alone.map(({ target }) => target.name))
  const message = `The shared store does not answer ${names}; ${meanwhile}. Look at Redis.`
  return { refuses, message }
}
