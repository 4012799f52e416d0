/** Writes a stream of messages: blocks in a row, of which one is open at a time. */
import type { KeptText } from '../../base/kept-text.ts'
import type { StreamWriter } from '../../wire/dialect.ts'
import type {
  ChatDelta,
  ChatEvent,
  ChatRequest,
  FinishReason,
  Sent,
  Thought,
  ToolCallDelta,
  Usage,
} from '../../wire/inner-form.ts'
import { blockOf, messageOf, mintedId, stopReason, usageOf } from './answer.ts'

type Json = Readonly<Record<string, unknown>>
type Kind = 'text' | 'thinking'

/** A call whose pieces wait until the block before it has ended. */
interface Waiting {
  readonly id: string
  readonly name: string
  arguments: string
}

const EMPTY_BLOCKS: Readonly<Record<Kind, Json>> = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
}

export class MessageWriter implements StreamWriter<ChatEvent> {
  readonly #request: Sent<ChatRequest>
  readonly #kept: KeptText
  /** The index of the open block, or of the next one. */
  #block = 0
  /** The kind of the open block, or the index of its call. */
  #open: Kind | number | undefined
  readonly #waiting = new Map<number, Waiting>()
  #finish: FinishReason = 'stop'
  #isRefused = false
  #deltas = 0

  constructor(request: Sent<ChatRequest>, kept: KeptText) {
    this.#request = request
    this.#kept = kept
  }

  write(event: ChatEvent): string {
    if (event.kind === 'start') return this.#start()
    if (event.kind === 'delta') return this.#delta(event.delta)
    if (event.kind === 'thought') return this.#thought(event.thought)
    this.#finish = event.finish
    return this.#closeAll()
  }

  /** Behind the usage: clients read the counts of a whole stream from the event before the last. */
  end(usage: Usage | undefined): string {
    const delta = { stop_reason: stopReason(this.#finish, this.#isRefused), stop_sequence: null }
    const counted = usageOf(usage, this.#request, this.#deltas)
    return (
      this.#closeAll() +
      frame('message_delta', { delta, usage: counted }) +
      frame('message_stop', {})
    )
  }

  #start(): string {
    const message = {
      ...messageOf(this.#request),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: usageOf(undefined, this.#request),
    }
    return frame('message_start', { message })
  }

  #delta({ text, reasoning, refusal, call }: ChatDelta): string {
    this.#deltas++
    if (call !== undefined) return this.#call(call)
    if (reasoning) return this.#words('thinking', { type: 'thinking_delta', thinking: reasoning })
    if (refusal) this.#isRefused = true
    const said = text ?? refusal
    // An empty text would open a block beside a call.
    return said ? this.#words('text', { type: 'text_delta', text: said }) : ''
  }

  /** Ends the block whose pieces have gone out, or is one by itself. */
  #thought(thought: Thought): string {
    if (thought.type === 'redacted_thinking')
      return this.#closeAll() + this.#openBlock(blockOf(thought)) + this.#closeBlock()
    const { signature } = thought
    return this.#words('thinking', { type: 'signature_delta', signature }) + this.#close()
  }

  #words(kind: Kind, delta: Json): string {
    const opened = this.#open === kind ? '' : this.#closeAll() + this.#openBlock(EMPTY_BLOCKS[kind])
    this.#open = kind
    return opened + this.#piece(delta)
  }

  #call({ index, id, name, arguments: part }: ToolCallDelta): string {
    const waiting = this.#waiting.get(index)
    if (waiting !== undefined) {
      this.#kept.keep(part)
      waiting.arguments += part
      return ''
    }
    if (this.#open === index) return this.#input(part)
    const call = { id: id || mintedId('toolu'), name: name ?? '', arguments: part }
    // One that may still grow stays open, so the next one waits.
    if (typeof this.#open === 'number') {
      this.#kept.keepEntry(call.id, call.name, part)
      this.#waiting.set(index, call)
      return ''
    }
    return this.#close() + this.#openCall(index, call)
  }

  #openCall(index: number, { id, name, arguments: text }: Waiting): string {
    const opened = this.#openBlock({ type: 'tool_use', id, name, input: {} })
    this.#open = index
    return opened + this.#input(text)
  }

  #input(part: string): string {
    return part === '' ? '' : this.#piece({ type: 'input_json_delta', partial_json: part })
  }

  #openBlock(block: Json): string {
    return frame('content_block_start', { index: this.#block, content_block: block })
  }

  #piece(delta: Json): string {
    return frame('content_block_delta', { index: this.#block, delta })
  }

  #close(): string {
    if (this.#open === undefined) return ''
    this.#open = undefined
    return this.#closeBlock()
  }

  #closeBlock(): string {
    return frame('content_block_stop', { index: this.#block++ })
  }

  #closeAll(): string {
    let text = this.#close()
    for (const [index, call] of this.#waiting) text += this.#openCall(index, call) + this.#close()
    this.#waiting.clear()
    return text
  }
}

function frame(type: string, members: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}
