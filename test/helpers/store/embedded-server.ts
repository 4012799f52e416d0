/** The store for the processes of one machine, in the process of a test. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openServer } from '../../../dataplane/store/embedded/server.ts'
import { LuaVm } from '../../../dataplane/store/embedded/vm.ts'

export interface EmbeddedServer {
  readonly socket: string
  stop(): Promise<void>
}

export async function startEmbedded(wall: () => number = Date.now): Promise<EmbeddedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-embedded-'))
  const socket = join(folder, 'store.sock')
  const server = await openServer({ socket, vm: await LuaVm.open(), wall })
  return {
    socket,
    async stop() {
      await server.close()
      await rm(folder, { recursive: true })
    },
  }
}
