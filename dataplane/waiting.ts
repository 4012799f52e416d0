/** What a pod answers to clients and probes until it has a configuration: alive, and not ready. */
import { createServer, type Server } from 'node:http'

const BODY = JSON.stringify({
  error: {
    message: 'This gateway has no configuration yet; send the request again.',
    type: 'api_error',
    param: null,
    code: 'ERR_GW_OVERLOADED',
  },
})

export function createWaitingServer(): Server {
  return createServer({ requestTimeout: 5000, headersTimeout: 5000 }, (incoming, outgoing) => {
    const isAlive = incoming.url === '/healthz'
    const text = isAlive ? '{"status":"ok"}' : BODY
    outgoing.writeHead(isAlive ? 200 : 503, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'retry-after': '1',
      // The port changes hands as soon as there is a configuration.
      connection: 'close',
    })
    outgoing.end(text)
    incoming.resume()
  })
}
