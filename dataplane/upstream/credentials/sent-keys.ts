/** The keys that a request has sent, of upstreams with several. */
import type { Failure } from '../../wire/provider.ts'
import type { TargetState } from '../live/target-state.ts'
import { isOfKey } from './keys.ts'

export class SentKeys {
  readonly #byUpstream = new Map<TargetState, readonly number[]>()

  /** The key for the next attempt. */
  take(state: TargetState): number | undefined {
    const sent = this.#byUpstream.get(state) ?? []
    const key = state.credential.keys?.take(sent)
    if (key !== undefined) this.#byUpstream.set(state, [...sent, key])
    return key
  }

  /** Whether the upstream refused a key and has another one. */
  hasOther(state: TargetState, failure: Failure): boolean {
    const sent = this.#byUpstream.get(state)
    const { keys } = state.credential
    return sent !== undefined && isOfKey(failure) && keys?.hasOther(sent) === true
  }
}
