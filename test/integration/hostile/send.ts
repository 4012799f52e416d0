/** Well-formed requests with a single fault. */
import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { CHAT_BODY, type Front } from './front.ts'

export interface Sent {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>
  readonly body?: string | Buffer
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/**
 * A chat request that is correct except for the given parts; a header of `undefined` is left out.
 */
export async function sendTo(front: Front, sent: Sent = {}): Promise<Answer> {
  const { method = 'POST', path = '/v1/chat/completions' } = sent
  const body = sent.body ?? (method === 'POST' ? CHAT_BODY : undefined)
  const given: Sent['headers'] = {
    authorization: `Bearer ${front.key}`,
    'content-type': 'application/json',
    ...sent.headers,
  }
  const headers = Object.entries(given).filter(
    (entry): entry is [string, string | string[]] => entry[1] !== undefined,
  )
  const outgoing = request(front.gateway.url + path, {
    method,
    headers: Object.fromEntries(headers),
    agent: false,
  })
  // A refusing gateway closes while the body is being sent, and the answer may already have been
  // read.
  outgoing.on('error', () => {})
  outgoing.end(body)
  const [incoming] = await once(outgoing, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  return {
    status: incoming.statusCode,
    headers: incoming.headers,
    text: Buffer.concat(chunks).toString(),
  }
}
