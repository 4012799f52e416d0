/** Writes a stream of messages: a sequence of blocks, of which one is open at a time. */

import type { KeptText } from '../../base/kept-text.ts'
import type { Json } from '../../json/values.ts'
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
import { blockOf, messageOf, mintedId, stopOf, usageOf } from './answer.ts'

type BlockKind = 'text' | 'thinking'

/** Arrives while a call is open, and waits until that call ends. */
type HeldCall = WaitingCall | Thought | { readonly kind: BlockKind; text: string }

interface WaitingCall {
  readonly index: number
  readonly id: string
  readonly name: string
  arguments: string
}

const EMPTY_BLOCKS: Readonly<Record<BlockKind, Json>> = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
}

const PIECES: Readonly<Record<BlockKind, (text: string) => Json>> = {
  text: (text) => ({ type: 'text_delta', text }),
  thinking: (thinking) => ({ type: 'thinking_delta', thinking }),
}

export class MessageWriter implements StreamWriter<ChatEvent> {
  readonly #request: Sent<ChatRequest>
  readonly #kept: KeptText
  /** The index of the open block, or of the next one. */
  #block = 0
  /** The kind of the open block, or the index of its call. */
  #open: BlockKind | number | undefined
  #waiting: HeldCall[] = []
  #finish: FinishReason = 'stop'
  #stop: string | undefined
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
    this.#stop = event.stop
    return this.#closeAll()
  }

  /** Waits for the usage, because clients read the counts of the whole stream from the last event but one. */
  end(usage: Usage | undefined): string {
    const delta = stopOf({ finish: this.#finish, stop: this.#stop }, this.#isRefused)
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
    if (reasoning) return this.#said('thinking', reasoning)
    if (refusal) this.#isRefused = true
    const said = text ?? refusal
    // An empty text would open an unnecessary block.
    return said ? this.#said('text', said) : ''
  }

  #said(kind: BlockKind, text: string): string {
    if (typeof this.#open !== 'number') return this.#words(kind, PIECES[kind](text))
    const last = this.#waiting.at(-1)
    if (last !== undefined && 'kind' in last && last.kind === kind) {
      this.#kept.keep(text)
      last.text += text
    } else this.#wait({ kind, text }, text)
    return ''
  }

  /** Ends the block with the pieces so far, or is a separate block. */
  #thought(thought: Thought): string {
    if (typeof this.#open === 'number') {
      this.#wait(thought, ...Object.values(thought))
      return ''
    }
    if (thought.type === 'redacted_thinking')
      return this.#closeAll() + this.#openBlock(blockOf(thought)) + this.#closeBlock()
    const { signature } = thought
    return this.#words('thinking', { type: 'signature_delta', signature }) + this.#close()
  }

  #words(kind: BlockKind, delta: Json): string {
    const opened = this.#open === kind ? '' : this.#closeAll() + this.#openBlock(EMPTY_BLOCKS[kind])
    this.#open = kind
    return opened + this.#piece(delta)
  }

  #call({ index, id, name, arguments: part }: ToolCallDelta): string {
    const waiting = this.#waiting.find(
      (one): one is WaitingCall => 'index' in one && one.index === index,
    )
    if (waiting !== undefined) {
      this.#kept.keep(part)
      waiting.arguments += part
      return ''
    }
    if (this.#open === index) return this.#input(part)
    const call = { index, id: id || mintedId('toolu'), name: name ?? '', arguments: part }
    // A call that may still grow stays open, so the next call waits.
    if (typeof this.#open === 'number') {
      this.#wait(call, call.id, call.name, part)
      return ''
    }
    return this.#close() + this.#openCall(call)
  }

  #wait(one: HeldCall, ...texts: readonly string[]): void {
    this.#kept.keepEntry(...texts)
    this.#waiting.push(one)
  }

  #openCall({ index, id, name, arguments: text }: WaitingCall): string {
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
    const waiting = this.#waiting
    this.#waiting = []
    for (const one of waiting) {
      if ('index' in one) text += this.#close() + this.#openCall(one) + this.#close()
      else if ('kind' in one) text += this.#said(one.kind, one.text)
      else text += this.#thought(one)
    }
    return text + this.#close()
  }
}

function frame(type: string, members: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
}
