/** Answers to many sockets, with work in between: written at once, or all of them at the end of the turn. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { turnEnd } from '../../../dataplane/base/turn-end.ts'
import { compare, type Work } from './runner.ts'

const SOCKETS = 16
const ANSWER = 'x'.repeat(1_000)
/** Other work of a request for the processor. */
const body = JSON.stringify(Array.from({ length: 40 }, (_, index) => ({ role: 'user', index })))
const seen = { length: 0 }

/** Another process that sends its next request as soon as it has its answer. */
const PEER = `
  const server = require('net').createServer((socket) => {
    let got = 0
    socket.on('data', (chunk) => {
      got += chunk.length
      if (got < ${ANSWER.length}) return
      got -= ${ANSWER.length}
      socket.write('q')
    })
    socket.on('error', () => process.exit())
  }).listen(0, '127.0.0.1', () => console.log(server.address().port))`

class Answer {
  readonly #socket: Socket
  constructor(socket: Socket) {
    this.#socket = socket
  }
  flush(): void {
    this.#socket.write(ANSWER, 'latin1')
  }
}

const answering = (answer: (socket: Socket) => void): Work => {
  let sockets: Socket[] | undefined
  return async (times) => {
    sockets ??= await open()
    await new Promise<void>((resolve) => {
      let left = times
      for (const socket of sockets ?? []) {
        socket.removeAllListeners('data')
        socket.on('data', () => {
          seen.length += JSON.parse(body).length
          if (--left < 0) return
          answer(socket)
          if (left === 0) setTimeout(resolve, 20)
        })
        answer(socket)
      }
    })
  }
}

async function open(): Promise<Socket[]> {
  const peer = spawn(process.execPath, ['-e', PEER], { stdio: ['ignore', 'pipe', 'inherit'] })
  process.once('exit', () => peer.kill())
  const [port] = await once(peer.stdout, 'data')
  return await Promise.all(
    Array.from({ length: SOCKETS }, async () => {
      const socket = connect(Number(port), '127.0.0.1')
      await once(socket, 'connect')
      return socket
    }),
  )
}

await compare(import.meta.url, 40_000, {
  'at the end of the turn': answering((socket) => turnEnd.hold(new Answer(socket))),
  'at once': answering((socket) => new Answer(socket).flush()),
})
process.exit()
