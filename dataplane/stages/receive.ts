/** What is asked? The body within its bound, as JSON, in the shape of a chat completion. */
import { isUtf8 } from 'node:buffer'
import type { BodyTaker, ChatBody, ChatRequest, Incoming } from '../call.ts'
import { GatewayError } from '../errors.ts'
import type { Visit } from '../gateway.ts'
import { MembersError, scanMembers } from '../json-members.ts'

const TOKENS_MAX = 100_000_000
const CHOICES_MAX = 128

/** Throws 413, 415, 400; and ERR_GW_STREAM_ABORTED when the client leaves before its body is complete. */
export function receive(
  { call, trace, gateway }: Visit,
  bytesMax: number,
): ChatRequest | Promise<ChatRequest> {
  const { incoming } = call
  requireJson(incoming)
  if (Number(incoming.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax)
  if (incoming.headers.expect !== undefined) incoming.askForBody()
  const { clock } = gateway
  const whole = incoming.takeWhole()
  if (whole !== undefined) return parseChat(whole, secondsOf(clock.wall()))
  const began = clock.now()
  return readBody(incoming, bytesMax).then((bytes) => {
    trace.body_ms = clock.now() - began
    return parseChat(bytes, secondsOf(clock.wall()))
  })
}

function secondsOf(wall: number): number {
  return Math.floor(wall / 1000)
}

function requireJson({ headers }: Incoming): void {
  const type = headers['content-type'] ?? ''
  if (type === 'application/json' && headers['content-encoding'] === undefined) return
  const [essence, ...parameters] = type.split(';').map((part) => part.trim().toLowerCase())
  const plain = parameters.every((parameter) => /^(charset="?utf-8"?)?$/.test(parameter))
  if (essence !== 'application/json' || !plain) {
    throw new GatewayError(
      'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
      'Send the body as "Content-Type: application/json" in UTF-8.',
    )
  }
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') {
    throw new GatewayError(
      'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
      'Send the body uncompressed, without Content-Encoding.',
    )
  }
}

function readBody(incoming: Incoming, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    incoming.takeBody(new BodyReader(bytesMax, resolve, reject))
  })
}

/** Keeps the pieces of a body until it is whole or too large. */
class BodyReader implements BodyTaker {
  sated = false
  readonly #bytesMax: number
  readonly #resolve: (bytes: Buffer) => void
  readonly #reject: (why: GatewayError) => void
  #chunks: Buffer[] = []
  #length = 0

  constructor(
    bytesMax: number,
    resolve: (bytes: Buffer) => void,
    reject: (why: GatewayError) => void,
  ) {
    this.#bytesMax = bytesMax
    this.#resolve = resolve
    this.#reject = reject
  }

  data(chunk: Buffer): void {
    if (this.sated) return
    this.#length += chunk.length
    this.#chunks.push(chunk)
    if (this.#length <= this.#bytesMax) return
    // The rest is read and thrown away: a client that is still sending would not hear the refusal.
    this.sated = true
    this.#chunks = []
    this.#reject(tooLarge(this.#bytesMax))
  }

  ended(): void {
    const [first] = this.#chunks
    const isOne = first !== undefined && this.#chunks.length === 1
    this.#resolve(isOne ? first : Buffer.concat(this.#chunks))
  }

  broken(why: GatewayError): void {
    this.#reject(why)
  }
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError(
    'ERR_GW_REQUEST_TOO_LARGE',
    `The body is larger than ${bytesMax} bytes; send less.`,
    {
      facts: { limit: bytesMax },
      final: true,
    },
  )
}

/** Exported for tests and explain. Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
export function parseChat(bytes: Buffer, createdSeconds: number): ChatRequest {
  if (!isUtf8(bytes)) throw invalid('The body is not valid UTF-8.')
  const spans = scan(bytes)
  const text = bytes.toString('utf8')
  const body = parseJson(text)
  checkShape(body)
  const maxTokens = body.max_completion_tokens ?? body.max_tokens ?? undefined
  return {
    bytes,
    body,
    spans,
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
    maxTokens,
    createdSeconds,
    sparse: text.length === bytes.length && !text.includes('\\u'),
  }
}

function scan(bytes: Buffer): ChatRequest['spans'] {
  try {
    return scanMembers(bytes)
  } catch (error) {
    if (error instanceof MembersError) throw invalid(error.message, error.param)
    throw error
  }
}

function parseJson(text: string): ChatBody {
  try {
    // The shape is checked next; until then only the name of the type is claimed.
    return JSON.parse(text) as ChatBody
  } catch (error) {
    throw invalid(`The body is not valid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

function checkShape(body: ChatBody): void {
  const { model, messages, stream, stream_options: options } = body
  if (typeof model !== 'string' || model === '')
    throw invalid('"model" must be the name of a route.', 'model')
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalid('"messages" must be an array of at least one message.', 'messages')
  }
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    if (!isObject(message) || typeof message.role !== 'string') {
      throw invalid(
        `"messages[${index}]" must be an object with a "role".`,
        `messages[${index}].role`,
      )
    }
    checkContent(message.content, index)
  }
  if (stream != null && typeof stream !== 'boolean')
    throw invalid('"stream" must be true or false.', 'stream')
  if (options != null && !isObject(options))
    throw invalid('"stream_options" must be an object.', 'stream_options')
  checkCount(body, 'max_tokens', TOKENS_MAX)
  checkCount(body, 'max_completion_tokens', TOKENS_MAX)
  checkCount(body, 'n', CHOICES_MAX)
}

function checkContent(content: unknown, index: number): void {
  if (content == null || typeof content === 'string' || Array.isArray(content)) return
  const param = `messages[${index}].content`
  throw invalid(`"${param}" must be a string or an array of parts.`, param)
}

/** JSON has no bounds on numbers: 1e999 is Infinity and -1 is a number. */
function checkCount(body: ChatBody, member: string, most: number): void {
  const value = body[member]
  if (value == null) return
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > most) {
    throw invalid(`"${member}" must be a whole number from 1 to ${most}.`, member)
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function invalid(message: string, param?: string): GatewayError {
  return new GatewayError('ERR_GW_INVALID_REQUEST', message, param === undefined ? {} : { param })
}
