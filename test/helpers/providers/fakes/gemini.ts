/**
 * Gemini's API on a real socket, as strict as the hosted one: it requires the key, knows every member, and accepts only
 * its own signatures. The last words of the user choose its answer.
 */
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerOf, type Piece } from './gemini-answers.ts'
import { Refused, vectorsOf, verify } from './gemini-rules.ts'

// biome-ignore lint/suspicious/noExplicitAny: it reads what rules of another file have checked.
type Json = any

export interface FakeGemini {
  /** The origin, without a path. */
  readonly url: string
  /** The requests so far, with their path and query. */
  readonly asked: { readonly path: string; readonly headers: Json; readonly body: Json }[]
  /** The first answers, each once: status and body. */
  readonly refusals: { readonly status: number; readonly body: unknown }[]
  close(): Promise<void>
}

/** `accepts` checks the tokens of Vertex AI; otherwise there is the key of Google AI. */
export interface Accepted {
  readonly key?: string
  accepts?(token: string): boolean
}

const ACTION = /^\/(v1|v1beta)\/(.+):([a-zA-Z]+)(\?alt=sse)?$/

export async function startFakeGemini(accepted: Accepted): Promise<FakeGemini> {
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing))
  const fake: FakeGemini & { url: string } = {
    url: '',
    asked: [],
    refusals: [],
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const text = Buffer.concat(await Array.fromAsync<Buffer>(incoming)).toString()
    const path = incoming.url ?? ''
    try {
      const body = JSON.parse(text)
      fake.asked.push({ path, headers: incoming.headers, body })
      const refusal = fake.refusals.shift()
      if (refusal !== undefined) throw new Refused(refusal.status, refusal.body)
      const [, , model = '', action = '', sse] = ACTION.exec(path) ?? []
      if (incoming.method !== 'POST' || action === '') throw Refused.as(404, 'NOT_FOUND', path)
      authenticate(incoming, accepted)
      const { send } = writerOf(outgoing, sse !== undefined)
      act(action, model, body, send)
    } catch (error) {
      const refused = error instanceof Refused ? error : Refused.as(500, 'INTERNAL', String(error))
      outgoing.writeHead(refused.status, { 'content-type': 'application/json; charset=UTF-8' })
      // The stream path wraps errors into a list only without `alt=sse`.
      outgoing.end(JSON.stringify(refused.body, null, 2))
    }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens on a port has an address of this type.
  fake.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return fake
}

function authenticate({ headers }: IncomingMessage, { key, accepts }: Accepted): void {
  if (accepts !== undefined) {
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
    if (token !== undefined && accepts(token) && !('x-goog-api-key' in headers)) return
    throw Refused.as(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
  }
  if (headers['x-goog-api-key'] === key) return
  throw Refused.as(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: 'API_KEY_INVALID',
    domain: 'googleapis.com',
  })
}

type Send = (pieces: readonly Piece[]) => void

function act(action: string, model: string, body: Json, send: Send): void {
  if (action === 'batchEmbedContents' || action === 'predict') {
    send([{ answer: vectorsOf(action, body) }])
    return
  }
  if (action !== 'generateContent' && action !== 'streamGenerateContent') {
    throw Refused.as(404, 'NOT_FOUND', `The action ${action} is unknown.`)
  }
  verify(body, model, signatureOf)
  send(answerOf(body, model, signatureOf))
}

/** Pieces as events, or joined into one answer. */
function writerOf(outgoing: ServerResponse, isStream: boolean): { readonly send: Send } {
  return {
    send(pieces) {
      if (!isStream) {
        const answers = pieces.map(({ answer }) => answer)
        outgoing.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' })
        outgoing.end(JSON.stringify(joined(answers)))
        return
      }
      outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const { answer, isPlain } of pieces) {
        outgoing.write(`${isPlain ? '' : 'data: '}${JSON.stringify(answer)}\r\n\r\n`)
      }
      outgoing.end()
    },
  }
}

/** One answer with all parts of its candidates, and the counts of the last piece. */
function joined(answers: readonly Json[]): Json {
  const last = answers.at(-1)
  const failed = answers.find(({ error }) => error)
  if (failed !== undefined) return failed
  if (last.candidates === undefined) return last
  const candidates = last.candidates.map((candidate: Json, index: number) => ({
    ...candidate,
    content: {
      role: 'model',
      parts: answers.flatMap((one) => one.candidates[index]?.content?.parts ?? []),
    },
  }))
  return { ...last, candidates }
}

/** A proof that the call comes from this API. */
export function signatureOf(model: string, name: string): string {
  return createHmac('sha256', 'fake').update(`${model} ${name}`).digest('base64')
}
