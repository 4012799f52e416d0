/** The content of Mistral's messages and deltas: texts, thinking in chunks, tool calls, and finish reasons. */

import { isRecord, type Json, listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatDelta, FinishReason, ToolCall } from '../../wire/inner-form.ts'
import type { Failure } from '../../wire/provider.ts'
import type { CallIds } from '../answers/call-ids.ts'
import { derivedId } from './ids.ts'

const FINISH: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
}

/** Content in order: a text, or chunks without references. */
export function deltasOf(content: unknown): ChatDelta[] {
  const text = textOf(content)
  if (text !== undefined) return [{ text }]
  return listOf(content).flatMap((raw) => {
    const chunk = recordOf(raw)
    if (chunk.type === 'thinking') return thoughtsOf(chunk.thinking)
    const said = chunk.type === 'text' ? textOf(chunk.text) : undefined
    return said === undefined ? [] : [{ text: said }]
  })
}

function thoughtsOf(thinking: unknown): ChatDelta[] {
  const thoughts = typeof thinking === 'string' ? [thinking] : listOf(thinking).map(textIn)
  const reasoning = thoughts.join('')
  return reasoning === '' ? [] : [{ reasoning }]
}

function textIn(chunk: unknown): string | undefined {
  return textOf(recordOf(chunk).text)
}

/** The id of a call; undefined if it is missing or the word "null". */
function ownId(call: Json): string | undefined {
  return call.id === 'null' ? undefined : textOf(call.id)
}

/** `seed` creates the id of a call without one. */
export function callOf(call: Json, seed: string, ids: CallIds): ToolCall {
  const { name, arguments: text = '{}' } = pieceOf(call)
  return { id: ids.of(ownId(call) ?? derivedId(seed), seed), name: name ?? '', arguments: text }
}

/** A call, or a piece of one; the arguments may be an object. */
export function pieceOf(call: Json) {
  const { name, arguments: input } = recordOf(call.function)
  const text = isRecord(input) ? JSON.stringify(input) : textOf(input)
  return { id: ownId(call), name: textOf(name), arguments: text }
}

export function finishOf(reason: unknown, called: boolean): FinishReason {
  const known = rowOf(FINISH, reason) ?? 'stop'
  return known === 'stop' && called ? 'tool_calls' : known
}

/** An aborted generation is reported as an end, but the gateway treats it as a failure. */
export function failureIn(choices: readonly Json[]): Failure | undefined {
  if (!choices.some((choice) => choice.finish_reason === 'error')) return undefined
  return { class: 'server', message: 'The upstream gave up the generation (error).' }
}
