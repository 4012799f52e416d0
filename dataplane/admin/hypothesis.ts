/** A request that no client sent: its caller and its size. */

import { chatReading } from '../apis/openai-chat/reading.ts'
import { completionsReading } from '../apis/openai-completions/reading.ts'
import { embeddingsReading } from '../apis/openai-embeddings/reading.ts'
import { rerankReading } from '../apis/rerank/reading.ts'
import { transcriptionReading } from '../apis/transcription/reading.ts'
import { GatewayError } from '../base/errors.ts'
import { parseRequest, type Scanned, scanForm, understand } from '../body/request.ts'
import type { Caller } from '../call/call.ts'
import type { KeyEntry } from '../call/key-entry.ts'
import type { OperationKind } from '../config/shown/explain.ts'
import { unusable } from '../request/stages/authenticate.ts'
import { isGenerated, promptTokensMax } from '../tokens/count.ts'
import type {
  ChatRequest,
  CompletionsRequest,
  EmbeddingsRequest,
  ModelRequest,
  RerankRequest,
  TranscriptionRequest,
} from '../wire/inner-form.ts'
import type { AskedOperation } from './asked-operations.ts'

/** The caller and the size of the request; a missing value limits nothing. */
export interface Hypothesis {
  readonly model: string
  /** The caller's key, if it is known here. */
  readonly key: KeyEntry | undefined
  readonly isKeyGiven: boolean
  readonly tenant: string | undefined
  readonly promptTokens: number | undefined
  readonly maxTokens: number | undefined
  /** The API that is asked. */
  readonly operation: AskedOperation
}

export function kindOf(operation: AskedOperation): OperationKind {
  const isConversation =
    operation === 'chat' || operation === 'responses' || operation === 'messages'
  return { isConversation, isGenerated: isConversation || isGenerated(operation) }
}

/** Characters counted as a token, and tokens counted for the template of a message. */
const CHARACTERS_PER_TOKEN = 4
const TOKENS_PER_MESSAGE = 4

/** Throws ERR_GW_AUTH_INVALID_KEY. Without a key the caller may do everything; without a tenant nothing limits it. */
export function callerOf(asked: Hypothesis, wallMs: number): Caller {
  const { key, isKeyGiven, tenant = '' } = asked
  if (!isKeyGiven) return { key: anyKey(tenant), tenant }
  const reason = key === undefined ? 'unknown key' : unusable(key, wallMs)
  if (key === undefined || reason !== undefined)
    throw new GatewayError('ERR_GW_AUTH_INVALID_KEY', `${reason ?? 'unknown key'}.`)
  return { key, tenant: key.record.tenant }
}

function anyKey(tenant: string): KeyEntry {
  const record = { id: 'any', tenant, hash: '', scopes: [], routes: ['*'] }
  const rights = { usable: true, invokes: true, lists: true }
  const all = { routes: undefined, prefixes: undefined, tags: undefined }
  return { record, expiresAt: Number.POSITIVE_INFINITY, ...rights, ...all }
}

/** Throws ERR_GW_REQUEST_TOO_LARGE. A long prompt has only its length: no stage reads it. */
export function requestOf(asked: Hypothesis, bytesMax: number): ModelRequest {
  const { model, operation, maxTokens } = asked
  if (operation === 'embeddings') {
    const bytes = Buffer.from(JSON.stringify({ model, input: 'hi' }))
    return ofLength(parseRequest(bytes, embeddingsReading, 0), asked, bytesMax)
  }
  if (operation === 'completions') {
    const bytes = Buffer.from(JSON.stringify({ model, prompt: 'hi', max_tokens: maxTokens }))
    return ofLength(parseRequest(bytes, completionsReading, 0), asked, bytesMax)
  }
  if (operation === 'rerank') {
    const bytes = Buffer.from(JSON.stringify({ model, query: 'hi', documents: ['hi'] }))
    return ofLength(parseRequest(bytes, rerankReading, 0), asked, bytesMax)
  }
  return operation === 'transcription' ? recordingOf(asked) : conversationOf(asked, bytesMax)
}

/** A recording of the requested number of tokens in a few bytes. */
function recordingOf({ model, promptTokens }: Hypothesis): ModelRequest {
  const part = (name: string, value: string) =>
    `--gw-explained-recording\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const bytes = Buffer.from(
    `${part('model', model)}${part('file', 'hi')}--gw-explained-recording--\r\n`,
  )
  // A short form and its texts are read at once.
  const scanned = scanForm(bytes, 'multipart/form-data; boundary=gw-explained-recording') as Scanned
  const small = understand(scanned, transcriptionReading, 0) as TranscriptionRequest
  if (promptTokens === undefined) return small
  const inputTokens = { ...small.inputTokens, sum: promptTokens }
  return { ...small, inputTokens, promptTokensMax: promptTokens }
}

/** The same with a text of the requested number of tokens. */
function ofLength(
  small: EmbeddingsRequest | CompletionsRequest | RerankRequest,
  { promptTokens }: Hypothesis,
  bytesMax: number,
): ModelRequest {
  if (promptTokens === undefined) return small
  const characters = promptTokens * CHARACTERS_PER_TOKEN
  boundBytes(small.bytes.length + characters, promptTokens, bytesMax)
  const text = 'x'.repeat(characters)
  const sized = {
    bytes: Buffer.alloc(small.bytes.length + characters),
    inputTokens: { sum: promptTokens, longest: promptTokens, longestAt: 0 },
    promptTokensMax: promptTokens,
  }
  if (small.operation === 'rerank')
    return { ...small, ...sized, body: { ...small.body, documents: [text] } }
  return small.operation === 'embeddings'
    ? { ...small, ...sized, body: { ...small.body, input: text } }
    : { ...small, ...sized, body: { ...small.body, prompt: text } }
}

function boundBytes(length: number, promptTokens: number | undefined, bytesMax: number): void {
  if (length <= bytesMax) return
  const message = `A prompt of ${promptTokens} tokens is about ${length} bytes; max_request_bytes is ${bytesMax}.`
  throw new GatewayError('ERR_GW_REQUEST_TOO_LARGE', message, { facts: { limit: bytesMax } })
}

function conversationOf(asked: Hypothesis, bytesMax: number): ChatRequest {
  const { model, promptTokens, maxTokens } = asked
  const characters = Math.max(2, ((promptTokens ?? 0) - TOKENS_PER_MESSAGE) * CHARACTERS_PER_TOKEN)
  const messages = [{ role: 'user', content: 'hi' }]
  const limit = maxTokens === undefined ? {} : { max_tokens: maxTokens }
  const text = JSON.stringify({ model, messages, ...limit })
  const small = parseRequest(Buffer.from(text), chatReading, 0)
  if (characters === 2) return small
  const length = small.bytes.length + characters - 2
  boundBytes(length, promptTokens, bytesMax)
  const content = 'x'.repeat(characters)
  const body = { ...small.body, messages: [{ role: 'user', content }] }
  const bytes = Buffer.alloc(length)
  return { ...small, body, bytes, promptTokensMax: promptTokensMax(bytes, body) }
}
