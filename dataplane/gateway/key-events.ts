/** Reports keys that were revoked, rotated or removed, or have expired: with a new configuration or by the hour. */
import type { Clock, Deadline } from '../base/clock.ts'
import type { KeyEntry } from '../call/key-entry.ts'
import type { Gateway } from './gateway.ts'

const LOOK_MS = 5_000
/** Above this number a look would hold requests up. */
const KEYS_MAX = 20_000
/** Most events of one look, so that a new set of keys does not fill the log. */
const EVENTS_MAX = 20

type KeyWorld = Pick<Gateway, 'active' | 'log'> & { readonly clock: Clock }

/** A deadline: the caller must add it to those of the process. */
export class KeyEvents implements Deadline {
  due: number
  seat = -1
  readonly #world: KeyWorld
  #states: ReadonlyMap<string, string>

  constructor(world: KeyWorld) {
    this.#world = world
    this.due = world.clock.now() + LOOK_MS
    this.#states = this.#look()
  }

  expire(now: number): void {
    this.due = now + LOOK_MS
    const before = this.#states
    this.#states = this.#look()
    let reported = 0
    for (const [id, was] of before) {
      const state = this.#states.get(id) ?? 'removed'
      if (was !== 'active' || state === was) continue
      if (++reported > EVENTS_MAX) return
      const done = state === 'expired' ? 'has expired' : `was ${state}`
      this.#world.log.event('info', 'key', `The key "${id}" ${done}.`, { key: id, state })
    }
  }

  #look(): ReadonlyMap<string, string> {
    const { active, clock } = this.#world
    const { keys } = active.snapshot
    const states = new Map<string, string>()
    if (keys.size > KEYS_MAX) return states
    const now = clock.wall()
    for (const entry of keys.values()) states.set(entry.record.id, stateOf(entry, now))
    return states
  }
}

function stateOf({ record, usable, expiresAt }: KeyEntry, now: number): string {
  if (record.rotated_to !== undefined) return 'rotated'
  if (!usable) return 'revoked'
  return now >= expiresAt ? 'expired' : 'active'
}
