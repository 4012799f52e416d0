/** Reads a whole answer of OpenAI's own wire. */

import { isRecord, listOf, parsedBytes, recordOf, textOf } from '../../json/values.ts'
import { AnswerFacts } from '../../wire/answer-facts.ts'
import type { ChatRequest, Sent, Usage } from '../../wire/inner-form.ts'
import type { Failure, Passed } from '../../wire/provider.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed } from '../failures/classify.ts'
import { callsIn, withCallIds } from './call-ids.ts'
import { readUsage, withReasonings, withUsageDetails } from './members.ts'
import type { OpenAiLike } from './options.ts'
import { repairAnswer } from './repair.ts'

/** A whole answer after repairs; `same` if it is unchanged, so that its bytes may pass. */
type WholeRead =
  | {
      readonly kind: 'answer'
      readonly answer: Readonly<Record<string, unknown>>
      readonly same: boolean
      readonly usage: Usage | undefined
    }
  | { readonly kind: 'failure'; readonly failure: Failure; readonly usage?: Usage }

/** For clients of the same wire. */
export function passAnswer(body: Buffer, request: Sent<ChatRequest>, options: OpenAiLike): Passed {
  const read = readAnswer(body, request, options)
  if (read.kind === 'failure') return read
  const { answer, same, usage } = read
  const facts = factsOf(answer)
  return { kind: 'body', body: same ? body : JSON.stringify(answer), usage, facts }
}

/** Reads the facts from a conversation or a legacy completion. */
export function factsOf({ id, model, choices }: Readonly<Record<string, unknown>>): AnswerFacts {
  const facts = new AnswerFacts()
  facts.begin(id, model)
  for (const [choice, one] of listOf(choices).entries())
    facts.end(choice, recordOf(one).finish_reason)
  return facts
}

export function readAnswer(
  body: Buffer,
  request: Sent<ChatRequest>,
  options: OpenAiLike,
): WholeRead {
  const answer = parsedBytes(body, { holdsValues: hasOpenArguments })
  if (!isRecord(answer)) return failed(malformed("The upstream's answer is not a JSON object."))
  // The vendor bills an answer that cannot be used, too.
  const usage = readUsage(answer.usage, answer)
  if (isError(answer)) return failed(classifyError(options.recognisers, answer), usage)
  const choices = listOf(answer.choices)
  if (choices.length === 0)
    return failed(malformed('The upstream answered without choices.'), usage)
  const failing = choices.map((choice) => failingReason(choice, options)).find(Boolean)
  if (failing) return failed(failing, usage)
  if (options.repair === undefined) {
    const renamed = withCallIds(withReasonings(withUsageDetails(answer), 'message'), request)
    return { kind: 'answer', answer: renamed, same: renamed === answer, usage }
  }
  const repaired = repairAnswer(answer, body, request, options.repair)
  return { kind: 'answer', answer: repaired, same: false, usage }
}

/** Arguments are a text in this wire, but some runtimes send an object. */
function hasOpenArguments(answer: unknown): boolean {
  for (const choice of listOf(recordOf(answer).choices))
    for (const call of callsIn(choice, 'message'))
      if (isRecord(recordOf(call.function).arguments)) return true
  return false
}

/** An aborted generation is reported as an end, but the gateway treats it as a failure. */
export function failingReason(
  choice: unknown,
  { failing }: Pick<OpenAiLike, 'failing'>,
): Failure | undefined {
  const reason = textOf(recordOf(choice).finish_reason)
  if (reason === undefined || !failing?.includes(reason)) return undefined
  return { class: 'server', message: `The upstream gave up the generation (${reason}).` }
}

function failed(failure: Failure, usage?: Usage): WholeRead {
  return { kind: 'failure', failure, ...(usage !== undefined && { usage }) }
}
