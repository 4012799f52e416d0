/** Converts OpenAI's messages to the turns of Gemini's conversation. */

import { argumentsOf } from '../../../json/steps/arguments.ts'
import { type Json, listOf, recordOf, textOf } from '../../../json/values.ts'
import type { ChatMessage } from '../../../wire/inner-form.ts'
import { unsupported } from '../../../wire/unsupported.ts'
import { CONTINUE } from '../../extras/continue.ts'
import { picturesOf } from '../../pictures.ts'
import { facts } from '../facts.ts'
import type { SignaturesOf } from '../signatures.ts'
import { isInstruction, textIn } from './instructions.ts'
import { partsOf } from './parts.ts'

const ROLES = 'system, developer, user, assistant and tool'

interface Turn {
  readonly role: 'user' | 'model'
  readonly parts: Placed[]
}

/** A part of a turn. Tool results come first, in the order of their calls. */
interface Placed {
  readonly part: Json
  readonly place: number
}

/** The calls so far: their names by id, and their order. */
interface Calls {
  readonly byId: Map<unknown, { readonly name: string; readonly place: number }>
  count: number
}

export function contentsOf(messages: readonly ChatMessage[], signatures: SignaturesOf): Json[] {
  const turns: Turn[] = []
  const calls: Calls = { byId: new Map(), count: 0 }
  for (const [index, message] of messages.entries()) {
    if (isInstruction(message)) continue
    const turn = turnOf(message, index, calls, signatures)
    const last = turns.at(-1)
    if (last?.role === turn.role) for (const part of turn.parts) last.parts.push(part)
    else if (turn.parts.length > 0) turns.push(turn)
  }
  // The last turn must be the user's.
  if (turns.at(-1)?.role !== 'user')
    turns.push({ role: 'user', parts: behind([{ text: lastText(messages) }]) })
  return turns.map(({ role, parts }) => ({ role, parts: inOrder(parts) }))
}

function inOrder(parts: readonly Placed[]): Json[] {
  return parts.toSorted((one, other) => one.place - other.place).map(({ part }) => part)
}

function lastText(messages: readonly ChatMessage[]): string {
  const last = messages.at(-1)
  return last?.role === 'assistant' ? CONTINUE : textIn(last?.content) || '.'
}

function turnOf(message: ChatMessage, index: number, calls: Calls, signatures: SignaturesOf): Turn {
  if (message.role === 'user')
    return { role: 'user', parts: behind(partsOf(message.content, index)) }
  if (message.role === 'tool') {
    const shown = listOf(message.content).filter((part) => !isText(recordOf(part)))
    const pictures = behind(partsOf(shown, index))
    return { role: 'user', parts: [resultOf(message, index, calls), ...pictures] }
  }
  if (message.role === 'assistant') {
    const called = callsOf(message, index, calls, signatures)
    const said = [...partsOf(message.content, index), ...paintedOf(message, index, signatures)]
    return { role: 'model', parts: behind([...said, ...called]) }
  }
  throw unsupported(facts.name, `messages.${index}.role`, `send one of the roles ${ROLES}`)
}

/** A result contains only texts. */
function isText({ type }: Json): boolean {
  return type === 'text' || type === 'refusal'
}

function behind(parts: readonly Json[]): Placed[] {
  return parts.map((part) => ({ part, place: Number.MAX_SAFE_INTEGER }))
}

/** The pictures of the model. */
function paintedOf(message: ChatMessage, index: number, signatures: SignaturesOf): Json[] {
  return picturesOf(message).map((image) => {
    const [part] = partsOf([image], index)
    const signature = signatures.picture(image, String(recordOf(image.image_url).url))
    return { ...part, ...(signature && { thoughtSignature: signature }) }
  })
}

function callsOf(
  message: ChatMessage,
  index: number,
  calls: Calls,
  signatures: SignaturesOf,
): Json[] {
  return listOf(message.tool_calls)
    .map(recordOf)
    .map((call, position) => {
      const called = recordOf(call.function)
      const name = textOf(called.name)
      if (name === undefined) {
        throw unsupported(
          facts.name,
          `messages.${index}.tool_calls`,
          'send only calls of functions',
        )
      }
      calls.byId.set(call.id, { name, place: calls.count++ })
      const signature = signatures.call(call, position)
      return {
        functionCall: { name, args: argumentsOf(called.arguments) },
        ...(signature && { thoughtSignature: signature }),
      }
    })
}

/** The API matches a result to its call by function name and order. */
function resultOf(message: ChatMessage, index: number, calls: Calls): Placed {
  const call = calls.byId.get(message.tool_call_id)
  const name = call?.name ?? textOf(message.name)
  if (name === undefined) {
    throw unsupported(
      facts.name,
      `messages.${index}.tool_call_id`,
      'send the id of an earlier tool call',
    )
  }
  // JSON is sent as a text too: the API would treat `$ref` in it as a reference, and its numbers as doubles.
  const response = { result: textIn(message.content) }
  return { part: { functionResponse: { name, response } }, place: call?.place ?? 0 }
}
