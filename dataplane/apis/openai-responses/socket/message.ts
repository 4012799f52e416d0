/** Reads a client's message: the body of a POST with a few more members, and perhaps only the new items. */
import { GatewayError } from '../../../base/errors.ts'
import { invalid, membersOf } from '../../../body/request.ts'
import { editMembers } from '../../../json/edit.ts'
import type { Span } from '../../../json/found.ts'
import { parsed, textOf } from '../../../json/values.ts'
import { isSealed } from '../kept/ids.ts'

/** The last response of a connection. */
export interface LastResponse {
  readonly id: string
  /** Its input and its output: JSON items with commas between them. */
  readonly items: Buffer
}

export interface Message {
  readonly body: Buffer
  /** The whole conversation before the answer, in the form of `LastResponse.items`. */
  readonly items: Buffer
  /** The id of the last response, if the message continues it. */
  readonly previous: string | undefined
  /** Whether the client only prepares a conversation. */
  readonly isWarmUp: boolean
}

const CREATE = 'response.create'
const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/
/** Members that the gateway reads are short. */
const VALUE_BYTES_MAX = 4_096
const NOTHING = Buffer.alloc(0)
const COMMA = Buffer.from(',')

/** Throws ERR_GW_INVALID_REQUEST. `named` gets the name of the stream, even if the message is refused. */
export async function readMessage(
  bytes: Buffer,
  last: LastResponse | undefined,
  named: (streamId: string | undefined) => void,
): Promise<Message> {
  const spans = await membersOf(bytes)
  const memberOf = (name: string) => shortValue(bytes, spans.get(name))
  const changes = new Map<string, string | undefined>([['stream', 'true']])
  for (const name of ['type', 'stream_id', 'generate']) changes.set(name, undefined)
  named(streamIdOf(memberOf('stream_id')))
  checkType(memberOf('type'))
  if (memberOf('background') === true)
    throw invalid('No response runs in the background here; send a POST.', 'background')
  const isWarmUp = isPreparation(memberOf('generate'))
  let items = itemsIn(bytes, spans.get('input'))
  const isContinued = goesOn(memberOf('previous_response_id'), last)
  if (isContinued) {
    items = joined(last.items, items)
    changes.set('previous_response_id', undefined)
    changes.set('input', `[${items.toString()}]`)
  }
  if (isWarmUp && items.length === 0) {
    changes.set('input', '[]')
    // A conversation may start with only its tools.
    if (!spans.has('instructions')) changes.set('instructions', '""')
  }
  const previous = isContinued ? last.id : undefined
  return { body: editMembers(bytes, spans, changes), items, previous, isWarmUp }
}

/** Joins the items of both. */
export function joined(...lists: readonly Buffer[]): Buffer {
  const some = lists.filter(({ length }) => length > 0)
  return Buffer.concat(some.flatMap((list, index) => (index === 0 ? [list] : [COMMA, list])))
}

function shortValue(bytes: Buffer, span: Span | undefined): unknown {
  if (span === undefined) return undefined
  const end = Math.min(span.end, span.start + VALUE_BYTES_MAX)
  return parsed(bytes.toString('utf8', span.start, end))
}

function checkType(type: unknown): void {
  if (type === CREATE) return
  const shown = textOf(type)?.slice(0, 64)
  const named = shown === undefined ? '' : `; "${shown}" does nothing here`
  throw invalid(`"type" must be "${CREATE}"${named}.`, 'type')
}

function streamIdOf(value: unknown): string | undefined {
  if (value == null) return undefined
  if (typeof value === 'string' && STREAM_ID.test(value)) return value
  const message = '"stream_id" must be 1 to 256 letters, digits, dots, dashes or underscores.'
  throw new GatewayError('ERR_GW_INVALID_REQUEST', message, {
    param: 'stream_id',
    shownCode: 'invalid_stream_id',
  })
}

function isPreparation(generate: unknown): boolean {
  if (generate != null && typeof generate !== 'boolean')
    throw invalid('"generate" must be true or false.', 'generate')
  return generate === false
}

/** Throws unless the response is the last one, or an upstream stores it under its id. */
function goesOn(previous: unknown, last: LastResponse | undefined): last is LastResponse {
  if (typeof previous !== 'string' || isSealed(previous)) return false
  if (previous === last?.id) return true
  const message =
    'A message can continue only the last response of this connection. ' +
    'Send the whole conversation in "input", without "previous_response_id".'
  throw new GatewayError('ERR_GW_INVALID_REQUEST', message, {
    param: 'previous_response_id',
    shownCode: 'previous_response_not_found',
  })
}

/** The items of an input; none if it is neither a list nor a text, which a later check refuses. */
function itemsIn(bytes: Buffer, span: Span | undefined): Buffer {
  if (span === undefined) return NOTHING
  const { start, end } = span
  const text = bytes.subarray(start, end)
  if (text[0] === 0x5b) return trimmed(bytes.subarray(start + 1, end - 1))
  if (text[0] !== 0x22 || text.length === 2) return NOTHING
  return Buffer.from(`{"type":"message","role":"user","content":${text.toString()}}`)
}

function trimmed(items: Buffer): Buffer {
  return items.some((byte) => byte > 0x20) ? items : NOTHING
}
