/** Bedrock on a real socket: it checks paths, credentials and bodies like the service, and answers in its frames. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { refusalBy } from '../../vendors/refusal.ts'
import { type SigningKey, signedByAws } from './aws-signer.ts'
import { eventFrame, exceptionFrame } from './event-stream.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies are read like a client without types reads.
type Json = any

export interface BedrockRequest {
  /** The model in the path, decoded. */
  readonly model: string
  readonly action: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Json
}

/** The content of one answer. */
export interface Said {
  readonly content: readonly Json[]
  readonly stopReason?: string
  readonly usage?: Json
  /** How a stream ends after its first block: with the exception of this name, `cut` within a frame, or `at once`. */
  readonly breaks?: string
  /** A stream that breaks waits for this after its first block. */
  readonly until?: Promise<void>
}

export interface FakeBedrock {
  /** The origin. */
  readonly url: string
  readonly asked: BedrockRequest[]
  close(): Promise<void>
}

export interface Credentials {
  readonly region: string
  readonly key?: SigningKey
  readonly bearer?: string
}

const REQUEST_ID = '6a1f7c9e-0000-4000-8000-000000000000'
const PATH = /^\/model\/([^/]+)\/(converse|converse-stream|invoke)$/
type Answer = (request: BedrockRequest) => Said | Refusal

export interface Refusal {
  readonly status: number
  readonly type: string
  readonly message: string
}

export async function startBedrock(credentials: Credentials, answer: Answer): Promise<FakeBedrock> {
  const asked: BedrockRequest[] = []
  const server = createServer(async (incoming, outgoing) => {
    outgoing.setHeader('x-amzn-requestid', REQUEST_ID)
    const body = Buffer.concat(await incoming.toArray())
    const refused = await unproven(incoming, body, credentials)
    if (refused !== undefined) return refuse(outgoing, refused)
    const [, segment, action = ''] = PATH.exec(incoming.url ?? '') ?? []
    if (segment === undefined || incoming.method !== 'POST') {
      return refuse(outgoing, { status: 404, type: 'UnknownOperationException', message: '' })
    }
    const model = decodeURIComponent(segment)
    const { headers, url: path = '' } = incoming
    const request = { model, action, path, headers, body: JSON.parse(body.toString()) }
    asked.push(request)
    const wrong = action === 'invoke' ? undefined : mistakeIn(request)
    const said = wrong ?? answer(request)
    if ('status' in said) refuse(outgoing, said)
    else if (action === 'converse-stream') stream(outgoing, said)
    else if (action === 'invoke') json(outgoing, said.content[0])
    else json(outgoing, wholeOf(said))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const OF_THE_SIGNER = new Set([
  'host',
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-security-token',
])

async function unproven(
  { headers, method = '', url = '' }: IncomingMessage,
  body: Buffer,
  { bearer, key, region }: Credentials,
): Promise<Refusal | undefined> {
  const { authorization = '' } = headers
  if (bearer !== undefined && authorization === `Bearer ${bearer}`) return undefined
  if (key === undefined || !authorization.startsWith('AWS4-HMAC-SHA256 ')) {
    return { status: 403, type: 'AccessDeniedException', message: 'Authentication failed.' }
  }
  const names = /SignedHeaders=([^,]*)/.exec(authorization)?.[1]?.split(';') ?? []
  const date = String(headers['x-amz-date'])
  const wallMs = Date.parse(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'))
  if (Math.abs(Date.now() - wallMs) > 300_000) {
    return { status: 403, type: 'InvalidSignatureException', message: 'Signature expired.' }
  }
  const signed = Object.fromEntries(
    names.filter((name) => !OF_THE_SIGNER.has(name)).map((name) => [name, String(headers[name])]),
  )
  const request = { method, host: String(headers.host), path: url, headers: signed, body, wallMs }
  const expected = await signedByAws(request, region, key)
  const isSame = Object.entries(expected).every(([name, value]) => headers[name] === value)
  if (isSame) return undefined
  const message = 'The request signature we calculated does not match the signature you provided.'
  return { status: 403, type: 'InvalidSignatureException', message }
}

/** The fault that the service would find in a Converse request. */
function mistakeIn({ path, body }: BedrockRequest): Refusal | undefined {
  const refused = refusalBy('bedrock', { path, body })
  if (refused === undefined) return undefined
  return { status: refused.status, type: 'ValidationException', message: refused.body.message }
}

const USAGE = { inputTokens: 12, outputTokens: 3, totalTokens: 15 }

function wholeOf({ content, stopReason = 'end_turn', usage = USAGE }: Said): Json {
  const output = { message: { role: 'assistant', content } }
  return { metrics: { latencyMs: 321 }, output, stopReason, usage }
}

/** In pieces that end anywhere but at the end of a frame. */
async function stream(outgoing: ServerResponse, said: Said): Promise<void> {
  outgoing.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
  const [first, last] = framesOf(said)
  write(outgoing, first)
  await said.until
  write(outgoing, last)
  outgoing.end()
}

function write(outgoing: ServerResponse, frames: readonly Buffer[]): void {
  const bytes = Buffer.concat(frames)
  for (let at = 0; at < bytes.length; at += 7) outgoing.write(bytes.subarray(at, at + 7))
}

function framesOf({ content, stopReason = 'end_turn', usage = USAGE, breaks }: Said) {
  const [first = [], ...more] = content.map((block, index) => blockFrames(block, index))
  const begin = eventFrame('messageStart', { role: 'assistant', p: 'abc' })
  const begun = [begin, ...first]
  if (breaks === 'at once') {
    return [[], [exceptionFrame('throttlingException', { message: 'Slow down.' })]] as const
  }
  if (breaks === 'cut') return [begun, [begin.subarray(0, 30)]] as const
  if (breaks !== undefined)
    return [begun, [exceptionFrame(breaks, { message: 'It broke.' })]] as const
  const end = eventFrame('messageStop', { stopReason })
  const counts = eventFrame('metadata', { usage, metrics: { latencyMs: 321 }, p: 'abcd' })
  return [begun, [...more.flat(), end, counts]] as const
}

function blockFrames(block: Json, contentBlockIndex: number): Buffer[] {
  const delta = (one: Json) => eventFrame('contentBlockDelta', { contentBlockIndex, delta: one })
  const stop = eventFrame('contentBlockStop', { contentBlockIndex })
  if ('text' in block) return [...halves(block.text).map((text) => delta({ text })), stop]
  if ('reasoningContent' in block) {
    const { text, signature } = block.reasoningContent.reasoningText
    const said = halves(text).map((part) => delta({ reasoningContent: { text: part } }))
    return [...said, delta({ reasoningContent: { signature } }), stop]
  }
  const { toolUseId, name, input } = block.toolUse
  const start = eventFrame('contentBlockStart', {
    contentBlockIndex,
    start: { toolUse: { toolUseId, name } },
  })
  const text = Object.keys(input).length === 0 ? '' : JSON.stringify(input)
  return [start, ...halves(text).map((part) => delta({ toolUse: { input: part } })), stop]
}

function halves(text: string): string[] {
  const middle = text.length >> 1
  return [text.slice(0, middle), text.slice(middle)].filter((part) => part !== '')
}

function json(outgoing: ServerResponse, body: Json): void {
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function refuse(outgoing: ServerResponse, { status, type, message }: Refusal): void {
  const errorType = `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`
  outgoing.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': errorType })
  outgoing.end(JSON.stringify({ message }))
}
