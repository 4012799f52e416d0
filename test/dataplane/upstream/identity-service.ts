/** An identity service that answers on the test's command, and a renewal on the test's clock. */
import { setImmediate as turn } from 'node:timers/promises'
import {
  type CredentialState,
  RenewedCredential,
} from '../../../dataplane/upstream/credentials/renewed-credential.ts'
import type {
  CredentialSource,
  FetchedCredential,
} from '../../../dataplane/wire/credential-source.ts'
import { aClock, type TurnedClock } from '../../helpers/clock.ts'

interface Fetch {
  /** Milliseconds since the rig was made. */
  readonly at: number
  readonly signal: AbortSignal
  give(credential: FetchedCredential): Promise<void>
  refuse(message: string): Promise<void>
}

export interface IdentityRig {
  readonly renewed: RenewedCredential
  readonly clock: TurnedClock
  readonly fetches: readonly Fetch[]
  readonly last: Fetch
  /** The states that operators were notified of. */
  readonly states: readonly CredentialState[]
  readonly outcomes: readonly boolean[]
  /** Timers that are set. */
  readonly timers: number
  /** Advances the clock, and makes the due calls. */
  pass(ms: number): Promise<void>
  /** A credential that expires this many seconds from now. */
  token(value: string, seconds: number): FetchedCredential
}

export function anIdentity(random = 0.5): IdentityRig {
  const clock = aClock()
  const begun = clock.now()
  const timers = new Map<symbol, { readonly at: number; readonly call: () => void }>()
  const fetches: Fetch[] = []
  const states: CredentialState[] = []
  const outcomes: boolean[] = []
  const source: CredentialSource = {
    from: 'the test',
    fetch(signal) {
      const { promise, resolve, reject } = Promise.withResolvers<FetchedCredential>()
      fetches.push({
        at: clock.now() - begun,
        signal,
        async give(credential) {
          resolve(credential)
          await turn()
        },
        async refuse(message) {
          reject(new Error(message))
          await turn()
        },
      })
      return promise
    },
  }
  const renewed = new RenewedCredential(source, {
    clock,
    random: () => random,
    schedule(delayMs, call) {
      const key = Symbol('timer')
      timers.set(key, { at: clock.now() + delayMs, call })
      return () => void timers.delete(key)
    },
    fetched: (ok) => outcomes.push(ok),
    changed: (to) => states.push(to),
  })
  return {
    renewed,
    clock,
    fetches,
    states,
    outcomes,
    get last() {
      return fetches.at(-1) as Fetch
    },
    get timers() {
      return timers.size
    },
    async pass(ms) {
      const until = clock.now() + ms
      for (;;) {
        const [next] = [...timers].toSorted(([, one], [, other]) => one.at - other.at)
        if (next === undefined || next[1].at > until) break
        timers.delete(next[0])
        clock.pass(Math.max(0, next[1].at - clock.now()))
        next[1].call()
        await turn()
      }
      clock.pass(until - clock.now())
    },
    token: (value, seconds) => ({ value, expiresAtMs: clock.wall() + seconds * 1000 }),
  }
}
