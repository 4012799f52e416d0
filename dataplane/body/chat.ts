/** From the bytes of a body to a chat completion: first what decides where it leads, then the tree and its shape. */
import { isAscii, isUtf8 } from 'node:buffer'
import type { GatewayError } from '../base/errors.ts'
import type { ChatBody, ChatRequest, Found, Span } from '../call.ts'
import { MembersError, MembersScan } from '../json/members.ts'
import { promptTokensMax } from '../tokens/count.ts'
import { checkShape, invalid } from './chat-shape.ts'
import { parseInPieces } from './pieces.ts'
import { atOnce, inSteps } from './steps.ts'

/** A larger body is read and parsed in steps. */
const LARGE_BYTES = 65_536
/** How far the scan of a large one goes without looking at the time. */
const SCAN_BYTES = 65_536
/** No model has a longer name. */
const MODEL_BYTES_MAX = 4_096

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** A body of which only the places of its members and the model are known. */
export interface Scanned {
  readonly bytes: Buffer
  readonly found: Found
  readonly model: string
}

/** What somebody reads of a tree: of a large body no other long member is kept. */
const READ: ReadonlySet<string> = new Set([
  'functions',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'modalities',
  'model',
  'n',
  'parallel_tool_calls',
  'reasoning_effort',
  'response_format',
  'safety_identifier',
  'service_tier',
  'stop',
  'stream',
  'stream_options',
  'temperature',
  'tool_choice',
  'tools',
  'top_p',
  'user',
])

export function isRead(name: string): boolean {
  return READ.has(name)
}

/** Throws ERR_GW_INVALID_REQUEST; nothing has been parsed by then but the name of the model. */
export function scanChat(bytes: Buffer): Scanned | Promise<Scanned> {
  if (!isUtf8(bytes)) throw invalid('The body is not valid UTF-8.')
  const scan = new MembersScan(bytes)
  if (bytes.length > LARGE_BYTES) return inSteps(scanning(bytes, scan))
  translated(() => scan.run(bytes.length))
  return { bytes, found: scan, model: modelOf(bytes, scan.spans.get('model')) }
}

/** Builds the tree. Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
export function understand(
  scanned: Scanned,
  createdSeconds: number,
): ChatRequest | Promise<ChatRequest> {
  const { bytes } = scanned
  if (bytes.length > LARGE_BYTES) return inSteps(understanding(scanned, createdSeconds))
  const text = bytes.toString('utf8')
  const body = parseJson(text)
  const isSparse = text.length === bytes.length && !text.includes('\\u')
  return requestOf(scanned, body, createdSeconds, isSparse)
}

/** For whoever has the whole body and keeps nobody waiting. */
export function parseChat(bytes: Buffer, createdSeconds: number): ChatRequest {
  if (!isUtf8(bytes)) throw invalid('The body is not valid UTF-8.')
  const scanned = atOnce(scanning(bytes, new MembersScan(bytes)))
  if (bytes.length > LARGE_BYTES) return atOnce(understanding(scanned, createdSeconds))
  return understand(scanned, createdSeconds) as ChatRequest
}

/** Drops the tree of a large body, which takes more memory than its bytes. */
export function forget(request: ChatRequest): void {
  if (request.bytes.length > LARGE_BYTES) request.body = GONE
}

/** Builds a tree anew that was dropped; undefined where it is there. */
export function recall(request: ChatRequest): Promise<void> | undefined {
  if (request.body !== GONE) return undefined
  const { bytes, found } = request
  return inSteps(parseInPieces(bytes, found, isRead)).then((tree) => {
    request.body = tree as ChatBody
  })
}

/** Nobody may take what was dropped for what was never sent. */
const GONE = new Proxy({} as ChatBody, {
  get(_body, name) {
    throw new Error(`The tree was dropped before ${String(name)} was read.`)
  },
})

function* scanning(bytes: Buffer, scan: MembersScan): Generator<undefined, Scanned> {
  for (let until = SCAN_BYTES; !translated(() => scan.run(until)); until += SCAN_BYTES) yield
  return { bytes, found: scan, model: modelOf(bytes, scan.spans.get('model')) }
}

function* understanding(
  scanned: Scanned,
  createdSeconds: number,
): Generator<undefined, ChatRequest> {
  const { bytes, found } = scanned
  const parsing = parseInPieces(bytes, found, isRead)
  let next = translated(() => parsing.next())
  while (next.done !== true) {
    yield
    next = translated(() => parsing.next())
  }
  yield
  const isSparse = isAscii(bytes) && !bytes.includes('\\u')
  // The shape is checked next; until then only the name of the type is claimed.
  return requestOf(scanned, next.value as ChatBody, createdSeconds, isSparse)
}

function requestOf(
  { bytes, found }: Scanned,
  body: ChatBody,
  createdSeconds: number,
  isSparse: boolean,
): ChatRequest {
  checkShape(body)
  return {
    bytes,
    body,
    found,
    spans: found.spans,
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    choices: typeof body.n === 'number' ? body.n : 1,
    promptTokensMax: promptTokensMax(bytes, body),
    createdSeconds,
    sparse: isSparse,
  }
}

function modelOf(bytes: Buffer, span: Span | undefined): string {
  if (span === undefined || bytes[span.start] !== QUOTE) throw noModel()
  const { start } = span
  const end = Math.min(span.end, start + MODEL_BYTES_MAX)
  const raw = bytes.toString('utf8', start + 1, end - 1)
  if (raw === '') throw noModel()
  // One that is cut short is nobody's name either way.
  if (end < span.end || bytes.subarray(start, end).indexOf(BACKSLASH) === -1) return raw
  // A string in quotes.
  return parseJson(bytes.toString('utf8', start, end)) as unknown as string
}

function noModel(): GatewayError {
  return invalid('"model" must be the name of a route.', 'model')
}

function parseJson(text: string): ChatBody {
  try {
    return JSON.parse(text) as ChatBody
  } catch (error) {
    throw invalid(`The body is not valid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

/** What is wrong with the bytes is the client's to hear. */
function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof MembersError) throw invalid(error.message, error.param)
    throw error
  }
}
