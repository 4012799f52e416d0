/** Follows the addresses of a name by repeated lookups, and keeps the last answer while the name cannot be resolved. */
import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import type { Clock } from '../../base/clock.ts'
import type { Resolve } from '../../connection/addresses.ts'
import type { Address } from './address.ts'

const INTERVAL_MS = 5000
/** A name that does not exist may return soon. */
const KEPT_MS = 60_000
/**
 * Most lookups at once: the system resolves on the threads that also read files, and a hanging resolver must not take
 * them all.
 */
const AT_ONCE = 2

type LookupDone = (error: NodeJS.ErrnoException | null, addresses: readonly string[]) => void

/** All lookups of the process. */
export class Lookups {
  readonly #resolve: Resolve
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(resolve: Resolve = systemLookup) {
    this.#resolve = resolve
  }

  ask(name: string, found: LookupDone): void {
    if (this.#running >= AT_ONCE) {
      this.#waiting.push(() => this.ask(name, found))
      return
    }
    this.#running++
    this.#resolve(name, { all: true }, (error, addresses: LookupAddress[] | undefined) => {
      this.#running--
      this.#waiting.shift()?.()
      found(error, (addresses ?? []).map(({ address }) => address).sort())
    })
  }
}

export interface NameWorld {
  readonly clock: Clock
  readonly lookups: Lookups
  /** Calls once, after that number of milliseconds; returns a function that prevents it. */
  schedule(delayMs: number, call: () => void): () => void
}

export class NameWatch {
  readonly #name: string
  readonly #world: NameWorld
  readonly #onAddresses: (addresses: readonly string[]) => void
  #known = ''
  #missingSince: number | undefined
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(name: string, world: NameWorld, onAddresses: (addresses: readonly string[]) => void) {
    this.#name = name
    this.#world = world
    this.#onAddresses = onAddresses
    this.#ask()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  #ask(): void {
    this.#world.lookups.ask(this.#name, (error, addresses) => {
      if (this.#isStopped) return
      this.#cancel = this.#world.schedule(INTERVAL_MS, () => this.#ask())
      if (error !== null) this.#failed(error)
      else {
        this.#missingSince = undefined
        this.#tell(addresses)
      }
    })
  }

  /** An unreachable resolver does not change what is known about the name. */
  #failed({ code }: NodeJS.ErrnoException): void {
    if (code !== 'ENOTFOUND' && code !== 'ENODATA') return
    const now = this.#world.clock.now()
    this.#missingSince ??= now
    if (now - this.#missingSince >= KEPT_MS) this.#tell([])
  }

  #tell(addresses: readonly string[]): void {
    const known = addresses.join()
    if (known === this.#known) return
    this.#known = known
    this.#onAddresses(addresses)
  }
}

/** Watches the name of an origin; its addresses have the port of the origin. */
export function watchOrigin(
  origin: string,
  world: NameWorld,
  found: (addresses: readonly Address[]) => void,
): NameWatch {
  const { hostname, port: written, protocol } = new URL(origin)
  const port = Number(written || (protocol === 'https:' ? 443 : 80))
  return new NameWatch(hostname.replace(/^\[|\]$/g, ''), world, (addresses) =>
    found(addresses.map((address) => ({ id: `${address} ${port}`, address, port }))),
  )
}
