/** From the bytes of a body to a request: first what decides where it leads, then the tree and its shape. */
import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../base/errors.ts'
import { LARGE_BYTES } from '../base/heavy-work.ts'
import type { ModelRequest } from '../inner-form.ts'
import type { Found, Span } from '../json/found.ts'
import { MembersError, MembersScan } from '../json/members.ts'
import { BACKSLASH, QUOTE } from '../json/tokens.ts'
import { parseInPieces } from './pieces.ts'
import { atOnce, inSteps } from './steps.ts'
import { isSparseInParts, isUtf8InParts } from './text.ts'

/** How far the scan of a large one goes without looking at the time. */
const SCAN_BYTES = 65_536
/** No model has a longer name. */
const MODEL_BYTES_MAX = 4_096

/** A body of which only the places of its members and the model are known. */
export interface Scanned {
  readonly bytes: Buffer
  readonly found: Found
  readonly model: string
}

/** How an API reads its bodies. */
export interface Reading<Request extends ModelRequest> {
  /** Top-level members that the API reads: of a large body no other long member is kept. */
  readonly members: ReadonlySet<string>
  /** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
  request(tree: unknown, facts: BodyFacts): Request
  /** The body of the inner form, made anew of a tree that has been a request; absent: the tree itself. */
  body?(tree: unknown): Request['body']
}

/** Facts about a body that are known before its tree is read. */
export interface BodyFacts {
  readonly bytes: Buffer
  readonly found: Found
  readonly spans: ReadonlyMap<string, Span>
  /** Seconds since 1970. */
  readonly createdSeconds: number
  /** All its text is ASCII. */
  readonly sparse: boolean
}

/** Throws ERR_GW_INVALID_REQUEST; nothing has been parsed by then but the name of the model. */
export function scanBody(bytes: Buffer): Scanned | Promise<Scanned> {
  if (bytes.length > LARGE_BYTES) return inSteps(scanning(bytes))
  if (!isUtf8(bytes)) throw notUtf8()
  const scan = new MembersScan(bytes)
  translated(() => scan.run(bytes.length))
  return { bytes, found: scan, model: modelOf(bytes, scan.spans.get('model')) }
}

/** Builds the tree. Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
export function understand<Request extends ModelRequest>(
  scanned: Scanned,
  reading: Reading<Request>,
  createdSeconds: number,
): Request | Promise<Request> {
  const { bytes, found } = scanned
  if (bytes.length > LARGE_BYTES) return inSteps(understanding(scanned, reading, createdSeconds))
  const text = bytes.toString('utf8')
  const tree = parseJson(text)
  const sparse = text.length === bytes.length && !text.includes('\\u')
  return reading.request(tree, { bytes, found, spans: found.spans, createdSeconds, sparse })
}

/** For a caller that has the whole body and holds up no other request. */
export function parseRequest<Request extends ModelRequest>(
  bytes: Buffer,
  reading: Reading<Request>,
  createdSeconds: number,
): Request {
  const scanned = atOnce(scanning(bytes))
  if (bytes.length > LARGE_BYTES) return atOnce(understanding(scanned, reading, createdSeconds))
  return understand(scanned, reading, createdSeconds) as Request
}

/** Drops the tree of a large body, which takes more memory than its bytes. */
export function forget(request: ModelRequest): void {
  if (request.bytes.length > LARGE_BYTES && !request.isRewritten) request.body = GONE
}

/** Builds a tree anew that was dropped; undefined where it is there. */
export function recall(
  request: ModelRequest,
  { members, body }: Pick<Reading<ModelRequest>, 'members' | 'body'>,
): Promise<void> | undefined {
  if (request.body !== GONE) return undefined
  const { bytes, found } = request
  return inSteps(parseInPieces(bytes, found, (name) => members.has(name))).then((tree) => {
    request.body = (body === undefined ? tree : body(tree)) as typeof GONE
  })
}

/** A read of a dropped tree must not look like a missing member. */
const GONE = new Proxy({} as ModelRequest['body'] & never, {
  get(_body, name) {
    throw new Error(`The tree was dropped before ${String(name)} was read.`)
  },
})

function* scanning(bytes: Buffer): Generator<undefined, Scanned> {
  if (!(yield* isUtf8InParts(bytes))) throw notUtf8()
  const scan = new MembersScan(bytes)
  for (let until = SCAN_BYTES; !translated(() => scan.run(until)); until += SCAN_BYTES) yield
  return { bytes, found: scan, model: modelOf(bytes, scan.spans.get('model')) }
}

function* understanding<Request extends ModelRequest>(
  { bytes, found }: Scanned,
  reading: Reading<Request>,
  createdSeconds: number,
): Generator<undefined, Request> {
  const parsing = parseInPieces(bytes, found, (name) => reading.members.has(name))
  let next = translated(() => parsing.next())
  while (next.done !== true) {
    yield
    next = translated(() => parsing.next())
  }
  yield
  const sparse = yield* isSparseInParts(bytes)
  const facts = { bytes, found, spans: found.spans, createdSeconds, sparse }
  return reading.request(next.value, facts)
}

function modelOf(bytes: Buffer, span: Span | undefined): string {
  if (span === undefined || bytes[span.start] !== QUOTE) throw noModel()
  const { start } = span
  const end = Math.min(span.end, start + MODEL_BYTES_MAX)
  const raw = bytes.toString('utf8', start + 1, end - 1)
  if (raw === '') throw noModel()
  // No model has a name that is cut short.
  if (end < span.end || bytes.subarray(start, end).indexOf(BACKSLASH) === -1) return raw
  // A string in quotes.
  return parseJson(bytes.toString('utf8', start, end)) as string
}

function notUtf8(): GatewayError {
  return invalid('The body is not valid UTF-8.')
}

function noModel(): GatewayError {
  return invalid('"model" must be the name of a route.', 'model')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalid(`The body is not valid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

/** Turns mistakes in the bytes into refusals. */
function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof MembersError) throw invalid(error.message, error.param)
    throw error
  }
}

export function invalid(message: string, param?: string): GatewayError {
  return new GatewayError('ERR_GW_INVALID_REQUEST', message, param === undefined ? {} : { param })
}
