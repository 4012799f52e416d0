/** Answers clients and probes until the pod has a configuration: alive, and not ready. */
import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { envelope } from '../apis/openai/wire.ts'
import { GatewayError } from '../base/errors.ts'

const REFUSAL = new GatewayError(
  'ERR_GW_OVERLOADED',
  'This gateway has no configuration yet; send the request again.',
)

export function createWaitingServer(): Server {
  return createServer({ requestTimeout: 5000, headersTimeout: 5000 }, (incoming, outgoing) => {
    const isAlive = incoming.url?.split('?', 1)[0] === '/healthz'
    const id = `${randomBytes(6).toString('hex')}-1`
    const text = isAlive ? '{"status":"ok"}' : envelope(REFUSAL, id)
    outgoing.writeHead(isAlive ? 200 : REFUSAL.status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'x-request-id': id,
      'x-gw-route': 'none',
      'x-gw-upstream': 'none',
      'retry-after': '1',
      // The port changes hands as soon as there is a configuration.
      connection: 'close',
    })
    outgoing.end(text)
    incoming.resume()
  })
}
