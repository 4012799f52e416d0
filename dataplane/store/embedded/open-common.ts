/** The store of all processes of a gateway without Redis: one of them keeps it, and all count in it as replicas do. */
import { FILE_NAME as BUDGETS_FILE } from '../memory/journal.ts'
import type { CommonStore, OpenStore } from '../opened.ts'
import { openRedis, type RedisContext, type RedisSection } from '../shared/open-redis.ts'
import { COUNTERS_FILE, warnOfOthers, writingReport } from '../state-folder.ts'
import { type EmbeddedStore, openEmbedded } from './embedded.ts'

/** Its thread is on the same machine: it answers late only if the machine is busy. */
const TIMEOUT_MS = 2_000

/** Throws a StateError when the folder cannot be used. */
export async function openCommon(
  { socket, isHere }: CommonStore,
  stateDir: string | undefined,
  world: RedisContext,
): Promise<OpenStore> {
  const section: RedisSection = {
    url: `unix://${socket.split('/').map(encodeURIComponent).join('/')}`,
    key_prefix: 'gw',
    timeout_ms: TIMEOUT_MS,
    fail_open: false,
  }
  const embedded = isHere ? await open(socket, stateDir, world) : undefined
  const opened = openRedis(section, world)
  const kept = stateDir === undefined ? 'memory' : 'state_dir'
  return {
    ...opened,
    usage: { ...opened.usage, in: kept },
    history: { ...opened.history, in: kept },
    status: () => ({ backend: 'memory', ...(stateDir !== undefined && { state_dir: stateDir }) }),
    follow: () => undefined,
    async close() {
      await opened.close()
      await embedded?.close()
    },
  }
}

function open(
  socket: string,
  stateDir: string | undefined,
  { metrics, log }: RedisContext,
): Promise<EmbeddedStore> {
  const onFailure = writingReport({ metrics, log })
  if (stateDir === undefined) return openEmbedded({ socket, onFailure })
  warnOfOthers({ log }, stateDir, { own: COUNTERS_FILE, other: BUDGETS_FILE })
  return openEmbedded({ socket, stateDir, onFailure })
}
