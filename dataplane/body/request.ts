/** Parses the bytes of a body: first the members that decide the route, then the tree and its shape. */
import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../base/errors.ts'
import { type Form, FormError, readForm } from '../base/form.ts'
import { LARGE_BYTES } from '../base/heavy-work.ts'
import { atOnce, inSteps } from '../base/steps.ts'
import { editMembers } from '../json/edit.ts'
import type { Found, Span } from '../json/found.ts'
import { MembersError, MembersScan } from '../json/members.ts'
import { parseExactly, parseJson } from '../json/parse.ts'
import { parseInPieces } from '../json/steps/pieces.ts'
import { QUOTE } from '../json/tokens.ts'
import { GONE } from '../wire/dropped-tree.ts'
import type { ModelRequest } from '../wire/inner-form.ts'
import type { BodyFacts, Reading } from '../wire/reading.ts'
import { isSparseInParts, isUtf8InParts } from './text.ts'

/** How many bytes of a large body the scan reads between two checks of the clock. */
const SCAN_BYTES = 65_536
/** No model has a longer name. */
const MODEL_BYTES_MAX = 4_096

/** A scanned body: the positions of its members and its model are known. */
export interface Scanned {
  readonly bytes: Buffer
  /** Undefined if the body is a form. */
  readonly found: Found | undefined
  readonly form?: Form
  readonly model: string
}

type Parsable = Pick<BodyFacts, 'bytes'> & { readonly found: Found }

/** The positions of the members of a body. Throws ERR_GW_INVALID_REQUEST. */
export async function membersOf(bytes: Buffer): Promise<Found['spans']> {
  return (await inSteps(finding(bytes))).spans
}

/** The body with this model, which replaces its own. Throws ERR_GW_INVALID_REQUEST. */
export async function naming(bytes: Buffer, model: string): Promise<Buffer> {
  return editMembers(bytes, await membersOf(bytes), new Map([['model', JSON.stringify(model)]]))
}

/** Throws ERR_GW_INVALID_REQUEST; by then only the name of the model has been parsed. */
export function scanBody(bytes: Buffer): Scanned | Promise<Scanned> {
  if (bytes.length > LARGE_BYTES) return inSteps(scanning(bytes))
  if (!isUtf8(bytes)) throw notUtf8()
  const scan = new MembersScan(bytes)
  translated(() => scan.run(bytes.length))
  return { bytes, found: scan, model: modelOf(bytes, scan.spans.get('model')) }
}

/** The same for a form. */
export function scanForm(bytes: Buffer, contentType: string): Scanned | Promise<Scanned> {
  const scan = scanningForm(bytes, contentType)
  return bytes.length > LARGE_BYTES ? inSteps(scan) : atOnce(scan)
}

function* scanningForm(bytes: Buffer, contentType: string): Generator<undefined, Scanned> {
  const reading = readForm(bytes, contentType)
  let next = translated(() => reading.next())
  while (next.done !== true) {
    yield
    next = translated(() => reading.next())
  }
  const form = next.value
  const part = form.parts.find(({ name }) => name === 'model')
  const model =
    part && bytes.toString('utf8', part.start, Math.min(part.end, part.start + MODEL_BYTES_MAX))
  if (!model) throw noModel()
  return { bytes, found: undefined, form, model }
}

const NO_SPANS: ReadonlyMap<string, Span> = new Map()

/** Builds the tree. Throws ERR_GW_INVALID_REQUEST with the faulty member. */
export function understand<Request extends ModelRequest>(
  scanned: Scanned,
  reading: Reading<Request>,
  createdSeconds: number,
): Request | Promise<Request> {
  const { bytes, found, form } = scanned
  if (found === undefined)
    return reading.request(
      {},
      { bytes, found, ...(form && { form }), spans: NO_SPANS, createdSeconds, sparse: false },
    )
  if (bytes.length > LARGE_BYTES)
    return inSteps(understanding({ bytes, found }, reading, createdSeconds))
  const text = bytes.toString('utf8')
  const tree = parseBody(text, found.hasOddNumbers)
  const sparse = text.length === bytes.length && !text.includes('\\u')
  return reading.request(tree, { bytes, found, spans: found.spans, createdSeconds, sparse })
}

/** For a caller that has the whole body and may block the event loop. */
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
  const { bytes, found, isRewritten } = request
  if (bytes.length > LARGE_BYTES && found !== undefined && !isRewritten) request.body = GONE
}

/** Builds a dropped tree again; undefined if the tree was not dropped. */
export function recall(
  request: ModelRequest,
  { members, body }: Pick<Reading<ModelRequest>, 'members' | 'body'>,
): Promise<void> | undefined {
  const { bytes, found } = request
  if (request.body !== GONE || found === undefined) return undefined
  return inSteps(parseInPieces(bytes, found, { keeps: (name) => members.has(name) })).then(
    (tree) => {
      request.body = (body === undefined ? tree : body(tree)) as typeof GONE
    },
  )
}

function* scanning(bytes: Buffer): Generator<undefined, Scanned & Parsable> {
  const found = yield* finding(bytes)
  return { bytes, found, model: modelOf(bytes, found.spans.get('model')) }
}

function* finding(bytes: Buffer): Generator<undefined, Found> {
  if (!(yield* isUtf8InParts(bytes))) throw notUtf8()
  const scan = new MembersScan(bytes)
  for (let until = SCAN_BYTES; !translated(() => scan.run(until)); until += SCAN_BYTES) yield
  return scan
}

function* understanding<Request extends ModelRequest>(
  { bytes, found }: Parsable,
  reading: Reading<Request>,
  createdSeconds: number,
): Generator<undefined, Request> {
  const tree = yield* parsing(bytes, found, (name) => reading.members.has(name))
  yield
  const sparse = yield* isSparseInParts(bytes)
  const facts = { bytes, found, spans: found.spans, createdSeconds, sparse }
  return reading.request(tree, facts)
}

function* parsing(
  bytes: Buffer,
  found: Found,
  keeps: (name: string) => boolean,
): Generator<undefined, Readonly<Record<string, unknown>>> {
  const pieces = parseInPieces(bytes, found, { keeps })
  let next = translated(() => pieces.next())
  while (next.done !== true) {
    yield
    next = translated(() => pieces.next())
  }
  return next.value
}

/** Parses the body of a request without a model. Throws ERR_GW_INVALID_REQUEST. */
export function readObject(bytes: Buffer): Promise<Readonly<Record<string, unknown>>> {
  return inSteps(readingObject(bytes))
}

function* readingObject(bytes: Buffer): Generator<undefined, Readonly<Record<string, unknown>>> {
  const found = yield* finding(bytes)
  return yield* parsing(bytes, found, () => true)
}

function modelOf(bytes: Buffer, span: Span | undefined): string {
  if (span === undefined || bytes[span.start] !== QUOTE) throw noModel()
  const { start } = span
  const end = Math.min(span.end, start + MODEL_BYTES_MAX)
  const raw = bytes.toString('utf8', start + 1, end - 1)
  if (raw === '') throw noModel()
  // A truncated text is not the name of a model.
  if (end < span.end || !raw.includes('\\')) return raw
  // A string in quotes.
  return parseBody(bytes.toString('utf8', start, end)) as string
}

/** The model, if its name is complete in the beginning of a body; else undefined. */
export function modelInBeginning(beginning: Buffer): string | undefined {
  const scan = new MembersScan(beginning)
  try {
    scan.run(beginning.length)
  } catch (error) {
    // Most beginnings end inside a value; a bad body is refused when it is complete.
    if (!(error instanceof MembersError)) throw error
  }
  const span = scan.spans.get('model')
  return span && beginning[span.start] === QUOTE ? modelOf(beginning, span) : undefined
}

function notUtf8(): GatewayError {
  return invalid('The body is not valid UTF-8.')
}

function noModel(): GatewayError {
  return invalid('"model" must be the name of a route.', 'model')
}

/** Throws ERR_GW_INVALID_REQUEST, as all checks of members do. */
export function checkModel(model: unknown): asserts model is string {
  if (typeof model !== 'string' || model === '') throw noModel()
}

export function checkFlag(value: unknown, member: string): void {
  if (value == null || typeof value === 'boolean') return
  throw invalid(`"${member}" must be true or false.`, member)
}

function parseBody(text: string, hasOddNumbers = false): unknown {
  try {
    return hasOddNumbers ? parseExactly(text) : parseJson(text)
  } catch (error) {
    throw invalid(`The body is not valid JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

/** Turns mistakes in the bytes into refusals. */
export function translated<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof MembersError || error instanceof FormError)
      throw invalid(error.message, error.param)
    throw error
  }
}

export function invalid(message: string, param?: string): GatewayError {
  return new GatewayError('ERR_GW_INVALID_REQUEST', message, param === undefined ? {} : { param })
}
