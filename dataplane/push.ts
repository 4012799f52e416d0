/** The push port: where an operator delivers signed documents to a pod, and asks what the pod enforces. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { unpack } from './config/bundle.ts'
import {
  CONFIGURATION_BYTES_MAX,
  KEYS_BYTES_MAX,
  KEYS_UNPACKED_BYTES_MAX,
} from './config/signed.ts'
import { answerLast } from './last-answer.ts'
import type { Pod } from './pod.ts'
import { type PodAnswer, refuse } from './proof.ts'

const CONNECTIONS_MAX = 64
/** Bodies that are held at once: anybody who reaches the port may send one, and only then is it known who. */
const BODIES_MAX = 16
const HEADERS_TIMEOUT_MS = 5000
/** For the whole request. */
const REQUEST_TIMEOUT_MS = 10_000
const IDLE_TIMEOUT_MS = 60_000
const HEADER_BYTES_MAX = 16_384

interface Bound {
  readonly bytesMax: number
  readonly unpackedBytesMax: number
}

interface Route {
  readonly method: 'GET' | 'PUT'
  readonly path: string
  readonly summary: string
  readonly bound?: Bound
  run(pod: Pod, envelope: unknown): PodAnswer | Promise<PodAnswer>
}

export const PUSH_ROUTES: readonly Route[] = [
  {
    method: 'PUT',
    path: '/config',
    summary:
      'Takes a signed configuration: 200 once it is enforced, 422 with the problems otherwise.',
    bound: { bytesMax: CONFIGURATION_BYTES_MAX, unpackedBytesMax: CONFIGURATION_BYTES_MAX },
    run: (pod, envelope) => pod.takeConfiguration(envelope, 'push'),
  },
  {
    method: 'PUT',
    path: '/keys',
    summary: 'Takes signed keys, whole or as changes; they hold from the next request on.',
    bound: { bytesMax: KEYS_BYTES_MAX, unpackedBytesMax: KEYS_UNPACKED_BYTES_MAX },
    run: (pod, envelope) => pod.takeKeys(envelope, 'push'),
  },
  {
    method: 'GET',
    path: '/config/status',
    summary: 'What is enforced, what was refused and why, and which references lead nowhere.',
    run: (pod) => ({ status: 200, body: pod.status() }),
  },
]

/** `listen` it; documents are plain JSON or gzip, and need no key, for they are signed. */
export function createPushServer(pod: Pod): Server {
  let bodies = 0
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      connectionsCheckingInterval: 500,
    },
    (incoming, outgoing) => void handle(incoming, outgoing),
  )
  server.maxConnections = CONNECTIONS_MAX
  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const route = routeOf(incoming)
    if (!('run' in route)) return send(route, incoming, outgoing)
    if (route.bound === undefined) return send(await route.run(pod, undefined), incoming, outgoing)
    if (bodies >= BODIES_MAX) {
      return send(
        refuse(503, 'busy', 'Too many documents at once; send it again.'),
        incoming,
        outgoing,
      )
    }
    bodies++
    try {
      const read = await readEnvelope(incoming, route.bound)
      // The client left in the middle of its body, or was too slow: Node has said so, and nobody waits.
      if (read === undefined) return
      const answer = 'refusal' in read ? read.refusal : await route.run(pod, read.envelope)
      send(answer, incoming, outgoing)
    } catch (error) {
      pod.noteMistake(error)
      send(
        refuse(500, 'mistake', 'A mistake of the gateway; its log says more.'),
        incoming,
        outgoing,
      )
    } finally {
      bodies--
    }
  }
  return server
}

function routeOf({ method, url = '' }: IncomingMessage): Route | PodAnswer {
  const path = url.split('?', 1)[0] ?? ''
  const here = PUSH_ROUTES.filter((route) => route.path === path)
  const route = here.find((one) => one.method === method)
  if (route !== undefined) return route
  if (here.length === 0) return refuse(404, 'not_found', 'There is nothing here.')
  return refuse(405, 'method_not_allowed', `Use ${here.map((one) => one.method).join(' or ')}.`)
}

type ReadBody = { readonly envelope: unknown } | { readonly refusal: PodAnswer }

/** Undefined when the body does not arrive whole. */
async function readEnvelope(
  incoming: IncomingMessage,
  bound: Bound,
): Promise<ReadBody | undefined> {
  const coding = incoming.headers['content-encoding'] ?? 'identity'
  if (coding !== 'identity' && coding !== 'gzip') {
    return { refusal: refuse(415, 'encoding', 'Send the document as it is, or as gzip.') }
  }
  const tooLarge = () => {
    const message = `A body may hold ${bound.bytesMax} bytes, unpacked ${bound.unpackedBytesMax}.`
    return { refusal: refuse(413, 'too_large', message) }
  }
  if (Number(incoming.headers['content-length'] ?? 0) > bound.bytesMax) return tooLarge()
  const received = await receive(incoming, bound.bytesMax)
  if (received === 'cut') return undefined
  if (received === 'too large') return tooLarge()
  let body = received
  try {
    if (coding === 'gzip') body = await unpack(body, bound.unpackedBytesMax)
    return { envelope: JSON.parse(body.toString()) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ERR_BUFFER_TOO_LARGE') return tooLarge()
    return { refusal: refuse(400, 'malformed', 'The body is not JSON, or not whole gzip.') }
  }
}

async function receive(
  incoming: IncomingMessage,
  bytesMax: number,
): Promise<Buffer | 'cut' | 'too large'> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      // Without an encoding set, chunks are bytes.
      const bytes = chunk as Buffer
      length += bytes.length
      if (length > bytesMax) return 'too large'
      chunks.push(bytes)
    }
  } catch {
    return 'cut'
  }
  return Buffer.concat(chunks)
}

/** An answer before the end of the body is the connection's last. */
function send({ status, body }: PodAnswer, incoming: IncomingMessage, outgoing: ServerResponse) {
  const text = JSON.stringify(body)
  const isLast = !incoming.complete && isAnnounced(incoming)
  if (isLast) {
    answerLast(incoming.socket as Socket)
    incoming.resume()
  }
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(isLast && { connection: 'close' }),
  })
  outgoing.end(text)
}

function isAnnounced({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
