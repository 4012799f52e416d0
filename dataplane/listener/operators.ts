/** The HTTP servers of operators, bounded so that their readers cannot slow down clients. */
import type { RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { createServer } from '../base/node-http.ts'

const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 60_000
/** Longer than most pauses between two scrapes. */
const KEEP_ALIVE_MS = 72_000
const CHECK_MS = 1000
const SOCKETS_MAX = 256

export interface OperatorBounds {
  /**
   * If the reader reads nothing of an answer for this long, the connection ends; absent: the server's work may take
   * longer.
   */
  readonly silenceMs?: number
}

export function createOperatorServer(handler: RequestListener, { silenceMs }: OperatorBounds) {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_MS,
    },
    oneAtATime(handler),
  )
  server.maxConnections = SOCKETS_MAX
  if (silenceMs !== undefined) server.setTimeout(silenceMs)
  return server
}

/** Node starts every request in a packet, even if the reader reads few answers. */
function oneAtATime(handler: RequestListener): RequestListener {
  const answering = new WeakSet<Socket>()
  return (incoming, outgoing) => {
    const { socket } = incoming
    if (answering.has(socket)) {
      socket.destroy()
      return
    }
    answering.add(socket)
    outgoing.once('close', () => answering.delete(socket))
    handler(incoming, outgoing)
  }
}
