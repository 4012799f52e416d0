/**
 * Opens the store of a process: memory only, memory with a journal under `state_dir`, one that
 * the processes of a gateway share, or one that replicas share.
 */
import type { Section } from '../schema/index.ts'
import { FileCells, MemoryCells } from './cells/cells.ts'
import { DiskPages } from './history/disk-pages.ts'
import { DiskStore } from './memory/disk.ts'
import { FILE_NAME as BUDGETS_FILE } from './memory/journal.ts'
import { MemoryStore } from './memory/memory.ts'
import { UsageJournal } from './memory/usage-journal.ts'
import type { OpenStore, StoreContext } from './opened.ts'
import type { RedisContext } from './shared/open-redis.ts'
import { COUNTERS_FILE, warnOfOthers, writingReport } from './state-folder.ts'

/** Throws a StateError when the folder cannot be used. */
export async function openStore(
  { rate_limits, state_dir }: Pick<Section, 'rate_limits' | 'state_dir'>,
  world: RedisContext,
): Promise<OpenStore> {
  if (rate_limits?.backend === 'redis' && rate_limits.redis !== undefined) {
    // Without Redis its client is not loaded.
    const { openRedis } = await import('./shared/open-redis.ts')
    return openRedis(rate_limits.redis, world)
  }
  if (world.common !== undefined) {
    const { openCommon } = await import('./embedded/open-common.ts')
    return await openCommon(world.common, state_dir, world)
  }
  return state_dir === undefined ? openMemory(world) : openDisk(state_dir, world)
}

function openMemory({ clock }: StoreContext): OpenStore {
  return {
    store: new MemoryStore({ clock }),
    usage: { in: 'memory' },
    history: { in: 'memory' },
    cells: new MemoryCells(),
    status: () => ({ backend: 'memory' }),
    follow: () => undefined,
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
}

function openDisk(
  stateDir: string,
  { clock, deadlines, metrics, log, usage, history }: StoreContext,
): OpenStore {
  const onFailure = writingReport({ metrics, log })
  warnOfOthers({ log }, stateDir, { own: BUDGETS_FILE, other: COUNTERS_FILE })
  const store = new DiskStore({ stateDir, clock, onFailure })
  deadlines.add(store)
  const opened: { close(): void }[] = [store]
  const journal = orClosed(
    opened,
    () => new UsageJournal({ stateDir, book: usage, clock, onFailure }),
  )
  const pages = orClosed(opened, () => new DiskPages({ stateDir, book: history, clock, onFailure }))
  deadlines.add(journal)
  deadlines.add(pages)
  const cells = new FileCells(stateDir)
  return {
    store,
    usage: { in: 'state_dir' },
    history: { in: 'state_dir' },
    cells,
    status: () => ({ backend: 'memory', state_dir: stateDir }),
    follow: () => undefined,
    start: () => Promise.resolve(),
    async close() {
      await cells.close()
      for (const one of opened) one.close()
    },
  }
}

/** Unlocks the folder if it cannot be used. */
function orClosed<One extends { close(): void }>(
  opened: { close(): void }[],
  open: () => One,
): One {
  try {
    const one = open()
    opened.push(one)
    return one
  } catch (error) {
    for (const one of opened) one.close()
    throw error
  }
}
