/** The last compilation of each gateway, made anew only when what goes into it has changed. */
import type { KeyRecord } from '../dataplane/config/signed.ts'
import { type Compiled, compile } from './compile.ts'
import { gatewayOf, type KeyVerdict } from './compile-keys.ts'
import { type KubeObject, keyOf } from './objects.ts'
import type { World } from './world.ts'

interface Made {
  readonly uid: string | undefined
  readonly generation: number | undefined
  readonly keysVersion: number
  readonly compiled: Compiled
  readonly at: number
}

export interface Compilation {
  readonly compiled: Compiled
  /** It was made just now. */
  readonly isNew: boolean
  /** Keys have changed since; they are compiled after this time. */
  readonly againMs?: number
}

/** Keys that change one after the other are taken together. */
const KEYS_INTERVAL_MS = 500

export class Compilations {
  readonly #world: World
  readonly #wallClock: () => number
  readonly #made = new Map<string, Made>()
  readonly #keysVersions = new Map<string, number>()

  constructor(world: World, wallClock: () => number) {
    this.#world = world
    this.#wallClock = wallClock
    world.stores.gatewayKeys.onChange((before, after) => {
      if (isSameSpec(before, after)) return
      for (const key of [before, after]) {
        if (key !== undefined) this.#bump(gatewayOf(key))
      }
    })
  }

  /** `isNew` when it was made just now. */
  of(gateway: KubeObject, keptKeys: readonly KeyRecord[] | undefined): Compilation {
    const key = keyOf(gateway)
    const { uid, generation } = gateway.metadata
    const keysVersion = this.#keysVersions.get(key) ?? 0
    const made = this.#made.get(key)
    const now = performance.now()
    if (made !== undefined && made.uid === uid && made.generation === generation) {
      const { compiled } = made
      if (made.keysVersion === keysVersion) return { compiled, isNew: false }
      const againMs = made.at + KEYS_INTERVAL_MS - now
      if (againMs > 0) return { compiled, isNew: false, againMs }
    }
    const compiled = compile({
      gateway,
      keys: this.#world.keysOf.get(key),
      now: this.#wallClock(),
      ...(keptKeys && { keptKeys }),
    })
    this.#made.set(key, { uid, generation, keysVersion, compiled, at: now })
    return { compiled, isNew: true }
  }

  verdictOf(gateway: string, key: string): KeyVerdict | undefined {
    return this.#made.get(gateway)?.compiled.verdicts.get(key)
  }

  forget(gateway: string): void {
    this.#made.delete(gateway)
  }

  #bump(gateway: string): void {
    this.#keysVersions.set(gateway, (this.#keysVersions.get(gateway) ?? 0) + 1)
  }
}

/** A change of the status alone; statuses do not move the generation. */
export function isSameSpec(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  if (before === undefined || after === undefined) return false
  const [one, other] = [before.metadata, after.metadata]
  return (
    one.uid === other.uid &&
    one.generation !== undefined &&
    one.generation === other.generation &&
    one.deletionTimestamp === other.deletionTimestamp
  )
}
