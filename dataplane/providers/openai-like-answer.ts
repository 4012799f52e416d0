/** Reads a whole answer of OpenAI's own wire. */
import type { ChatRequest } from '../call.ts'
import type { Answer, Failure } from './contract.ts'
import { isError } from './failure-bodies.ts'
import { classifyError, malformed } from './failures.ts'
import { isRecord, listOf, parsed, recordOf, textOf } from './json-values.ts'
import type { OpenAiLike } from './openai-like.ts'
import { repairAnswer } from './openai-like-repair.ts'
import { readUsage } from './openai-like-usage.ts'

export function readAnswer(body: Buffer, request: ChatRequest, options: OpenAiLike): Answer {
  const answer = parsed(body.toString())
  if (!isRecord(answer))
    return failed(malformed('The upstream answered with something else than a JSON object.'))
  if (isError(answer)) return failed(classifyError(options.recognisers, answer))
  const choices = listOf(answer.choices)
  if (choices.length === 0) return failed(malformed('The upstream answered without choices.'))
  const failing = choices.map((choice) => failingReason(choice, options)).find(Boolean)
  if (failing) return failed(failing)
  const usage = readUsage(answer.usage, answer)
  if (options.repair === undefined) return { kind: 'answer', body, usage }
  const repaired = repairAnswer(answer, body, request, options.repair)
  return { kind: 'answer', body: JSON.stringify(repaired), usage }
}

/** A generation that the runtime gave up ends like a failure, though it is reported like an end. */
export function failingReason(choice: unknown, { failing }: OpenAiLike): Failure | undefined {
  const reason = textOf(recordOf(choice).finish_reason)
  if (reason === undefined || !failing?.includes(reason)) return undefined
  return { class: 'server', message: `The upstream gave up the generation (${reason}).` }
}

function failed(failure: Failure): Answer {
  return { kind: 'failure', failure }
}
