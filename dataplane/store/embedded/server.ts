/** The store on a Unix socket: as much of Redis as the gateway's client of Redis uses. */
import { once } from 'node:events'
import { chmodSync, lstatSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { Channels } from './channels.ts'
import { Commands } from './commands.ts'
import { ProtocolError, RequestReader } from './requests.ts'
import type { LuaVm } from './vm.ts'

const OWNER_ONLY = 0o600
const CONNECTIONS_MAX = 1_024
/** A client that does not read its replies is not read from until it has read them. */
const UNREAD_MAX = 1024 * 1024
/** Interval in which a bounded number of expired keys is removed. */
const SWEEP_MS = 1_000

export interface StoreServer {
  close(): Promise<void>
}

export interface ServerOptions {
  readonly socket: string
  readonly vm: LuaVm
  /** The wall clock, in milliseconds. */
  readonly wall: () => number
}

/** Rejects if something else is at the path, or another store answers there. */
export async function openServer({ socket, vm, wall }: ServerOptions): Promise<StoreServer> {
  const channels = new Channels(vm)
  const commands = new Commands(vm, { channels, wall })
  const connections = new Set<Socket>()
  const server = createServer((connection) => {
    connections.add(connection)
    connection.once('close', () => {
      connections.delete(connection)
      channels.forget(connection)
    })
    serve(connection, commands)
  })
  server.maxConnections = CONNECTIONS_MAX
  await listen(server, socket)
  // A connection that cannot be accepted, for lack of file descriptors, is tried again by its client.
  server.on('error', () => undefined)
  const timer = setInterval(() => vm.call('sweep', [wall(), 0]), SWEEP_MS).unref()
  return {
    async close() {
      clearInterval(timer)
      const closed = once(server, 'close')
      server.close()
      for (const connection of connections) connection.destroy()
      await closed
    },
  }
}

async function listen(server: Server, path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found !== undefined) {
    if (!found.isSocket()) throw new Error(`${path} exists and is not a socket`)
    if (await isAnswered(path)) throw new Error(`another store answers at ${path}`)
    rmSync(path, { force: true })
  }
  const listening = once(server, 'listening')
  server.listen({ path, exclusive: true })
  await listening
  chmodSync(path, OWNER_ONLY)
}

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

function serve(connection: Socket, commands: Commands): void {
  const reader = new RequestReader()
  connection.on('error', () => connection.destroy())
  connection.on('drain', () => connection.resume())
  connection.on('data', (chunk: Buffer) => {
    const replies: Buffer[] = []
    let isLast = false
    try {
      for (const request of reader.read(chunk)) {
        const reply = commands.answer(request, connection)
        replies.push(reply.bytes)
        if (reply.isLast) {
          isLast = true
          break
        }
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      replies.push(Buffer.from(`-ERR Protocol error: ${error.message}\r\n`))
      isLast = true
    }
    if (replies.length > 0) connection.write(Buffer.concat(replies))
    if (isLast) connection.destroySoon()
    else if (connection.writableLength > UNREAD_MAX) connection.pause()
  })
}
