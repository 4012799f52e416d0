/**
 * Signed and unreadable thinking, which the API requires before the tool calls that followed it. It travels to the
 * client and back in the message, so any replica has it. If a client drops it, the gateway remembers it for a while.
 */
import type { KeptText } from '../../base/kept-text.ts'
import { type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatMessage, ChatRequest, Sent, Thought, ToolCall } from '../../wire/inner-form.ts'
import { Blocks } from '../answers/blocks.ts'
import { Remembered } from '../remembered.ts'

/** The thinking to send before a message of the history. */
export type ThoughtsOf = (message: ChatMessage) => readonly Thought[]

/** The part of a request that names the tenant whose thinking is remembered. */
export type Asker = Pick<Sent<ChatRequest>, 'tenant'>

export const NO_THOUGHTS: ThoughtsOf = () => []

/** Thinking by the id of the first call of its answer. */
const remembered = new Remembered<readonly Thought[]>((thoughts) => JSON.stringify(thoughts).length)

/** Remembers the thinking of an answer with tool calls. */
export function keepThoughts(
  thoughts: readonly Thought[],
  [call]: readonly Pick<ToolCall, 'id'>[],
  { tenant }: Asker,
) {
  if (thoughts.length > 0 && call !== undefined && call.id !== '')
    remembered.set(tenant, call.id, thoughts)
}

/** For a history for this model: other models refuse thinking that this one has signed. */
export function thoughtsFor(model: string, { isUnsealed, tenant }: ChatRequest): ThoughtsOf {
  if (isUnsealed) return NO_THOUGHTS
  return (message) => {
    const id = textOf(recordOf(listOf(message.tool_calls)[0]).id) ?? ''
    const kept = remembered.get(tenant, id) ?? []
    const maker = kept[0]?.model
    const handedBack = listOf(message.thinking_blocks).flatMap((block) =>
      thoughtIn(recordOf(block)),
    )
    const thoughts = handedBack.length > 0 ? handedBack : kept
    return thoughts.filter((one) => (one.model ?? maker ?? model) === model)
  }
}

/** The thought in a block; none if it has no signature, because another provider made it. */
export function thoughtIn(block: Json, vouching = textOf(block.model)): Thought[] {
  const model = vouching === undefined ? {} : { model: vouching }
  const { type } = block
  const [signature, data] = [textOf(block.signature), textOf(block.data)]
  if (type === 'thinking' && signature)
    return [{ type, thinking: textOf(block.thinking) ?? '', signature, ...model }]
  return type === 'redacted_thinking' && data ? [{ type, data, ...model }] : []
}

const PARTS = ['thinking', 'signature', 'data']
const KINDS = ['thinking', 'redacted_thinking']

/** Assembles the thinking of a stream, and remembers it when the first call begins. */
export class ThoughtReader {
  readonly #model: string
  readonly #asker: Asker
  readonly #kept: KeptText
  readonly #open: Blocks<Record<string, string>>
  /** Thoughts before the first call. */
  readonly #ended: Thought[] = []
  #hasCalled = false

  constructor(model: string, asker: Asker, kept: KeptText) {
    this.#model = model
    this.#asker = asker
    this.#kept = kept
    this.#open = new Blocks(kept)
  }

  /**
   * Adds a piece to the members of a block. Returns false for an index that no block can have. Throws AnswerTooLarge.
   */
  add(index: unknown, piece: Json): boolean {
    let block = this.#open.get(index)
    for (const name of PARTS) {
      const more = textOf(piece[name])
      if (more === undefined) continue
      if (block === undefined) {
        block = {}
        if (!this.#open.begin(index, block)) return false
      }
      this.#kept.keep(more)
      block[name] = (block[name] ?? '') + more
    }
    return true
  }

  /** The thought that ends with the block; undefined if a block of another kind ends. */
  end(index: unknown): Thought[] {
    const block = this.#open.get(index)
    if (block === undefined) return []
    this.#open.end(index)
    const thoughts = KINDS.flatMap((type) => thoughtIn({ ...block, type }, this.#model))
    if (!this.#hasCalled) this.#ended.push(...thoughts)
    return thoughts
  }

  /** The first call of the answer. */
  called(id: string): void {
    this.#hasCalled = true
    keepThoughts(this.#ended, [{ id }], this.#asker)
  }
}
