/** The messages of a conversation as a runtime takes them, and the parts of them that it does not see. */
import { type Json, listOf, recordOf } from '../../../json/values.ts'
import type { ChatMessage, ChatRequest } from '../../../wire/inner-form.ts'
import type { ThinkingMember } from '../../../wire/models/capabilities.ts'
import type { ProviderSettings } from '../../../wire/provider.ts'
import { shownByUser } from '../../pictures.ts'

/** Where models and their servers differ in the messages that they take. */
export interface Takes {
  /** Whether messages may have the role `developer`; else it becomes `system`. */
  readonly developerRole?: boolean
  /** The member in which it wants the thinking of an earlier answer back; absent: it refuses or ignores it. */
  readonly reasoning?: ThinkingMember | undefined
  /** Whether it takes cache marks, or hands them on to a vendor that does. */
  readonly marks?: boolean
  /** Whether results of tools may hold pictures; else they stand behind the results, as the user's. */
  readonly picturesInResults?: boolean
  /** Whether messages of the model may hold the pictures that it painted; else the user shows them. */
  readonly ownPictures?: boolean
}

/** The facts of the model win over those of the runtime; one that has refused thinking in a history gets none. */
export function takesOf(
  { isUnsealed }: ChatRequest,
  { capabilities }: ProviderSettings,
  { takes = {} }: { readonly takes?: Takes | undefined },
): Takes {
  const { thinkingMember: member = takes.reasoning ?? 'none', marks = takes.marks } = capabilities
  const reasoning = isUnsealed || member === 'none' ? undefined : member
  const { ownPictures = takes.ownPictures } = capabilities
  const isSame = reasoning === takes.reasoning && marks === takes.marks
  if (isSame && ownPictures === takes.ownPictures) return takes
  return {
    ...takes,
    reasoning,
    ...(marks !== undefined && { marks }),
    ...(ownPictures !== undefined && { ownPictures }),
  }
}

export interface Taken {
  /** The same list where nothing has to change. */
  readonly messages: readonly ChatMessage[]
  /** As clients know them. */
  readonly lost: readonly string[]
}

const NONE: readonly string[] = []
const THINKING = ['reasoning_content', 'reasoning', 'reasoning_details', 'thinking_blocks'] as const

export function takenBy(given: readonly ChatMessage[], takes: Takes): Taken {
  const messages = takes.ownPictures ? given : shownByUser(given)
  if (messages.every((message) => isTaken(message, takes))) return { messages, lost: NONE }
  const lost = new Set<string>()
  const taken: ChatMessage[] = []
  let isSame = true
  /** Those of the results so far, which a user may send alone. */
  let pictures: Json[] = []
  const show = () => {
    if (pictures.length === 0) return
    taken.push({ role: 'user', content: pictures })
    pictures = []
  }
  for (const message of messages) {
    if (message.role !== 'tool') show()
    const shown = takes.picturesInResults || message.role !== 'tool' ? [] : picturesIn(message)
    const one = shown.length > 0 ? wordsOf(message) : messageFor(message, takes, lost)
    pictures.push(...shown)
    if (one !== message) isSame = false
    taken.push(one)
  }
  show()
  return { messages: isSame ? messages : taken, lost: [...lost] }
}

/** Whether the runtime takes the message as it is, as it does most; else some of it may change. */
function isTaken(message: ChatMessage, takes: Takes): boolean {
  switch (message.role) {
    case 'developer':
      return takes.developerRole === true
    case 'tool':
      return takes.picturesInResults === true || !Array.isArray(message.content)
    case 'assistant':
      return THINKING.every((name) => message[name] === undefined)
    default:
      return true
  }
}

function picturesIn({ content }: ChatMessage): Json[] {
  return listOf(content)
    .map(recordOf)
    .filter((part) => part.type !== 'text' && part.type !== 'refusal')
}

function wordsOf(message: ChatMessage): ChatMessage {
  const texts = listOf(message.content)
    .map(recordOf)
    .filter((part) => part.type === 'text')
  return { ...message, content: texts.length > 0 ? texts : '' }
}

function messageFor(message: ChatMessage, takes: Takes, lost: Set<string>): ChatMessage {
  if (message.role === 'developer' && !takes.developerRole) return { ...message, role: 'system' }
  return message.role === 'assistant' ? thinkingFor(message, takes, lost) : message
}

/** Unsigned thinking goes back under the runtime's own name; no other model takes what one has signed. */
function thinkingFor(message: ChatMessage, { reasoning }: Takes, lost: Set<string>): ChatMessage {
  const there = THINKING.filter((name) => message[name] !== undefined)
  if (there.every((name) => name === reasoning && message[name] !== '')) return message
  const { reasoning_content: content, reasoning: other, reasoning_details, ...rest } = message
  const { thinking_blocks: _signed, ...plain } = rest
  const thought = [content, other].find((one) => typeof one === 'string' && one !== '')
  const details = reasoning_details === undefined ? {} : { reasoning_details }
  if (reasoning !== undefined)
    return { ...plain, ...(thought !== undefined && { [reasoning]: thought }), ...details }
  if (content !== undefined || thought !== undefined) lost.add('reasoning_content')
  return plain
}
