/**
 * The calls in an answer that passes to a client of the same wire: with the client's tool names, and with ids that
 * are new in the conversation. All other bytes stay unchanged.
 */
import type { KeptText } from '../base/kept-text.ts'
import { CallIds, MESSAGES } from '../providers/answers/call-ids.ts'
import type { ChatRequest, Sent } from '../wire/inner-form.ts'
import type { WireEvent, WireMeaning, WireReader } from '../wire/provider.ts'
import type { CallNames } from './calls.ts'
import { namesOf } from './names.ts'
import { isFree, NAME_OR_ID } from './places.ts'
import { changedStrings, type StringPath } from './strings.ts'

/** Occurs in every answer or event that has a call with an id: in Messages, and in chat completions and responses. */
const TOOL_USE = '"tool_use"'
const CALL = '_call'
const BYTES_OF = { [TOOL_USE]: Buffer.from(TOOL_USE), [CALL]: Buffer.from(CALL) }

/** A whole answer that passes; most have no call. */
export function passedBody(body: Buffer, request: Sent<ChatRequest>): Buffer {
  if (namesOf(request) !== undefined || body.includes(BYTES_OF[markFor(request)]))
    return new PassedCalls(request).settledBody(body)
  return body
}

export class PassedCalls {
  readonly #names: CallNames | undefined
  readonly #mark: string
  readonly #ids: CallIds
  /** An upstream that stores the conversation knows its calls by its own ids. */
  readonly #keepsIds: boolean
  /** The client's ids by the upstream's. */
  readonly #known = new Map<string, string>()

  constructor(request: Sent<ChatRequest>, kept?: KeptText) {
    this.#names = namesOf(request)
    this.#mark = markFor(request)
    this.#ids = new CallIds(request, kept)
    this.#keepsIds = request.keepers !== undefined
  }

  /** `text` is JSON. */
  settled(text: string): string {
    if (this.#names === undefined && (this.#keepsIds || !text.includes(this.#mark))) return text
    return this.#changed(Buffer.from(text))?.toString() ?? text
  }

  settledBody(body: Buffer): Buffer {
    return this.#changed(body) ?? body
  }

  /** undefined if nothing has changed. */
  #changed(bytes: Buffer): Buffer | undefined {
    try {
      const changed = changedStrings(bytes, NAME_OR_ID, (value, path) => this.#change(value, path))
      return changed === bytes ? undefined : changed
    } catch {
      // The text is not JSON, which its reader reports.
      return undefined
    }
  }

  #change(value: string, path: StringPath): string | undefined {
    if (isFree(path)) return undefined
    if (path.at(-1) === 'name') return this.#names?.get(value)
    if (this.#keepsIds || !isCall(path)) return undefined
    const known = this.#known.get(value) ?? this.#ids.of(value, String(this.#known.size))
    this.#known.set(value, known)
    return known === value ? undefined : known
  }
}

function markFor({ wire }: Pick<ChatRequest, 'wire'>): keyof typeof BYTES_OF {
  return wire === MESSAGES ? TOOL_USE : CALL
}

/** An id of a call in a chat completion, a message or a response. */
function isCall(path: StringPath): boolean {
  const member = path.at(-1)
  if (member !== 'id') return member === 'call_id'
  const above = typeof path.at(-2) === 'number' ? path.at(-3) : path.at(-2)
  return above === 'tool_calls' || above === 'content' || above === 'content_block'
}

/** Reads a stream that passes, with its calls in the client's terms. */
export class PassedCallsReader implements WireReader {
  readonly passesComments: boolean
  readonly facts: WireReader['facts']
  readonly skim?: NonNullable<WireReader['skim']>
  readonly #reader: WireReader
  readonly #calls: PassedCalls

  constructor(reader: WireReader, request: Sent<ChatRequest>, kept: KeptText) {
    this.#reader = reader
    this.#calls = new PassedCalls(request, kept)
    this.passesComments = reader.passesComments
    this.facts = reader.facts
    const { skim } = reader
    // Skimmed events start no call.
    if (skim !== undefined) this.skim = (frames, hearer) => skim.call(reader, frames, hearer)
  }

  read(event: WireEvent): WireMeaning {
    const data = this.#calls.settled(event.data)
    if (data === event.data) return this.#reader.read(event)
    const meaning = this.#reader.read({ ...event, data })
    return meaning.out === 'same' ? { ...meaning, out: frame(event.event, data) } : meaning
  }

  end(usage: Parameters<WireReader['end']>[0]): string {
    return this.#reader.end(usage)
  }
}

function frame(event: string, data: string): string {
  return `${event === '' ? '' : `event: ${event}\n`}data: ${data}\n\n`
}
