/** The turns of a conversation for Anthropic's API and Bedrock's, with each API's form of blocks. */
import type { ChatMessage } from '../../wire/inner-form.ts'
import { unsupported } from '../../wire/unsupported.ts'
import { markOf } from '../marks.ts'
import { shownByUser } from '../pictures.ts'

export interface Turn<Block> {
  readonly role: 'user' | 'assistant'
  readonly content: readonly Block[]
}

/** The form of an API's blocks. */
export interface Blocks<Block> {
  readonly provider: string
  user(message: ChatMessage, index: number): readonly Block[]
  assistant(message: ChatMessage, index: number): readonly Block[]
  tool(message: ChatMessage, index: number): Block
  /** The block with a cache mark in Anthropic's form. */
  marked(block: Block, mark: Mark): Block
}

type Mark = NonNullable<ReturnType<typeof markOf>>

const ROLES = 'system, developer, user, assistant and tool'
const SYSTEM = new Set(['system', 'developer'])

/** The messages before the conversation. */
export function instructionsIn(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.slice(0, conversationStart(messages))
}

/** Turns alternate; messages without content are omitted. */
export function turnsOf<Block>(
  given: readonly ChatMessage[],
  blocks: Blocks<Block>,
): Turn<Block>[] {
  const messages = shownByUser(given)
  const start = conversationStart(messages)
  const turns: { readonly role: Turn<Block>['role']; readonly content: Block[] }[] = []
  for (const [index, message] of messages.entries()) {
    if (index < start) continue
    const { role, content } = turnOf(message, index, blocks)
    const last = turns.at(-1)
    if (content.length === 0) continue
    // Thousands of messages of one role may follow each other.
    if (last?.role === role) for (const block of content) last.content.push(block)
    else turns.push({ role, content: [...content] })
  }
  return turns
}

function conversationStart(messages: readonly ChatMessage[]): number {
  const start = messages.findIndex(({ role }) => !SYSTEM.has(role))
  // If a request has only instructions, the last one is the text to answer.
  return start === -1 ? messages.length - 1 : start
}

function turnOf<Block>(message: ChatMessage, index: number, blocks: Blocks<Block>): Turn<Block> {
  const { role, content } = plainTurnOf(message, index, blocks)
  return { role, content: markedBy(message, content, blocks) }
}

/** A mark of the message applies to its last block. */
export function markedBy<Block>(
  message: ChatMessage,
  content: readonly Block[],
  { marked }: Pick<Blocks<Block>, 'marked'>,
): readonly Block[] {
  const [mark, last] = [markOf(message), content.at(-1)]
  return mark === undefined || last === undefined ? content : content.with(-1, marked(last, mark))
}

function plainTurnOf<Block>(
  message: ChatMessage,
  index: number,
  blocks: Blocks<Block>,
): Turn<Block> {
  const { role } = message
  if (role === 'assistant') return { role, content: blocks.assistant(message, index) }
  if (role === 'tool') return { role: 'user', content: [blocks.tool(message, index)] }
  if (role === 'user' || SYSTEM.has(role)) {
    return { role: 'user', content: blocks.user(message, index) }
  }
  throw unsupported(blocks.provider, `messages.${index}.role`, `send one of the roles ${ROLES}`)
}
