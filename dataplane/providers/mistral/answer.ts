/** Reads Mistral's whole answers. */

import { isRecord, type Json, listOf, parsedBytes, recordOf, textOf } from '../../json/values.ts'
import type { ChatAnswer, ChatChoice } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded } from '../../wire/provider.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { NAMELESS } from '../answers/faults.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { readUsage } from '../openai-like/members.ts'
import { callOf, deltasOf, failureIn, finishOf } from './said.ts'

export function readCompletion(
  body: Buffer,
  request: Asked,
  recognisers: readonly Recogniser[],
  origin: AnswerOrigin,
): Decoded<ChatAnswer> {
  const answer = parsedBytes(body)
  if (isRecord(answer) && isError(answer)) {
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  }
  const choices = isRecord(answer) ? listOf(answer.choices).map(recordOf) : []
  if (!isRecord(answer) || choices.length === 0) {
    return { kind: 'failure', failure: malformed('The upstream answered without choices.') }
  }
  const failure = failureIn(choices)
  if (failure !== undefined) return { kind: 'failure', failure }
  const id = textOf(answer.id) ?? origin.id
  const ids = new CallIds(request)
  const read = choices.map((choice, position) => choiceOf(choice, `${id}/${position}`, ids))
  if (read.some(({ calls }) => calls.some(({ name }) => name === '')))
    return { kind: 'failure', failure: NAMELESS }
  const model = textOf(answer.model) ?? origin.model
  const usage = readUsage(answer.usage)
  return { kind: 'answer', answer: { id, model, choices: read }, usage }
}

function choiceOf(choice: Json, seed: string, ids: CallIds): ChatChoice {
  const message = recordOf(choice.message)
  const said = deltasOf(message.content)
  const reasoning = said.map((piece) => piece.reasoning).join('')
  const calls = listOf(message.tool_calls).map((call, position) =>
    callOf(recordOf(call), `${seed}/${position}`, ids),
  )
  return {
    text: said.map(({ text }) => text).join(''),
    ...(reasoning !== '' && { reasoning }),
    calls,
    finish: finishOf(choice.finish_reason, calls.length > 0),
  }
}
