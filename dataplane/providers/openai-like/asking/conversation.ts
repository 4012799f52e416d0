/** The messages of a conversation for a runtime, and the parts that the runtime does not get. */
import { type Json, listOf, recordOf } from '../../../json/values.ts'
import type { ChatMessage, ChatRequest } from '../../../wire/inner-form.ts'
import type { ThinkingMember } from '../../../wire/models/capabilities.ts'
import type { ProviderSettings } from '../../../wire/provider.ts'
import { shownByUser } from '../../pictures.ts'
import { ARGUMENTS, areObjects, withObjects } from './arguments.ts'

/** Differences between models and servers in the messages that they accept. */
export interface Takes {
  /** Whether messages may have the role `developer`; otherwise it becomes `system`. */
  readonly developerRole?: boolean
  /** The member for the thinking of an earlier answer; absent: the runtime refuses or ignores it. */
  readonly reasoning?: ThinkingMember | undefined
  /** Whether the runtime accepts cache marks, or passes them to a vendor that does. */
  readonly marks?: boolean
  /** Whether tool results may contain pictures; otherwise the pictures follow the results as the user's. */
  readonly picturesInResults?: boolean
  /** Whether messages of the model may contain its pictures; otherwise the user's messages contain them. */
  readonly ownPictures?: boolean
  /** Whether the arguments of calls must be JSON objects. */
  readonly objectArguments?: boolean
}

/** Facts of the model override those of the runtime. A model that refused thinking in a history gets none. */
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
  /** The same list if nothing changes. */
  readonly messages: readonly ChatMessage[]
  /** The omitted parts, by the names that clients know. */
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
  /** Pictures of the results so far, which only a user may send. */
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

/** Whether the runtime accepts the message unchanged, as it does most; otherwise the gateway may change it. */
function isTaken(message: ChatMessage, takes: Takes): boolean {
  switch (message.role) {
    case 'developer':
      return takes.developerRole === true
    case 'tool':
      return takes.picturesInResults === true || !Array.isArray(message.content)
    case 'assistant':
      return (
        THINKING.every((name) => message[name] === undefined) &&
        (takes.objectArguments !== true || areObjects(message))
      )
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
  if (message.role !== 'assistant') return message
  const thinking = thinkingFor(message, takes, lost)
  if (!takes.objectArguments || areObjects(message)) return thinking
  lost.add(ARGUMENTS)
  return withObjects(thinking)
}

/** Unsigned thinking goes back under the runtime's own name; no other model accepts signed thinking. */
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
