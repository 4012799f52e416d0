/** Answers of 1 KiB read from many sockets: each into separate memory, or into one buffer and copied out of it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { compare, type Work } from './runner.ts'

const SOCKETS = 16
const ANSWER_BYTES = 1_300

/** Another process that answers each byte. */
const PEER = `
  const answer = 'x'.repeat(${ANSWER_BYTES})
  const server = require('net').createServer((socket) => {
    socket.on('data', () => socket.write(answer))
    socket.on('error', () => process.exit())
  }).listen(0, '127.0.0.1', () => console.log(server.address().port))`

type Read = (this: void, socket: number, chunk: Buffer) => void
type Open = (port: number, index: number, read: Read) => Socket

const reading = (open: Open): Work => {
  let sockets: readonly Socket[] | undefined
  let seen = 0
  let left = 0
  let resolve = () => {}
  const read: Read = (index, chunk) => {
    seen += chunk[0] ?? 0
    if (--left > 0) sockets?.[index]?.write('q')
    else if (left === 0) resolve()
  }
  return async (times) => {
    sockets ??= await opened(open, read)
    left = times
    await new Promise<void>((done) => {
      resolve = () => setTimeout(done, 20)
      for (const socket of sockets ?? []) socket.write('q')
    })
    if (seen === 0) throw new Error('Nothing was read.')
  }
}

async function opened(open: Open, read: Read): Promise<Socket[]> {
  const peer = spawn(process.execPath, ['-e', PEER], { stdio: ['ignore', 'pipe', 'inherit'] })
  process.once('exit', () => peer.kill())
  const [port] = await once(peer.stdout, 'data')
  const sockets = Array.from({ length: SOCKETS }, (_, index) => open(Number(port), index, read))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return sockets
}

const shared = Buffer.allocUnsafeSlow(65_536)

await compare(import.meta.url, 60_000, {
  'separate memory': reading((port, index, read) =>
    connect(port, '127.0.0.1').on('data', (chunk) => read(index, chunk as Buffer)),
  ),
  'one buffer': reading((port, index, read) => {
    const callback = (length: number) => {
      const chunk = Buffer.allocUnsafe(length)
      shared.copy(chunk, 0, 0, length)
      read(index, chunk)
      return true
    }
    return connect({ port, host: '127.0.0.1', onread: { buffer: shared, callback } })
  }),
})
process.exit()
