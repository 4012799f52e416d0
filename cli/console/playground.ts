/** The playground: the page sends a request to a stand-alone gateway of this machine, with a key that a person types. */
import { existsSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { DATA_HEADERS } from '../../dataplane/console/page-files.ts'
import { listBelow } from '../../dataplane/json/values.ts'
import { clientsOf } from '../asking/asked-gateways.ts'
import { reasonOf } from '../asking/connection.ts'

/** The page posts here, below the path of a gateway. */
export const PLAYGROUND_PATH = '/v1/chat/completions'
/** The page authenticates itself to the console in `Authorization`, so the key of the client has another header. */
const KEY_HEADER = 'x-client-key'
const BODY_BYTES_MAX = 1_048_576
/** Longer than the default time of a request. */
const TIMEOUT_MS = 630_000
const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost']
/** The headers of an answer that the page shows. */
const SHOWN = /^(?:content-type|x-request-id|retry-after|x-gw-.*)$/

/**
 * Where a request may go, by the status of a gateway: a gateway without an admin socket here is a pod, or on another
 * machine.
 */
export function playgroundUrl(status: unknown): string | undefined {
  const sockets = listBelow(status, 'listeners', 'admin').map((where) =>
    /^unix:(.+)$/.exec(String(where))?.at(1),
  )
  if (!sockets.some((path) => path !== undefined && existsSync(path))) return undefined
  const url = clientsOf(status)
  return url !== null && LOOPBACK.includes(url.hostname) ? url.origin : undefined
}

/** Another page cannot set this header, and the browser names the page that sends the request. */
export function isOwnPage({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined && headers.origin === `http://${headers.host}`
}

export class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Answers as the gateway does, event by event. */
export async function play(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  origin: string,
): Promise<void> {
  if (!/^application\/json\b/.test(incoming.headers['content-type'] ?? ''))
    throw new Refused(415, 'A request of the playground is JSON.')
  const body = await bodyOf(incoming)
  const left = new AbortController()
  outgoing.once('close', () => left.abort())
  const key = incoming.headers[KEY_HEADER]
  const answer = await fetch(`${origin}${PLAYGROUND_PATH}`, {
    method: 'POST',
    body,
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${String(key)}` }),
    },
    signal: AbortSignal.any([left.signal, AbortSignal.timeout(TIMEOUT_MS)]),
  }).catch((error: unknown) => {
    throw new Refused(502, `No gateway answers at ${origin} (${reasonOf(error, TIMEOUT_MS)}).`)
  })
  const shown = [...answer.headers].filter(([name]) => SHOWN.test(name))
  outgoing.writeHead(answer.status, { ...DATA_HEADERS, ...Object.fromEntries(shown) })
  outgoing.flushHeaders()
  // A cut answer of the gateway must look cut to the page.
  await pipeline(Readable.from(answer.body ?? []), outgoing)
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  // Before the body is read, so that the page gets the refusal.
  bounded(Number(incoming.headers['content-length'] ?? 0))
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    bounded(bytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function bounded(bytes: number): void {
  if (bytes > BODY_BYTES_MAX)
    throw new Refused(413, `A request of the playground has at most ${BODY_BYTES_MAX} bytes.`)
}
