/** An answer of a head and a body, to a socket: as one string, or as two writes that are sent together. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { compare, type Work } from './runner.ts'

const HEAD = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${'x-some: header\r\n'.repeat(8)}\r\n`

const server = createServer((socket) => socket.resume())
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = server.address()
const socket = connect(
  typeof address === 'object' && address !== null ? address.port : 0,
  '127.0.0.1',
)
await once(socket, 'connect')

const work =
  (body: Buffer, write: (socket: Socket, body: Buffer) => void): Work =>
  async (times) => {
    for (let index = 0; index < times; index++) {
      write(socket, body)
      await turn()
    }
  }

const joined = (to: Socket, body: Buffer) => to.write(HEAD + body.toString('latin1'), 'latin1')
const two = (to: Socket, body: Buffer) => {
  to.cork()
  to.write(HEAD, 'latin1')
  to.write(body)
  to.uncork()
}

const [small, middle, large] = [1_024, 4_096, 16_384].map((size) => Buffer.alloc(size, 'a')) as [
  Buffer,
  Buffer,
  Buffer,
]
await compare(import.meta.url, 40_000, {
  '1 KiB, one string': work(small, joined),
  '1 KiB, two writes': work(small, two),
  '4 KiB, one string': work(middle, joined),
  '4 KiB, two writes': work(middle, two),
  '16 KiB, one string': work(large, joined),
  '16 KiB, two writes': work(large, two),
})
process.exit()
