/**
 * Answers of an upstream that has responses itself: they pass, with the id that the client knows and with numbers that
 * go on from those of the gateway's own events.
 */
import type { ChatRequest, Sent } from '../../inner-form.ts'
import { editMembers } from '../../json/edit.ts'
import { scanMembers } from '../../json/members.ts'
import { isRecord, listOf, parsed, recordOf, textOf } from '../../json/values.ts'
import type { WireEvent } from '../../providers/contract.ts'
import type { Passing, StreamPasser } from '../dialect.ts'
import { type Session, sessionOf } from './session.ts'

type Json = Readonly<Record<string, unknown>>

/** Events with which a response begins. */
const BEGINNING: readonly unknown[] = [
  'response.created',
  'response.queued',
  'response.in_progress',
]
/** Events of a text, which has no other place than the first of its item. */
const OF_A_PART =
  /^response\.(content_part|output_text|refusal|reasoning_text)\.(added|delta|done|annotation\.added)$/

export const passing: Passing<Sent<ChatRequest>> = {
  answer(body, request) {
    // A conversation that was made compact is no response.
    if (request.below !== undefined) return body
    const bytes = Buffer.from(body)
    const session = sessionOf(request)
    // Most answers are passed unread.
    const isKept = session.state !== undefined
    const shown = isKept ? session.shown(recordOf(parsed(bytes.toString()))) : { id: session.id }
    const changes = Object.entries(shown).map(
      ([name, value]) => [name, JSON.stringify(value)] as const,
    )
    return editMembers(bytes, scanMembers(bytes), new Map(changes))
  },
  open: (request) => new ResponsePasser(sessionOf(request)),
}

class ResponsePasser implements StreamPasser {
  readonly #session: Session
  /** Those before the first content, which commits the answer to this upstream. */
  #held: WireEvent[] = []
  #isOpen = false
  /** Items in the order in which they began, for servers that leave their places out. */
  readonly #items: unknown[] = []
  readonly #done: unknown[] = []

  constructor(session: Session) {
    this.#session = session
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
    // A server may leave its beginning out, and a heartbeat may have brought one.
    const begun = all.some(isBeginning) ? '' : this.#session.begun()
    const rest = this.#session.hasBegun ? all.filter((one) => !isBeginning(one)) : all
    return begun + rest.map((one) => this.#event(one, false)).join('')
  }

  #event({ event, data }: WireEvent, maybeSame: boolean): 'same' | string {
    const members = parsed(data)
    if (!isRecord(members)) return 'same'
    const type = textOf(members.type) ?? event
    const number = this.#session.nextNumber()
    const placed = this.#placed(type, members)
    const isSame =
      maybeSame && placed === members && event === type && members.sequence_number === number
    return isSame ? 'same' : frame(type, { ...placed, type, sequence_number: number })
  }

  /** With the client's id of the response, and with the places that some servers leave out. */
  #placed(type: string, members: Json): Json {
    const { response, item, item_id: id } = members
    if (isRecord(response))
      return { ...members, response: { ...response, ...this.#session.shown(response) } }
    if (type === 'response.output_item.added') this.#items.push(isRecord(item) ? item.id : id)
    if (type === 'response.output_item.done') {
      this.#done.push(item)
      this.#session.output = listOf(this.#done) as readonly Json[]
    }
    if (members.output_index !== undefined) return members
    const place = this.#items.lastIndexOf(isRecord(item) ? item.id : id)
    if (place === -1) return members
    const part = OF_A_PART.test(type) && members.content_index === undefined
    return { ...members, output_index: place, ...(part && { content_index: 0 }) }
  }
}

function isBeginning({ event, data }: WireEvent): boolean {
  const members = parsed(data)
  return BEGINNING.includes(isRecord(members) ? (members.type ?? event) : event)
}

function frame(type: string, members: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify(members)}\n\n`
}
