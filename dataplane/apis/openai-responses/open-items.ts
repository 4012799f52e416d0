/** Growing items of a stream, with the events that open, extend and close each kind. */
import type { Json } from '../../json/values.ts'
import type { Picture } from '../../wire/inner-form.ts'
import {
  callItem,
  callItemId,
  customInput,
  messageItem,
  pictureItem,
  reasoningItem,
  refusalPart,
  type Status,
  textPart,
} from './output.ts'
import type { ClientTool } from './request/tools.ts'
import { mintedId, type Session } from './session.ts'

/** The events that end the item, and the item in its final form. */
interface Closed {
  readonly text: string
  readonly whole: Json
}

export interface OpenItem {
  readonly kind: 'reasoning' | 'output_text' | 'refusal' | 'call'
  /** Its index in the output. */
  readonly place: number
  added(): string
  grow(piece: string): string
  close(status: Status): Closed
}

abstract class Growing {
  readonly place: number
  protected text = ''
  protected readonly session: Session

  constructor(session: Session, place: number) {
    this.session = session
    this.place = place
  }

  protected event(type: string, id: string, members: Json): string {
    return this.session.event(`response.${type}`, {
      item_id: id,
      output_index: this.place,
      ...members,
    })
  }

  protected open(item: Json): string {
    return this.session.event('response.output_item.added', { output_index: this.place, item })
  }
}

/** Thinking in the form of a summary, because some clients read no other form. */
export class ReasoningItem extends Growing implements OpenItem {
  readonly kind = 'reasoning'
  readonly #id = mintedId('rs')

  added(): string {
    const part = { type: 'summary_text', text: '' }
    return (
      this.open(reasoningItem(this.#id, undefined)) +
      this.#event('reasoning_summary_part.added', { part })
    )
  }

  grow(delta: string): string {
    this.text += delta
    return this.#event('reasoning_summary_text.delta', { delta })
  }

  close(): Closed {
    const { text } = this
    const part = { type: 'summary_text', text }
    return {
      text:
        this.#event('reasoning_summary_text.done', { text }) +
        this.#event('reasoning_summary_part.done', { part }),
      whole: reasoningItem(this.#id, text),
    }
  }

  #event(type: string, members: Json): string {
    return this.event(type, this.#id, { summary_index: 0, ...members })
  }
}

/** Text for the user: an answer, or a refusal. */
export class SaidItem extends Growing implements OpenItem {
  readonly kind: 'output_text' | 'refusal'
  readonly #id = mintedId('msg')

  constructor(session: Session, place: number, kind: OpenItem['kind']) {
    super(session, place)
    this.kind = kind === 'refusal' ? 'refusal' : 'output_text'
  }

  added(): string {
    return (
      this.open(messageItem(this.#id, [], 'in_progress')) +
      this.#event('content_part.added', { part: this.#part() })
    )
  }

  grow(delta: string): string {
    this.text += delta
    return this.#event(`${this.kind}.delta`, { delta, ...this.#logprobs() })
  }

  close(status: Status): Closed {
    const { text, kind } = this
    const said = kind === 'refusal' ? { refusal: text } : { text, ...this.#logprobs() }
    const part = this.#part()
    return {
      text: this.#event(`${kind}.done`, said) + this.#event('content_part.done', { part }),
      whole: messageItem(this.#id, [part], status),
    }
  }

  #part(): Json {
    return this.kind === 'refusal' ? refusalPart(this.text) : textPart(this.text)
  }

  #logprobs(): Json {
    return this.kind === 'refusal' ? {} : { logprobs: [] }
  }

  #event(type: string, members: Json): string {
    return this.event(type, this.#id, { content_index: 0, ...members })
  }
}

/** A picture, which arrives complete. */
export class PictureItem extends Growing {
  readonly #id = mintedId('ig')
  readonly #picture: Picture

  constructor(session: Session, place: number, picture: Picture) {
    super(session, place)
    this.#picture = picture
  }

  added(): string {
    const begun = this.open(pictureItem(this.#id, undefined))
    return begun + this.event('image_generation_call.in_progress', this.#id, {})
  }

  close(): Closed {
    const text = this.event('image_generation_call.completed', this.#id, {})
    return { text, whole: pictureItem(this.#id, this.#picture) }
  }
}

/** A call of a function or a custom tool. Its text is readable only when it is complete. */
export class CallItem extends Growing implements OpenItem {
  readonly kind = 'call'
  readonly #id: string
  readonly #tool: ClientTool
  readonly #call: { readonly id: string; readonly name: string }

  constructor(
    session: Session,
    place: number,
    call: { readonly id: string; readonly name: string },
  ) {
    super(session, place)
    this.#tool = session.tools.clientTool(call.name)
    this.#id = callItemId(this.#tool)
    this.#call = call.id === '' ? { ...call, id: mintedId('call') } : call
  }

  added(): string {
    return this.open(this.#item('', 'in_progress'))
  }

  grow(delta: string): string {
    this.text += delta
    if (delta === '' || this.#tool.kind === 'custom') return ''
    return this.event('function_call_arguments.delta', this.#id, { delta })
  }

  close(status: Status): Closed {
    const whole = this.#item(this.text, status)
    if (this.#tool.kind === 'custom') {
      const input = customInput(this.text)
      return {
        text:
          this.event('custom_tool_call_input.delta', this.#id, { delta: input }) +
          this.event('custom_tool_call_input.done', this.#id, { input }),
        whole,
      }
    }
    const members = { name: this.#tool.name, arguments: this.text }
    return { text: this.event('function_call_arguments.done', this.#id, members), whole }
  }

  #item(text: string, status: Status): Json {
    return callItem({ id: this.#id, call: { ...this.#call, arguments: text } }, this.#tool, status)
  }
}
