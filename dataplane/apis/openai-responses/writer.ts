/** Writes a stream of events: items that open, grow and close, then the whole response. */

import type { KeptText } from '../../base/kept-text.ts'
import type { Json } from '../../json/values.ts'
import type { StreamWriter } from '../../wire/dialect.ts'
import type {
  ChatDelta,
  ChatEvent,
  ChatRequest,
  FinishReason,
  Picture,
  Sent,
  Usage,
} from '../../wire/inner-form.ts'
import { estimated } from './estimate.ts'
import { CallItem, type OpenItem, PictureItem, ReasoningItem, SaidItem } from './open-items.ts'
import { endOf, type Status, usageOf } from './output.ts'
import { type Session, sessionOf } from './session.ts'

type Words = Exclude<OpenItem['kind'], 'call'>

interface Waiting {
  readonly kind: Words
  text: string
}

export class ResponseWriter implements StreamWriter<ChatEvent> {
  readonly #request: Sent<ChatRequest>
  /** The last event repeats the whole output. */
  readonly #kept: KeptText
  readonly #session: Session
  readonly #output: Json[] = []
  /** Several calls may grow at once; of all other items only one is open. */
  readonly #calls = new Map<number, CallItem>()
  #open: ReasoningItem | SaidItem | undefined
  /** Texts and pictures that arrived while calls were open. They wait until the calls end. */
  #waiting: (Waiting | Picture)[] = []
  #finish: FinishReason = 'stop'
  #characters = 0

  constructor(request: Sent<ChatRequest>, kept: KeptText) {
    this.#request = request
    this.#kept = kept
    this.#session = sessionOf(request)
  }

  write(event: ChatEvent): string {
    // The start waits for the first content, because the attempt may still fail and another one may start.
    if (event.kind === 'start') return ''
    // This wire has no member for it; the provider remembers it by its calls.
    if (event.kind === 'thought') return ''
    if (event.kind === 'delta') return this.#session.begun() + this.#delta(event.delta)
    this.#finish = event.finish
    return this.#session.begun() + this.#closeAll(endOf(event.finish).status)
  }

  /** Clients read the usage from the last event, and act on it at once. */
  end(usage: Usage | undefined): string {
    const { status, details } = endOf(this.#finish)
    const closed = this.#session.begun() + this.#closeAll(status)
    const counted = usageOf(usage ?? estimated(this.#request, this.#characters))
    const members = { usage: counted, incomplete_details: details }
    const response = this.#session.response(status, members)
    return closed + this.#session.event(`response.${status}`, { response })
  }

  #delta({ text, reasoning, refusal, picture, call }: ChatDelta): string {
    if (picture !== undefined) {
      this.#kept.keepEntry(picture.url)
      return this.#picture(picture)
    }
    const piece = text ?? reasoning ?? refusal ?? call?.arguments ?? ''
    this.#kept.keep(piece)
    this.#characters += piece.length
    if (call !== undefined) return this.#call(call)
    if (reasoning) return this.#words(reasoning, 'reasoning')
    if (refusal) return this.#words(refusal, 'refusal')
    return text ? this.#words(text, 'output_text') : ''
  }

  #words(piece: string, kind: Words): string {
    if (this.#calls.size > 0) {
      const last = this.#waiting.at(-1)
      if (last !== undefined && 'kind' in last && last.kind === kind) last.text += piece
      else {
        this.#kept.keepEntry()
        this.#waiting.push({ kind, text: piece })
      }
      return ''
    }
    let before = ''
    if (this.#open?.kind !== kind) {
      before = this.#closeWords('completed')
      this.#kept.keepEntry()
      const Item = kind === 'reasoning' ? ReasoningItem : SaidItem
      this.#open = new Item(this.#session, this.#place(), kind)
      before += this.#open.added()
    }
    return before + (this.#open?.grow(piece) ?? '')
  }

  #picture(picture: Picture): string {
    if (this.#calls.size > 0) {
      this.#waiting.push(picture)
      return ''
    }
    const before = this.#closeWords('completed')
    const item = new PictureItem(this.#session, this.#place(), picture)
    return before + item.added() + this.#done(item, 'completed')
  }

  #call({ index, id, name, arguments: part }: NonNullable<ChatDelta['call']>): string {
    const known = this.#calls.get(index)
    if (known !== undefined) return known.grow(part)
    const before = this.#closeWords('completed')
    this.#kept.keepEntry(id ?? '', name ?? '')
    const item = new CallItem(this.#session, this.#place(), { id: id ?? '', name: name ?? '' })
    this.#calls.set(index, item)
    return before + item.added() + item.grow(part)
  }

  /** The index of the next item in the output. */
  #place(): number {
    return this.#output.length + this.#calls.size
  }

  #closeAll(status: Status): string {
    let text = this.#closeWords(status)
    for (const item of this.#calls.values()) text += this.#done(item, status)
    this.#calls.clear()
    const waiting = this.#waiting
    this.#waiting = []
    for (const one of waiting)
      text += 'kind' in one ? this.#words(one.text, one.kind) : this.#picture(one)
    return text + this.#closeWords(status)
  }

  #closeWords(status: Status): string {
    const open = this.#open
    this.#open = undefined
    return open === undefined ? '' : this.#done(open, status)
  }

  #done(item: Pick<OpenItem, 'place' | 'close'>, status: Status): string {
    const { text, whole } = item.close(status)
    this.#output.push(whole)
    this.#session.output = this.#output
    return (
      text +
      this.#session.event('response.output_item.done', { output_index: item.place, item: whole })
    )
  }
}
