/** The HTTPS server for the API server: one path, bounded in every direction, its certificate replaced at run time. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { KeyedCertificate } from '../../dataplane/base/certificates/certificate.ts'
import { parseJson } from '../../dataplane/json/parse.ts'
import { Slots } from './slots.ts'

/** Answers the body of a request. */
export interface ReviewReply {
  readonly status: number
  readonly body: object | string
}

export interface ReviewServerOptions {
  readonly answer: (body: unknown) => ReviewReply | Promise<ReviewReply>
  /** Called for every request, with the time it took. */
  readonly onAnswer: (status: number, seconds: number) => void
  readonly timings?: { readonly headersMs: number; readonly requestMs: number }
}

export interface ReviewServer {
  readonly server: Server
  /** New connections get this certificate; open ones keep theirs. */
  show(certificate: KeyedCertificate): void
  /** Every answer from now on closes its connection, so that the next request goes to another replica. */
  leave(): void
}

export const REVIEW_PATH = '/validate'
/** An edit contains the object twice, and the API server accepts 3 MiB of each. */
const BODY_BYTES_MAX = 7 * 1024 * 1024
/** This many bodies are in memory at once; others wait at their sockets. */
const READ_AT_ONCE_MAX = 8
const CONNECTIONS_MAX = 128
/** A slower sender would keep other requests waiting. */
const TIMINGS = { headersMs: 5000, requestMs: 10_000 }
/** Longer than the API server keeps an idle connection, so that it never uses a closing one. */
const IDLE_MS = 120_000

export function createReviewServer(options: ReviewServerOptions): ReviewServer {
  const { headersMs, requestMs } = options.timings ?? TIMINGS
  const slots = new Slots(READ_AT_ONCE_MAX)
  let isLeaving = false
  const server = createServer(
    { headersTimeout: headersMs, requestTimeout: requestMs, connectionsCheckingInterval: 1000 },
    (request, response) => {
      const started = performance.now()
      if (isLeaving) response.setHeader('connection', 'close')
      const refusal = refusalOf(request)
      const reply = refusal
        ? Promise.resolve(refusal)
        : slots.run(() => replyTo(request, options.answer))
      reply
        .then((one) => send(response, one))
        // The request ended early or took too long, so no client waits for an answer.
        .catch(() => request.destroy())
        .finally(() => options.onAnswer(response.statusCode, (performance.now() - started) / 1000))
    },
  )
  server.keepAliveTimeout = IDLE_MS
  server.maxConnections = CONNECTIONS_MAX
  // A broken client connection is not the server's fault.
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return {
    server,
    show: ({ certificate, key }) => server.setSecureContext({ cert: certificate, key }),
    leave() {
      isLeaving = true
    },
  }
}

async function replyTo(
  request: IncomingMessage,
  answer: ReviewServerOptions['answer'],
): Promise<ReviewReply> {
  const body = await readBody(request)
  if (body === undefined) return TOO_LARGE
  const review = parse(body)
  return review === undefined ? NO_JSON : answer(review)
}

const TOO_LARGE: ReviewReply = {
  status: 413,
  body: `a review takes at most ${BODY_BYTES_MAX} bytes`,
}
const NO_JSON: ReviewReply = { status: 400, body: 'the body is not JSON' }

/** Checks the head, before the body is read. */
function refusalOf({ method, url, headers }: IncomingMessage): ReviewReply | undefined {
  if (url?.split('?')[0] !== REVIEW_PATH) {
    return { status: 404, body: `reviews are asked at ${REVIEW_PATH}` }
  }
  if (method !== 'POST') return { status: 405, body: 'reviews are asked by POST' }
  if (!/^application\/json\b/i.test(headers['content-type'] ?? '')) {
    return { status: 415, body: 'the content type of a review is application/json' }
  }
  return Number(headers['content-length'] ?? 0) > BODY_BYTES_MAX ? TOO_LARGE : undefined
}

/** Undefined if it is too long. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let length = 0
  // Runs after the loop, because an answer must still be sent.
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    length += piece.length
    if (length > BODY_BYTES_MAX) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function parse(body: Buffer): unknown {
  try {
    return parseJson(body.toString())
  } catch {
    return undefined
  }
}

function send(response: ServerResponse, { status, body }: ReviewReply): void {
  const isText = typeof body === 'string'
  const text = isText ? `${body}\n` : JSON.stringify(body)
  // Does not wait for an unread body.
  const more = status === 200 ? {} : { connection: 'close' }
  const allow = status === 405 ? { allow: 'POST' } : {}
  const type = isText ? 'text/plain' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...more, ...allow })
  response.end(text)
}
