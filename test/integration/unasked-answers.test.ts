/**
 * An upstream sends an extra answer on a busy connection: no client gets the answer to another
 * question.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { startFront } from '../helpers/fake-upstream.ts'

interface Question {
  readonly socket: Socket
  readonly connection: number
  readonly turn: number
  readonly answer: string
}

/** A runtime that returns the id and the words of its request. */
async function startRuntime(reply: (question: Question) => void) {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    const connection = connections++
    let [turn, text] = [0, '']
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/.exec(text)?.[1] ?? 0)
      if (head === -1 || text.length < head + 4 + length) return
      const answer = answerTo(text.slice(0, head), text.slice(head + 4))
      text = ''
      reply({ socket, connection, turn: turn++, answer })
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function answerTo(head: string, body: string): string {
  const id = /x-request-id: (.*)/.exec(head)?.[1]?.trim()
  const content = JSON.parse(body).messages[0].content
  const message = { role: 'assistant', content }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const text = JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', choices, usage })
  const names = `content-type: application/json\r\nx-request-id: ${id}`
  return `HTTP/1.1 200 OK\r\n${names}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

let earlier = ''
const runtime = await startRuntime(({ socket, connection, turn, answer }) => {
  // The former answer again, just after the next question has come.
  if (connection === 0 && turn === 1) socket.write(earlier)
  earlier = answer
  socket.write(answer)
})
const front = await startFront({
  upstreams: [
    {
      name: 'a',
      provider: 'openai',
      endpoint: runtime.url,
      max_connections: 1,
      circuit_breaker: { failure_threshold: 2 },
    },
  ],
  routes: [
    {
      name: 'chat',
      strategy: 'single',
      primary: 'a',
      retry: { max_attempts: 2, initial_delay_ms: 1 },
    },
  ],
})
after(async () => {
  await front.process.stop()
  runtime.close()
})

test('a request on a connection with an extra answer gets its own answer, on another connection', async () => {
  const words = Array.from({ length: 8 }, (_, index) => `question ${index}`)
  for (const content of words) {
    const heard = await front.chat({ messages: [{ role: 'user', content }] })
    assert.equal(heard.status, 200)
    assert.equal(JSON.parse(heard.text).choices[0].message.content, content)
  }
  assert.equal(runtime.connections(), 2)
})
