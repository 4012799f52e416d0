/** Reads Cohere's whole answers. */

import { isRecord, type Json, listOf, parsedBytes, recordOf, textOf } from '../../json/values.ts'
import type { ChatAnswer, ChatChoice, ChatRequest, ToolCall } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded } from '../../wire/provider.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { deltaOf, failureOf, finishOf, logprobsOf, readUsage } from './said.ts'

export function readAnswer(
  body: Buffer,
  { oneCall, ...asked }: Pick<ChatRequest, 'oneCall'> & Asked,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<ChatAnswer> {
  const answer = parsedBytes(body)
  if (isRecord(answer) && (isError(answer) || typeof answer.message === 'string')) {
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  }
  if (!isRecord(answer) || !isRecord(answer.message)) {
    return { kind: 'failure', failure: malformed('The upstream answered without a message.') }
  }
  const failure = failureOf(answer.finish_reason, answer.error)
  if (failure !== undefined) return { kind: 'failure', failure }
  const id = textOf(answer.id) ?? origin.id
  const ids = new CallIds(asked)
  const calls = listOf(answer.message.tool_calls).map((call, at) =>
    callOf(recordOf(call), id, at, ids),
  )
  const choice = choiceOf(answer, answer.message, oneCall ? calls.slice(0, 1) : calls)
  const read = { id, model: origin.model, choices: [choice] }
  return { kind: 'answer', answer: read, usage: readUsage(answer.usage) }
}

function choiceOf(answer: Json, message: Json, calls: readonly ToolCall[]): ChatChoice {
  const { content, tool_plan: plan } = message
  const said = listOf(content).map(deltaOf)
  const reasoning = [...said.map((piece) => piece?.reasoning), textOf(plan)].join('')
  const logprobs = logprobsOf(answer.logprobs)
  return {
    text: textOf(content) ?? said.map((piece) => piece?.text).join(''),
    ...(reasoning !== '' && { reasoning }),
    calls,
    finish: finishOf(answer.finish_reason, calls.length > 0),
    ...(logprobs && { logprobs }),
  }
}

/** Also the start of a call in a stream, whose arguments may still be empty. */
export function callOf(call: Json, answerId: string, position: number, ids: CallIds): ToolCall {
  const { name, arguments: input } = recordOf(call.function)
  return {
    id: ids.of(textOf(call.id) ?? `call_${answerId}_${position}`, String(position)),
    name: textOf(name) ?? '',
    arguments: textOf(input) ?? '{}',
  }
}
