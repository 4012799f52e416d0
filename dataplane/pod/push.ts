/** The push port: an operator delivers signed documents to a pod there, and reads what the pod enforces. */
import { hash } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from '../base/node-http.ts'
import { unpack } from '../delivery/bundle.ts'
import {
  CONFIGURATION_BYTES_MAX,
  ENDPOINTS_BYTES_MAX,
  KEYS_BYTES_MAX,
  KEYS_UNPACKED_BYTES_MAX,
} from '../delivery/signed.ts'
import { parseJson } from '../json/parse.ts'
import { linger } from '../listener/lingering.ts'
import type { Pod } from './pod.ts'
import { type PodResponse, refuse } from './proof.ts'
import { boundConnections } from './push-connections.ts'
import { Turns } from './push-turns.ts'

interface PushTimings {
  readonly headersMs: number
  /** For the whole request. */
  readonly requestMs: number
  /** An operator sends a request every half minute; a new connection each time costs it little. */
  readonly idleMs: number
}

const TIMINGS: PushTimings = { headersMs: 5000, requestMs: 10_000, idleMs: 4000 }
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
  run(pod: PushedTo, envelope: unknown): PodResponse | Promise<PodResponse>
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
    summary: 'Takes signed keys, whole or as changes; they apply from the next request on.',
    bound: { bytesMax: KEYS_BYTES_MAX, unpackedBytesMax: KEYS_UNPACKED_BYTES_MAX },
    run: (pod, envelope) => pod.takeKeys(envelope, 'push'),
  },
  {
    method: 'PUT',
    path: '/endpoints',
    summary: 'Takes the signed endpoints of upstreams with `endpoints: pods`, whole.',
    bound: { bytesMax: ENDPOINTS_BYTES_MAX, unpackedBytesMax: ENDPOINTS_BYTES_MAX },
    run: (pod, envelope) => pod.takeEndpoints(envelope),
  },
  {
    method: 'GET',
    path: '/config/status',
    summary:
      'The enforced documents, the refused ones with the reason, and references that cannot be resolved.',
    run: async (pod) => ({ status: 200, body: { ...(await pod.status()) } }),
  },
  {
    method: 'GET',
    path: '/healthz',
    summary:
      'Reports that the process is alive: for probes, if the client port needs certificates.',
    run: () => ({ status: 200, body: { status: 'ok' } }),
  },
  {
    method: 'GET',
    path: '/readyz',
    summary: 'Reports whether the pod takes requests: 200 or 503, for the same probes.',
    run: (pod) =>
      pod.isReady
        ? { status: 200, body: { status: 'ready' } }
        : { status: 503, body: { status: 'not ready' } },
  },
]

/** A pod of one process, or of several. */
export interface PushedTo extends Pick<Pod, 'isReady' | 'judgeProof' | 'noteMistake'> {
  takeConfiguration(envelope: unknown, origin: 'push'): Promise<PodResponse>
  takeKeys(envelope: unknown, origin: 'push'): Promise<PodResponse>
  takeEndpoints(envelope: unknown): PodResponse | Promise<PodResponse>
  status(): object | Promise<object>
}

/** Call `listen`; documents are plain JSON or gzip, and need no key, because they are signed. */
export function createPushServer(pod: PushedTo, timings: Partial<PushTimings> = {}): Server {
  const { headersMs, requestMs, idleMs } = { ...TIMINGS, ...timings }
  const turns = new Turns()
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(500, headersMs),
    },
    (incoming, outgoing) => void handle(incoming, outgoing),
  )
  const connections = boundConnections(server)
  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    try {
      const answer = await answerTo(incoming)
      // The client left before the end of its body, or was too slow: Node has answered, and no client waits.
      if (answer !== undefined) send(answer, incoming, outgoing)
    } catch (error) {
      pod.noteMistake(error)
      const message = 'A mistake of the gateway; its log has the details.'
      send(refuse(500, 'mistake', message), incoming, outgoing)
    }
  }
  async function answerTo(incoming: IncomingMessage): Promise<PodResponse | undefined> {
    const route = routeOf(incoming)
    if (!('run' in route)) return route
    const { bound, path } = route
    if (bound === undefined) return await route.run(pod, undefined)
    // The body is neither read nor unpacked before its headers prove the sender.
    const proof = pod.judgeProof(incoming.headers, path)
    if ('refusal' in proof) return proof.refusal
    const turn = turns.take(() => readEnvelope(incoming, bound, proof.digest))
    if (turn === undefined) {
      return refuse(503, 'busy', 'Too many documents at once; send it again.')
    }
    const work = turn.then((read) => {
      if (read === undefined) return undefined
      return 'refusal' in read ? read.refusal : route.run(pod, read.envelope)
    })
    return await connections.keepWhile(incoming.socket, work)
  }
  return server
}

function routeOf({ method, url = '' }: IncomingMessage): Route | PodResponse {
  const path = url.split('?', 1)[0] ?? ''
  const here = PUSH_ROUTES.filter((route) => route.path === path)
  const route = here.find((one) => one.method === method)
  if (route !== undefined) return route
  if (here.length === 0) return refuse(404, 'not_found', 'There is nothing here.')
  return refuse(405, 'method_not_allowed', `Use ${here.map((one) => one.method).join(' or ')}.`)
}

type ReadBody = { readonly envelope: unknown } | { readonly refusal: PodResponse }

/** Undefined if the body does not arrive whole. */
async function readEnvelope(
  incoming: IncomingMessage,
  bound: Bound,
  digest: string,
): Promise<ReadBody | undefined> {
  const coding = incoming.headers['content-encoding'] ?? 'identity'
  if (coding !== 'identity' && coding !== 'gzip') {
    return { refusal: refuse(415, 'encoding', 'Send the document plain, or as gzip.') }
  }
  const tooLarge = () => {
    const message = `A body may hold ${bound.bytesMax} bytes, unpacked ${bound.unpackedBytesMax}.`
    return { refusal: refuse(413, 'too_large', message) }
  }
  if (Number(incoming.headers['content-length'] ?? 0) > bound.bytesMax) return tooLarge()
  const received = await receive(incoming, bound.bytesMax)
  if (received === 'cut') return undefined
  if (received === 'too large') return tooLarge()
  if (hash('sha256', received) !== digest) {
    const message = 'The body does not match its headers; send it again.'
    return { refusal: refuse(401, 'bad_signature', message) }
  }
  let body = received
  try {
    if (coding === 'gzip') body = await unpack(body, bound.unpackedBytesMax)
    return { envelope: parseJson(body.toString()) }
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
      // Without an encoding, chunks are bytes.
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
function send({ status, body }: PodResponse, incoming: IncomingMessage, outgoing: ServerResponse) {
  const text = JSON.stringify(body)
  const isLast = !incoming.complete && isAnnounced(incoming)
  outgoing.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(isLast && { connection: 'close' }),
  })
  if (!isLast) {
    outgoing.end(text)
    return
  }
  // The end of the answer would close the connection, and the sender could not read it.
  outgoing.write(text)
  incoming.resume().once('end', () => outgoing.end())
  linger(incoming.socket)
}

function isAnnounced({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
