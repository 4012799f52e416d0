/**
 * Troubles that pods report: Secrets that they can no longer use (they serve with the values they read before, and a new pod
 * cannot start), and a shared store that does not answer them.
 */
import type { Stored } from '../delivery/bundle.ts'
import { isSpoilt, type PodProblem } from '../delivery/pod-reports.ts'
import type { PodState } from '../delivery/pusher.ts'
import { enforces, listed } from './facts.ts'

/** The pod enforces this very document, so only a changed Secret can make it refuse the document. */
export function unusableIn(
  pod: PodState,
  { configuration: wanted }: Stored,
): readonly PodProblem[] {
  const { configuration } = pod.report ?? {}
  const { refused } = configuration ?? {}
  if (configuration === undefined || refused === undefined) return []
  // The same content with the next number.
  const isRenumbered = refused.documentHash === wanted?.documentHash && enforces(pod, wanted.hash)
  return isSpoilt(configuration) || isRenumbered ? refused.problems : []
}

/** `gw.gateway.tls.key: is not the key of cert`. */
export function shownProblem({ pointer, message }: PodProblem): string {
  const place = pointer.slice(1).replaceAll('/', '.')
  return place === '' ? message : `${place}: ${message}`
}

interface StoreTrouble {
  /** True if some pod answers every request with 503. */
  readonly refuses: boolean
  readonly message: string
}

/** Which pods cannot reach the shared store, and how they admit requests meanwhile. */
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
