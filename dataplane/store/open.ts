/** Which store a process counts in: memory alone, or memory with a journal under `state_dir`. */
import type { Clock, Deadlines } from '../clock.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Store } from './contract.ts'
import { DiskStore } from './disk.ts'
import { MemoryStore } from './memory.ts'

interface World {
  readonly clock: Clock
  readonly deadlines: Deadlines
  readonly metrics: Metrics
  readonly log: Log
}

export interface OpenStore {
  readonly store: Store
  /** Writes what is left; nothing may be counted afterwards. */
  close(): void
}

/** Throws a StateError when the folder cannot be used. */
export function openStore(stateDir: string | undefined, world: World): OpenStore {
  const { clock, deadlines, metrics, log } = world
  if (stateDir === undefined) return { store: new MemoryStore({ clock }), close: () => undefined }
  const onFailure = (error: Error | undefined) => {
    metrics.storeFailing.at().value = error === undefined ? 0 : 1
    if (error === undefined) log.event('info', 'store', 'Counters are written to state_dir again.')
    else log.event('error', 'store', `Counters cannot be written to state_dir: ${error.message}`)
  }
  const store = new DiskStore({ stateDir, clock, onFailure })
  deadlines.add(store)
  return { store, close: () => store.close() }
}
