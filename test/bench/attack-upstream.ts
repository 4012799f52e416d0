/** A thread with a raw model server: good answers, and invalid ones by the model's name. */
import { createServer, type Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'

const MEBIBYTE = 1_048_576
const GOOD = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'y'.repeat(900) }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
})

function whole(body: Buffer): Buffer {
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}

function cutEvent(): Buffer {
  const event = `data: {"choices":[{"index":0,"delta":{"content":"${'z'.repeat(MEBIBYTE - 100)}"}}]}\n\n`
  const chunks = [...event].map((one) => `1\r\n${one}\r\n`).join('')
  return Buffer.from(
    `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
  )
}

const ANSWERS: Readonly<Record<string, Buffer>> = {
  chat: whole(Buffer.from(GOOD)),
  other: whole(Buffer.from(GOOD)),
  event: cutEvent(),
  list: whole(Buffer.from(`{"choices":[${'[],'.repeat(10 * MEBIBYTE)}[]]}`)),
  deep: whole(Buffer.alloc(16 * MEBIBYTE, '[')),
}
const BROKEN = 'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'

function answer(socket: Socket): void {
  let waiting = Buffer.alloc(0)
  socket.on('error', () => {})
  socket.on('data', (piece: Buffer) => {
    waiting = Buffer.concat([waiting, piece])
    for (;;) {
      const end = waiting.indexOf('\r\n\r\n')
      if (end === -1) return
      const length = Number(
        /content-length: (\d+)/i.exec(waiting.toString('latin1', 0, end))?.[1] ?? 0,
      )
      const bodyAt = end + 4
      if (waiting.length < bodyAt + length) return
      const body = waiting.toString('latin1', bodyAt, Math.min(bodyAt + length, bodyAt + 4096))
      waiting = waiting.subarray(bodyAt + length)
      socket.write(ANSWERS[/"model":"(\w+)"/.exec(body)?.[1] ?? ''] ?? BROKEN)
    }
  })
}

const server = createServer(answer)
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  parentPort?.postMessage(typeof address === 'object' ? address?.port : 0)
})
