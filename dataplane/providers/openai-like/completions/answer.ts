/** Reads a whole legacy completion of OpenAI's own wire. */

import { isRecord, type Json, listOf, parsedBytes, recordOf, textOf } from '../../../json/values.ts'
import type {
  CompletionsAnswer,
  CompletionsChoice,
  CompletionsRequest,
  Sent,
  Usage,
} from '../../../wire/inner-form.ts'
import type { Decoded, Failure, Passed } from '../../../wire/provider.ts'
import { isError } from '../../failures/bodies.ts'
import { classifyError, malformed, unlikeAsked } from '../../failures/classify.ts'
import { factsOf, failingReason } from '../answer.ts'
import { finishOf } from '../inner.ts'
import { readUsage } from '../members.ts'
import type { CompletionsOptions, OpenAiLike } from '../options.ts'
import { openLogprobs } from './logprobs.ts'

/** The options for reading answers. */
export type CompletionsReading = Pick<OpenAiLike, 'failing' | 'recognisers' | 'repeatsUsage'> &
  Pick<CompletionsOptions, 'chatLogprobs' | 'emptyReasons' | 'usagePerChoice'>

interface CheckedAnswer {
  readonly kind: 'answer'
  readonly json: Json
  readonly choices: readonly Json[]
  readonly usage: Usage | undefined
  /** Whether the reported usage covers all choices of the answer. */
  readonly isCounted: boolean
  /** Whether the answer must be changed, so that its bytes do not pass. */
  readonly isChanged: boolean
}

/** Characters for about one token, if nothing better is known. */
const CHARACTERS_PER_TOKEN = 4

export function readCompletion(
  body: Buffer,
  request: Sent<CompletionsRequest>,
  options: CompletionsReading,
): Passed {
  const answer = readAnswer(body, request, options)
  if (answer.kind === 'failure') return answer
  const { json, usage, isCounted, isChanged } = answer
  const facts = factsOf(json)
  if (isCounted || usage === undefined)
    return { kind: 'body', body: isChanged ? JSON.stringify(json) : body, usage, facts }
  const { promptTokens, completionTokens } = usage
  const counts = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  }
  return { kind: 'body', body: JSON.stringify({ ...json, usage: counts }), usage, facts }
}

export function decodeCompletion(
  body: Buffer,
  request: Sent<CompletionsRequest>,
  options: CompletionsReading,
): Decoded<CompletionsAnswer> {
  const read = readAnswer(body, request, options)
  if (read.kind === 'failure') return read
  const { json, usage } = read
  const choices = read.choices.map(choiceOf)
  const answer = { id: textOf(json.id) ?? 'unknown', model: textOf(json.model) ?? '', choices }
  return { kind: 'answer', answer, usage }
}

function choiceOf({ text, finish_reason: reason, logprobs }: Json): CompletionsChoice {
  return {
    text: textOf(text) ?? '',
    finish: finishOf(reason),
    ...(logprobs != null && { logprobs }),
  }
}

function readAnswer(
  body: Buffer,
  request: Sent<CompletionsRequest>,
  options: CompletionsReading,
): CheckedAnswer | { readonly kind: 'failure'; readonly failure: Failure } {
  const read = parsedBytes(body)
  const logprobs = openLogprobs(request, options)
  const json = isRecord(read) && logprobs !== undefined ? logprobs.answer(read) : read
  if (!isRecord(json)) return failed(malformed("The upstream's answer is not a JSON object."))
  if (isError(json)) return failed(classifyError(options.recognisers, json))
  const choices = listOf(json.choices).map(recordOf)
  if (choices.length !== request.choices) {
    const message = `The upstream answered with ${choices.length} choices where ${request.choices} were asked for.`
    return failed(unlikeAsked(message))
  }
  if (choices.some(({ text }) => typeof text !== 'string'))
    return failed(malformed("The upstream's choices are not texts."))
  const failing = choices.map((choice) => failingReason(choice, options)).find(Boolean)
  if (failing) return failed(failing)
  const usage = readUsage(json.usage, json)
  const isCounted = !options.usagePerChoice || choices.length === 1
  const answer = { kind: 'answer', json, choices, isCounted, isChanged: json !== read } as const
  if (isCounted || usage === undefined) return { ...answer, usage }
  return { ...answer, usage: ofAll(usage, choices, request) }
}

/** The usage of all choices, from that of the first. */
function ofAll(
  first: Usage,
  choices: readonly Json[],
  { inputTokens }: Sent<CompletionsRequest>,
): Usage {
  const lengths = choices.map(({ text }) => String(text).length)
  const characters = lengths.reduce((sum, length) => sum + length, 0)
  const perToken =
    first.completionTokens > 0 && lengths[0]
      ? lengths[0] / first.completionTokens
      : CHARACTERS_PER_TOKEN
  return {
    ...first,
    promptTokens: Math.max(first.promptTokens, inputTokens.sum),
    completionTokens: Math.max(first.completionTokens, Math.ceil(characters / perToken)),
    estimated: true,
  }
}

function failed(failure: Failure): { readonly kind: 'failure'; readonly failure: Failure } {
  return { kind: 'failure', failure }
}
