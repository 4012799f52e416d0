/**
 * The memory store behind a simulated network: the result that every shared store must equal. It
 * shows that the simulation reports no fault of a correct store, and its faulty variants show that
 * the simulation would find faults.
 */

import type {
  AdmitRequest,
  AdmitResult,
  Beat,
  Extension,
  Figures,
  Rules,
  Settlement,
  Settling,
  Store,
} from '../../dataplane/accounts/store.ts'
import type { Clock } from '../../dataplane/base/clock.ts'
import type { MemoryStore } from '../../dataplane/store/memory/memory.ts'
import type { BackendWorld, OpenBackend, View } from './backend.ts'

const RESEND_MS = 1000

export function openRemote(Shared: new (options: { clock: Clock }) => MemoryStore): OpenBackend {
  return (world) => {
    const shared = new Shared({ clock: { now: () => world.time.now + 1000, wall: world.wall } })
    return {
      open: (view) => new RemoteStore(shared, view, world),
      // The memory store cannot lose its data.
      flush: async () => false,
      copy: async () => {},
      failOver: async () => false,
      close: async () => {},
    }
  }
}

class RemoteStore implements Store {
  readonly #shared: MemoryStore
  readonly #view: View
  readonly #world: BackendWorld

  constructor(shared: MemoryStore, view: View, world: BackendWorld) {
    this.#shared = shared
    this.#view = view
    this.#world = world
  }

  async admit(request: AdmitRequest): Promise<AdmitResult> {
    const { tenant, id, rules } = request
    try {
      return await this.#view.wire.call(() => {
        const result = this.#shared.admit(request)
        if (result.outcome !== 'refused') this.#world.witness.admitted(id)
        return result
      })
    } catch (error) {
      // It may still have been admitted, and no client will use it.
      void this.settle({
        tenant,
        id,
        used: { tokens: 0, nanos: 0 },
        budget: rules.budget,
        scoped: rules.scoped,
      })
      throw error
    }
  }

  async extend(extension: Extension): Promise<boolean> {
    const call = this.#view.wire.call(() => this.#shared.extend(extension))
    return await call.catch(() => false)
  }

  async renew(beats: readonly Beat[]): Promise<readonly string[]> {
    const call = this.#view.wire.call(() => {
      const lost = this.#shared.renew(beats)
      for (const { id, used } of beats) {
        if (!lost.includes(id)) this.#world.witness.renewed(id, used.tokens)
      }
      return lost
    })
    return await call.catch(() => [])
  }

  async settle(settling: Settling): Promise<Settlement> {
    for (;;) {
      try {
        return await this.#view.wire.call(() => {
          const settlement = this.#shared.settle(settling)
          if (settlement.charged) {
            this.#world.witness.settled(settling.id)
            this.#world.witness.settledBeside(settling.id, true)
          }
          return settlement
        })
      } catch {
        await this.#world.time.sleep(RESEND_MS)
        if (this.#view.wire.isDead) return await new Promise(() => {})
      }
    }
  }

  async read(tenant: string, rules: Rules): Promise<Figures> {
    return await this.#view.wire.call(() => this.#shared.read(tenant, rules))
  }
}
