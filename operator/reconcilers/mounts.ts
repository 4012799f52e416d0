/** Makes the kubelet renew the mounts of pods that wait for a Secret or for this operator's key. */

import type { PodState } from '../delivery/pusher.ts'
import type { ApiClient } from '../kube/api.ts'
import { isStatus } from '../kube/api-error.ts'
import { MANAGER, MOUNTS_ANNOTATION } from '../kube/names.ts'
import { RESOURCES } from '../kube/objects.ts'

export interface MountOptions {
  readonly api: Pick<ApiClient, 'apply'>
  readonly wallClock: () => number
  /** Monotonic, in milliseconds. */
  readonly clock: () => number
  readonly onError: (error: unknown) => void
}

/** By itself a kubelet checks mounts once a minute; a changed annotation of the pod makes it check at once. */
const FIRST_MS = 5000
const LAST_MS = 30_000
/** Afterwards the kubelet's own minute is soon enough. */
const PATIENCE_MS = 3_600_000

interface RetryWait {
  readonly since: number
  nextAt: number
  waitMs: number
}

export class MountKeeper {
  readonly #options: MountOptions
  /** By gateway, then by the uid of the pod. */
  readonly #waiting = new Map<string, Map<string, RetryWait>>()

  constructor(options: MountOptions) {
    this.#options = options
  }

  /** Returns after which time it must be called again, if any pod still waits. */
  async renew(
    gateway: string,
    namespace: string,
    pods: readonly PodState[],
  ): Promise<number | undefined> {
    const lacking = pods.filter(lacksMount)
    const now = this.#options.clock()
    // A pod that is being asked again may report nothing missing for a moment.
    const known = [...(this.#waiting.get(gateway) ?? [])].filter(([, { nextAt }]) => now < nextAt)
    const waiting = new Map(known)
    for (const { target } of lacking) {
      const before = this.#waiting.get(gateway)?.get(target.uid)
      waiting.set(target.uid, before ?? { since: now, nextAt: now, waitMs: FIRST_MS })
    }
    this.#waiting.set(gateway, waiting)
    if (waiting.size === 0) this.#waiting.delete(gateway)
    const due = lacking.filter(({ target }) => isDue(waiting.get(target.uid), now))
    await Promise.all(due.map((pod) => this.#touch(namespace, pod, waiting)))
    const turns = lacking.flatMap(({ target }) => waiting.get(target.uid) ?? [])
    const times = turns.filter(isPatient(now)).map(({ nextAt }) => nextAt - now)
    return times.length === 0 ? undefined : Math.max(0, Math.min(...times))
  }

  forget(gateway: string): void {
    this.#waiting.delete(gateway)
  }

  async #touch(
    namespace: string,
    { target: { name, uid } }: PodState,
    waiting: ReadonlyMap<string, RetryWait>,
  ): Promise<void> {
    const { api, wallClock, clock, onError } = this.#options
    const turn = waiting.get(uid)
    if (turn !== undefined) {
      turn.nextAt = clock() + turn.waitMs
      turn.waitMs = Math.min(LAST_MS, turn.waitMs * 1.5)
    }
    const annotations = { [MOUNTS_ANNOTATION]: new Date(wallClock()).toISOString() }
    try {
      const metadata = { name, namespace, uid, annotations }
      await api.apply(RESOURCES.pods, { metadata }, { manager: MANAGER, merges: true })
    } catch (error) {
      // The pod is gone or replaced; other errors must not delay the gateway.
      if (!isStatus(error, 404) && !isStatus(error, 409)) onError(error)
    }
  }
}

function isDue(turn: RetryWait | undefined, now: number): boolean {
  return turn !== undefined && turn.nextAt <= now && isPatient(now)(turn)
}

function isPatient(now: number) {
  return ({ since }: RetryWait) => now - since < PATIENCE_MS
}

/** Whether new mounts would help; variables are fixed at the start of the pod. */
function lacksMount({ report, configuration, keys }: PodState): boolean {
  if (configuration.isUntrusted || keys.isUntrusted) return true
  if (report?.unresolved.some(({ reference }) => reference.includes('${secret:'))) return true
  const { refused } = report?.configuration ?? {}
  return [...(configuration.problems ?? []), ...(refused?.problems ?? [])].some(
    ({ isUnresolved, message }) => isUnresolved && message.includes('${secret:'),
  )
}
