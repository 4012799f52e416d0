/** Reads a whole answer of OpenAI's own wire. */
import type { ChatRequest } from '../../inner-form.ts'
import type { Span } from '../../json/found.ts'
import { scanMembers } from '../../json/members.ts'
import { isRecord, listOf, parsed, recordOf, textOf } from '../../json/values.ts'
import type { Failure, Passed } from '../contract.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed } from '../failures/classify.ts'
import { OTHER_NAME, readUsage, withReasonings } from './members.ts'
import type { OpenAiLike } from './options.ts'
import { repairAnswer } from './repair.ts'

const OPEN_BRACE = 0x7b

export function readAnswer(body: Buffer, request: ChatRequest, options: OpenAiLike): Passed {
  return readPlainAnswer(body, options) ?? readAnyAnswer(body, request, options)
}

/**
 * The usual answer of a dialect that passes bytes: only its usage is parsed, the rest is found by
 * its members. undefined: it is not the usual one, or it is none at all.
 */
function readPlainAnswer(
  body: Buffer,
  { repair, failing, renamesReasoning }: OpenAiLike,
): Passed | undefined {
  if (repair !== undefined || failing?.some((reason) => body.includes(`"${reason}"`))) {
    return undefined
  }
  if (renamesReasoning && body.includes(OTHER_NAME)) return undefined
  const spans = spansOf(body)
  const choices = spans?.get('choices')
  const usage = spans?.get('usage')
  if (spans === undefined || choices === undefined || usage === undefined) return undefined
  if (spans.has('error') || body[choices.start + 1] !== OPEN_BRACE) return undefined
  const timings = spans.get('timings')
  const extras = timings === undefined ? {} : { timings: memberValue(body, timings) }
  return { kind: 'body', body, usage: readUsage(memberValue(body, usage), extras) }
}

function memberValue(body: Buffer, { start, end }: Span): unknown {
  return parsed(body.toString('utf8', start, end))
}

function spansOf(body: Buffer): ReadonlyMap<string, Span> | undefined {
  try {
    return scanMembers(body)
  } catch {
    return undefined
  }
}

function readAnyAnswer(body: Buffer, request: ChatRequest, options: OpenAiLike): Passed {
  const answer = parsed(body.toString())
  if (!isRecord(answer))
    return failed(malformed('The upstream answered with something else than a JSON object.'))
  if (isError(answer)) return failed(classifyError(options.recognisers, answer))
  const choices = listOf(answer.choices)
  if (choices.length === 0) return failed(malformed('The upstream answered without choices.'))
  const failing = choices.map((choice) => failingReason(choice, options)).find(Boolean)
  if (failing) return failed(failing)
  const usage = readUsage(answer.usage, answer)
  if (options.repair === undefined) {
    const renamed = options.renamesReasoning ? withReasonings(answer, 'message') : answer
    return { kind: 'body', body: renamed === answer ? body : JSON.stringify(renamed), usage }
  }
  const repaired = repairAnswer(answer, body, request, options.repair)
  return { kind: 'body', body: JSON.stringify(repaired), usage }
}

/** A generation that the runtime gave up ends like a failure, though it is reported like an end. */
export function failingReason(choice: unknown, { failing }: OpenAiLike): Failure | undefined {
  const reason = textOf(recordOf(choice).finish_reason)
  if (reason === undefined || !failing?.includes(reason)) return undefined
  return { class: 'server', message: `The upstream gave up the generation (${reason}).` }
}

function failed(failure: Failure): Passed {
  return { kind: 'failure', failure }
}
