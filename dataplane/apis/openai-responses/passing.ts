/**
 * Answers of an upstream that has the Responses API. They pass with the client's id of the response, and their
 * numbers continue those of the gateway's own events.
 */
import type { KeptText } from '../../base/kept-text.ts'
import { editMembers } from '../../json/edit.ts'
import { scanMembers } from '../../json/members.ts'
import {
  isRecord,
  type Json,
  parsed,
  parsedBytes,
  parsedExactly,
  recordOf,
  textOf,
} from '../../json/values.ts'
import type { Passing, StreamPasser } from '../../wire/dialect.ts'
import type { ChatRequest, Sent } from '../../wire/inner-form.ts'
import type { WireEvent } from '../../wire/provider.ts'
import { type Session, sessionOf } from './session.ts'

/** Events at the start of a response. */
const BEGINNING: readonly unknown[] = [
  'response.created',
  'response.queued',
  'response.in_progress',
]
/** Events of a text, whose index is always the first of its item. */
const OF_A_PART =
  /^response\.(content_part|output_text|refusal|reasoning_text)\.(added|delta|done|annotation\.added)$/

export const passing: Passing<Sent<ChatRequest>> = {
  answer(body, request) {
    // A compacted conversation is not a response.
    if (request.below !== undefined) return body
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const session = sessionOf(request)
    // Most answers pass without being parsed.
    const isKept = session.state !== undefined
    const shown = isKept ? session.shown(recordOf(parsedBytes(bytes))) : { id: session.id }
    const changes = Object.entries(shown).map(
      ([name, value]) => [name, JSON.stringify(value)] as const,
    )
    return editMembers(bytes, scanMembers(bytes), new Map(changes))
  },
  open: (request, kept) => new ResponsePasser(sessionOf(request), kept),
}

class ResponsePasser implements StreamPasser {
  readonly #session: Session
  readonly #kept: KeptText
  /** Events before the first content, which commits the answer to this upstream. */
  #held: WireEvent[] = []
  #isOpen = false
  /** Items in order of their start, for servers that omit indices. */
  readonly #places = new Map<string | undefined, number>()
  #items = 0
  /** For the output in a refusal. */
  readonly #done: Json[] = []

  constructor(session: Session, kept: KeptText) {
    this.#session = session
    this.#kept = kept
  }

  write(event: WireEvent, isContent: boolean): 'same' | string {
    if (!isContent) {
      this.#held.push(event)
      return ''
    }
    if (this.#isOpen) return this.#event(event, true)
    this.#isOpen = true
    const all = [...this.#held, event]
    this.#held = []
    // A server may omit the first events, and a heartbeat may have sent them.
    const begun = all.some(isBeginning) ? '' : this.#session.begun()
    const rest = this.#session.hasBegun ? all.filter((one) => !isBeginning(one)) : all
    return begun + rest.map((one) => this.#event(one, false)).join('')
  }

  #event({ event, data }: WireEvent, maybeSame: boolean): 'same' | string {
    const members = parsedExactly(data)
    if (!isRecord(members)) return 'same'
    const type = textOf(members.type) ?? event
    const number = this.#session.nextNumber()
    const placed = this.#placed(type, members, data)
    const isSame =
      maybeSame && placed === members && event === type && members.sequence_number === number
    return isSame ? 'same' : frame(type, { ...placed, type, sequence_number: number })
  }

  /** Adds the client's id of the response, and the indices that some servers omit. */
  #placed(type: string, members: Json, data: string): Json {
    const { response, item, item_id: id } = members
    if (isRecord(response))
      return { ...members, response: { ...response, ...this.#session.shown(response) } }
    const name = textOf(isRecord(item) ? item.id : id)
    if (type === 'response.output_item.added') this.#added(name)
    if (type === 'response.output_item.done' && isRecord(item)) this.#ended(item, data)
    if (members.output_index !== undefined) return members
    const place = this.#places.get(name)
    if (place === undefined) return members
    const part = OF_A_PART.test(type) && members.content_index === undefined
    return { ...members, output_index: place, ...(part && { content_index: 0 }) }
  }

  #added(name: string | undefined): void {
    this.#kept.keepEntry(name ?? '')
    this.#places.set(name, this.#items++)
  }

  #ended(item: Json, data: string): void {
    this.#kept.keepEntry(data)
    this.#done.push(item)
    this.#session.output = this.#done
  }
}

function isBeginning({ event, data }: WireEvent): boolean {
  const members = parsed(data)
  return BEGINNING.includes(isRecord(members) ? (members.type ?? event) : event)
}

function frame(type: string, members: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify(members)}\n\n`
}
