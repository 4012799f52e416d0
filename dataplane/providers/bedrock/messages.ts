/** Converts OpenAI's messages to the turns of a Bedrock conversation. */

import { argumentsOf } from '../../json/steps/arguments.ts'
import { type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import type { ChatMessage, Thought } from '../../wire/inner-form.ts'
import { unsupported } from '../../wire/unsupported.ts'
import { toolId } from '../anthropic/messages.ts'
import type { ThoughtsOf } from '../anthropic/thoughts.ts'
import { instructionsIn, markedBy, type Turn, turnsOf } from '../anthropic/turns.ts'
import { facts } from './facts.ts'
import { marked, type Piece, piecesOf } from './parts.ts'

/** A text without meaning, for places where the API requires one. */
const FILLER: Piece = [{ text: '.' }]

/** The texts before the conversation, and one more if given. */
export function systemOf(messages: readonly ChatMessage[], more: string | undefined): Json[] {
  const blocks = instructionsIn(messages).flatMap((message, index) =>
    markedBy(message, piecesOf(message.content, index), { marked }).flat(),
  )
  return more === undefined ? blocks : [...blocks, { text: more }]
}

/** Turns alternate and begin with the user's. In a turn, tool results come first. */
export function conversationOf(messages: readonly ChatMessage[], thoughtsOf: ThoughtsOf): Json[] {
  const turns = turnsOf<Piece>(messages, {
    provider: facts.name,
    user: ({ content }, index) => piecesOf(content, index),
    assistant(message, index) {
      const calls = listOf(message.tool_calls).map((call) => [toolUse(recordOf(call), index)])
      const thoughts = thoughtsOf(message).map((thought) => [reasoningOf(thought)])
      return [...thoughts, ...piecesOf(message.content, index), ...calls]
    },
    tool: toolResult,
    marked,
  })
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', content: [FILLER] })
  return turns.map((turn, index) => finished(turn, index === turns.length - 1))
}

/** The names of tools in the conversation; the request must declare them. */
export function calledNames(messages: readonly ChatMessage[]): string[] {
  const calls = messages.flatMap(({ tool_calls: calls }) => listOf(calls))
  const names = calls.flatMap((call) => textOf(recordOf(recordOf(call).function).name) ?? [])
  return [...new Set(names)]
}

function finished({ role, content }: Turn<Piece>, last: boolean): Json {
  if (role === 'user') return { role, content: userBlocks(content) }
  const blocks = content.flat()
  const end = blocks.at(-1)
  if (!last || typeof end?.text !== 'string') return { role, content: blocks }
  // The API refuses white space at the end of a text that the model is to continue.
  return { role, content: [...blocks.slice(0, -1), { text: end.text.trimEnd() }] }
}

function userBlocks(content: readonly Piece[]): Json[] {
  const isResult = ([block]: Piece) => block !== undefined && 'toolResult' in block
  const blocks = [...content.filter(isResult), ...content.filter((piece) => !isResult(piece))]
  const found = (name: string) => blocks.some(([block]) => block !== undefined && name in block)
  // The API accepts a document only beside a text.
  if (found('document') && !found('text')) blocks.push(FILLER)
  return blocks.flat()
}

function reasoningOf(thought: Thought): Json {
  if (thought.type === 'redacted_thinking')
    return { reasoningContent: { redactedContent: thought.data } }
  const { thinking: text, signature } = thought
  return { reasoningContent: { reasoningText: { text, signature } } }
}

function toolUse(call: Json, index: number): Json {
  const called = recordOf(call.function)
  if (textOf(called.name) === undefined) {
    throw unsupported(facts.name, `messages.${index}.tool_calls`, 'send only calls of functions')
  }
  const input = argumentsOf(called.arguments)
  return { toolUse: { toolUseId: toolId(call.id), name: called.name, input } }
}

function toolResult(message: ChatMessage, index: number): Piece {
  const pieces = piecesOf(message.content, index)
  const marks = pieces.flatMap((piece) => piece.slice(1)).slice(0, 1)
  const blocks = pieces.flatMap((piece) => piece.slice(0, 1))
  // A result needs a block, even if the tool printed nothing.
  const content = blocks.length > 0 ? blocks : FILLER
  return [{ toolResult: { toolUseId: toolId(message.tool_call_id), content } }, ...marks]
}
