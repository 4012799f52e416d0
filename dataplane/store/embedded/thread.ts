/** The thread of the store: a busy gateway does not delay its answers. */
import { parentPort, workerData } from 'node:worker_threads'
import { StateError } from '../memory/database.ts'
import { Journal } from './journal.ts'
import { type Notice, noticeOf, type ThreadOptions } from './notices.ts'
import { openServer } from './server.ts'
import { LuaVm } from './vm.ts'

// Set by the thread's creator.
const { socket, stateDir } = workerData as ThreadOptions

function send(notice: Notice): void {
  parentPort?.postMessage(notice)
}

async function open(): Promise<() => Promise<void>> {
  const vm = await LuaVm.open()
  const wall = Date.now
  const onFailure = (error: Error | undefined) => send({ kind: 'written', failed: error?.message })
  const journal =
    stateDir === undefined ? undefined : new Journal({ stateDir, vm, wall, onFailure })
  try {
    const server = await openServer({ socket, vm, wall })
    return async () => {
      await server.close()
      journal?.close()
    }
  } catch (error) {
    journal?.close()
    throw error
  }
}

try {
  const close = await open()
  parentPort?.once('message', () => void close().finally(() => parentPort?.close()))
  send({ kind: 'ready' })
} catch (error) {
  send(noticeOf(error, error instanceof StateError))
  parentPort?.close()
}
