/** A proxy between a client and the gateway that records the traffic. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Passed {
  readonly path: string
  readonly body: string
  status: number
  /** Parameters and parts that the gateway reported as omitted. */
  dropped: string
  /** The beginning of a refusal. */
  refusal: string
}

export interface Between {
  readonly url: string
  readonly passed: Passed[]
  close(): Promise<void>
}

const REFUSAL_LENGTH = 400

export async function startBetween(target: string): Promise<Between> {
  const passed: Passed[] = []
  const server = createServer((incoming, outgoing) => void pass(incoming, outgoing))
  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = incoming
    const body = Buffer.concat(await Array.fromAsync<Buffer>(incoming))
    const one = { path, body: body.toString(), status: 0, dropped: '', refusal: '' }
    passed.push(one)
    const { 'transfer-encoding': _, ...others } = headers
    const sized = body.length > 0 ? { ...others, 'content-length': body.length } : others
    const onward = request(target + path, { method, headers: sized })
    outgoing.on('close', () => onward.destroy())
    onward.on('error', () => outgoing.destroy())
    onward.on('response', (answer) => {
      one.status = answer.statusCode ?? 0
      one.dropped = String(answer.headers['x-gw-dropped-parameters'] ?? '')
      outgoing.writeHead(one.status, answer.headers)
      answer.on('data', (piece: Buffer) => {
        if (one.status >= 400) one.refusal = (one.refusal + piece).slice(0, REFUSAL_LENGTH)
      })
      answer.on('error', () => outgoing.destroy())
      answer.pipe(outgoing)
    })
    onward.end(body)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
