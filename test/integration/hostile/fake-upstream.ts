/** A loopback upstream that records its requests and answers as the test says. */
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type Reply = (asked: Asked, outgoing: ServerResponse) => void

export interface FakeUpstream {
  readonly url: string
  /** Every complete request, without probes. */
  readonly asked: Asked[]
  /** Sets the answer for later requests. */
  reply: Reply
  /** The requests whose connection closed before their answer was complete. */
  abandoned: number
  close(): Promise<void>
}

const ANSWER = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'served',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
}

export const answerWhole: Reply = (_asked, outgoing) => {
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWER))
}

export async function startFakeUpstream(): Promise<FakeUpstream> {
  const server = createServer((incoming, outgoing) => void take(incoming, outgoing))
  const upstream = {
    url: '',
    asked: [] as Asked[],
    reply: answerWhole,
    abandoned: 0,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  async function take(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = incoming
    if (method === 'GET' && (url === '/health' || url === '/metrics')) {
      outgoing.writeHead(200).end()
      return
    }
    const chunks: Buffer[] = []
    try {
      for await (const chunk of incoming) chunks.push(chunk)
    } catch {
      return
    }
    const asked = { method, path: url, headers, body: Buffer.concat(chunks) }
    upstream.asked.push(asked)
    // Also if it closed before the body had been read here.
    const over = () => {
      if (!outgoing.writableFinished) upstream.abandoned++
    }
    if (outgoing.closed) return over()
    outgoing.on('close', over)
    upstream.reply(asked, outgoing)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this kind.
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return upstream
}
