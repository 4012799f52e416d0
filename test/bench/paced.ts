/** A model server as slow as one on a laptop: a real one, whose tokens are forwarded at a fixed rate. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

export interface Paced {
  readonly url: string
  close(): void
}

export async function startPaced(model: string, tokensPerSecond: number): Promise<Paced> {
  const tokenMs = 1000 / tokensPerSecond
  const server = createServer((incoming, outgoing) => {
    const { method, url = '/', headers } = incoming
    const onward = request(model + url, { method, headers, agent: false }, (answer) => {
      const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true
      const passed = isStream ? stream(answer, outgoing, tokenMs) : whole(answer, outgoing, tokenMs)
      passed.catch(() => outgoing.destroy())
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // A server that listens on a port has an address of this type.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function stream(answer: IncomingMessage, out: ServerResponse, tokenMs: number) {
  out.writeHead(answer.statusCode ?? 502, { 'content-type': 'text/event-stream' })
  let due = performance.now()
  for await (const line of createInterface({ input: answer })) {
    if (line === '') continue
    due += tokenMs
    await delay(Math.max(0, due - performance.now()))
    if (out.destroyed) return
    out.write(`${line}\n\n`)
  }
  out.end()
}

async function whole(answer: IncomingMessage, out: ServerResponse, tokenMs: number) {
  const body = Buffer.concat(await Array.fromAsync<Buffer>(answer))
  const tokens = /"completion_tokens":(\d+)/.exec(body.toString())?.[1] ?? 0
  await delay(Number(tokens) * tokenMs)
  const type = answer.headers['content-type'] ?? 'application/json'
  out.writeHead(answer.statusCode ?? 502, { 'content-type': type }).end(body)
}
