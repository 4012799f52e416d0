/** Estimates the tokens of a prompt from its characters, for windows and reservations. */
import type {
  ChatBody,
  ChatMessage,
  ChatRequest,
  InputTokens,
  ModelRequest,
  Operation,
  TextInput,
} from '../wire/inner-form.ts'

/** Tokens that a chat template puts around each message. */
const PER_MESSAGE = 4
const CHARACTERS_PER_TOKEN = 4
/** Above U+2E80 (CJK and beyond), a character is about one token. */
const DENSE_FROM = 0x2e80
const BYTES_PER_TOKEN_MIN = 3
/** The most tokens that a model reads from one picture, or from one recording. */
const MEDIA_TOKENS_MAX = 16_384

/** As received from clients; the types are unknown. */
interface MediaPart {
  readonly image_url?: string | { readonly url?: unknown } | null
  readonly input_audio?: { readonly data?: unknown } | null
}

export function estimatePromptTokens(request: ModelRequest): number {
  if (request.operation !== 'chat') return request.inputTokens.sum
  return request.promptTokens ?? conversationEstimate(request)
}

export function conversationEstimate({
  body,
  sparse,
}: Pick<ChatRequest, 'body' | 'sparse'>): number {
  return Math.ceil(conversationTokens(body, counter(sparse)))
}

/** Whether a limit bounds the tokens of the answer; it does not bound vectors, scores and transcriptions. */
export function isGenerated(operation: Operation): boolean {
  return operation === 'chat' || operation === 'completions'
}

type Count = (text: string) => number

function conversationTokens(body: ChatBody, count: Count): number {
  let tokens = 0
  for (const message of body.messages) tokens += PER_MESSAGE + messageTokens(message, count)
  if (body.tools !== undefined) tokens += count(JSON.stringify(body.tools))
  return tokens
}

/** A number is a token. `sparse`: all texts are ASCII. */
export function inputTokens(input: TextInput, sparse: boolean): InputTokens {
  const count = counter(sparse)
  if (typeof input === 'string') return only(Math.ceil(count(input)))
  if (typeof input[0] === 'number') return only(input.length)
  let [sum, longest, longestAt] = [0, 0, 0]
  for (const [at, one] of input.entries()) {
    const tokens =
      typeof one === 'string' ? Math.ceil(count(one)) : (one as ArrayLike<number>).length
    sum += tokens
    if (tokens <= longest) continue
    longest = tokens
    longestAt = at
  }
  return { sum, longest, longestAt }
}

/** Whether the inputs are token numbers rather than texts. */
function holdsTokens(input: TextInput): boolean {
  return typeof input !== 'string' && typeof input[0] !== 'string'
}

/** Upper bound of the tokens of texts, because dense text has fewer bytes per token than the estimate assumes. */
export function inputTokensMax(
  input: TextInput,
  bytes: Pick<Buffer, 'length'>,
  { sum }: InputTokens,
): number {
  if (holdsTokens(input)) return sum
  return Math.max(sum, Math.ceil(bytes.length / BYTES_PER_TOKEN_MIN))
}

/** The number of texts, or of token lists. */
export function inputsIn(input: TextInput): number {
  return typeof input === 'string' || typeof input[0] === 'number' ? 1 : input.length
}

function only(tokens: number): InputTokens {
  return { sum: tokens, longest: tokens, longestAt: 0 }
}

function counter(sparse: boolean): Count {
  return sparse ? sparseTokens : textTokens
}

/**
 * Upper bound of a prompt's tokens, because dense text has fewer bytes per token than the estimate assumes. Pictures
 * and sounds of megabytes are only thousands of tokens, so each counts by its bytes up to a bound.
 */
export function promptTokensMax(bytes: Buffer, body: ChatBody): number {
  let text = bytes.length
  let media = 0
  const add = (part: MediaPart | null) => {
    const length = mediaLength(part)
    text -= length
    media += Math.min(MEDIA_TOKENS_MAX, length / BYTES_PER_TOKEN_MIN)
  }
  for (const { content, images } of body.messages) {
    if (Array.isArray(content)) for (const part of content) add(part)
    if (Array.isArray(images)) for (const part of images) add(part)
  }
  return Math.ceil(text / BYTES_PER_TOKEN_MIN + media)
}

function mediaLength(part: MediaPart | null): number {
  const image = part?.image_url
  const data = typeof image === 'string' ? image : (image?.url ?? part?.input_audio?.data)
  return typeof data === 'string' ? data.length : 0
}

function messageTokens({ content, tool_calls: calls }: ChatMessage, count: Count): number {
  let tokens = calls === undefined ? 0 : count(JSON.stringify(calls))
  if (typeof content === 'string') return tokens + count(content)
  if (!Array.isArray(content)) return tokens
  for (const part of content as readonly { text?: unknown }[]) {
    if (typeof part?.text === 'string') tokens += count(part.text)
  }
  return tokens
}

/** For text without dense characters, which needs no check of each character. */
function sparseTokens(text: string): number {
  return text.length / CHARACTERS_PER_TOKEN
}

function textTokens(text: string): number {
  let dense = 0
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) >= DENSE_FROM) dense++
  }
  return dense + (text.length - dense) / CHARACTERS_PER_TOKEN
}
