/** Reads a whole response into the inner form. */
import { isRecord, type Json, listOf, parsedBytes, recordOf, textOf } from '../../json/values.ts'
import type { ChatAnswer, ChatChoice, FinishReason } from '../../wire/inner-form.ts'
import type { Decoded } from '../../wire/provider.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { usageOf } from '../native/responses-answer.ts'

export const CLIENTS: Recogniser = { class: 'client', code: 'invalid_prompt' }

/** Whether a whole answer is a response, not a chat completion. */
export function isResponse(body: Buffer): boolean {
  const answer = parsedBytes(body)
  return isRecord(answer) && (answer.object === 'response' || Array.isArray(answer.output))
}

export function decodeResponse(
  body: Buffer,
  asked: Asked,
  recognisers: readonly Recogniser[],
): Decoded<ChatAnswer> {
  const answer = recordOf(parsedBytes(body))
  if (answer.error || answer.status === 'failed')
    return { kind: 'failure', failure: classifyError([CLIENTS, ...recognisers], answer) }
  if (!Array.isArray(answer.output))
    return { kind: 'failure', failure: malformed('The upstream answered without output.') }
  return {
    kind: 'answer',
    answer: {
      id: textOf(answer.id) ?? 'unknown',
      model: textOf(answer.model) ?? '',
      choices: [choiceOf(answer, new CallIds(asked))],
    },
    usage: usageOf(answer.usage),
  }
}

function choiceOf(answer: Json, ids: CallIds): ChatChoice {
  const items = listOf(answer.output).map(recordOf)
  const partsOf = (type: string) =>
    items
      .filter((item) => item.type === type)
      .flatMap(({ content }) => listOf(content).map(recordOf))
  const said = partsOf('message')
  const refusal = said.flatMap((part) => textOf(part.refusal) ?? []).join('')
  const summaries = items.flatMap(({ summary }) => listOf(summary).map(recordOf))
  const thoughts = [...summaries, ...partsOf('reasoning')].flatMap(({ text }) => textOf(text) ?? [])
  const calls = items.filter(({ type }) => type === 'function_call')
  const logprobs = said.flatMap((part) => listOf(part.logprobs))
  return {
    text: said.flatMap(({ text }) => textOf(text) ?? []).join(''),
    ...(thoughts.length > 0 && { reasoning: thoughts.join('\n') }),
    ...(refusal !== '' && { refusal }),
    calls: calls.map(({ call_id: id, name, arguments: text }, place) => ({
      id: ids.of(textOf(id), `${textOf(answer.id)}/${place}`),
      name: textOf(name) ?? '',
      arguments: textOf(text) ?? '{}',
    })),
    finish: finishOf(answer, calls.length > 0),
    ...(logprobs.length > 0 && { logprobs: { content: logprobs, refusal: null } }),
  }
}

export function finishOf({ status, incomplete_details }: Json, hasCalls: boolean): FinishReason {
  if (status === 'incomplete') {
    const { reason } = recordOf(incomplete_details)
    return reason === 'content_filter' ? 'content_filter' : 'length'
  }
  return hasCalls ? 'tool_calls' : 'stop'
}
