/** Reads the body of a legacy completion; the inner form has its members. */
import { checkFlag, checkModel, invalid } from '../../body/request.ts'
import { COMPLETIONS_MEMBERS } from '../../guardrails/forms/texts.ts'
import { isRecord } from '../../json/values.ts'
import { EXTRA_MEMBERS, extrasOf } from '../../providers/extras/asked.ts'
import { inputsIn, inputTokens, inputTokensMax } from '../../tokens/count.ts'
import type { CompletionsBody, CompletionsRequest } from '../../wire/inner-form.ts'
import type { BodyFacts, Reading } from '../../wire/reading.ts'
import { checkInputs, isWhole } from '../openai/inputs.ts'
import { limited, saysNoLimit, unlimitedOf } from '../openai/no-limit.ts'

/** A number may have a megabyte of digits, so these members are read at any length. */
const NUMBERS = ['best_of', 'echo', 'logprobs', 'max_tokens', 'n', 'stream', 'temperature', 'top_p']

export const OPENAI_COMPLETIONS = 'openai-completions'

const TOKENS_MAX = 100_000_000
const CHOICES_MAX = 128

export const completionsReading: Reading<CompletionsRequest> = {
  members: new Set([...COMPLETIONS_MEMBERS, ...EXTRA_MEMBERS, ...NUMBERS]),
  request: requestOf,
  body: (tree) => limited(tree as CompletionsBody, 0),
}

function requestOf(tree: unknown, facts: BodyFacts): CompletionsRequest {
  // The next line checks the body.
  const asked = tree as CompletionsBody
  checkShape(asked)
  const body = limited(asked, 0)
  const prompt = body.prompt ?? ''
  const tokens = inputTokens(prompt, facts.sparse)
  const prompts = inputsIn(prompt)
  const choices = body.n ?? 1
  return {
    operation: 'completions',
    wire: OPENAI_COMPLETIONS,
    bytes: facts.bytes,
    body,
    found: facts.found,
    spans: facts.spans,
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
    isUsageRepeated: body.stream_options?.continuous_usage_stats === true,
    maxTokens: body.max_tokens ?? undefined,
    prompts,
    choices: choices * prompts,
    generated: Math.max(choices, body.best_of ?? 1) * prompts,
    inputTokens: tokens,
    promptTokensMax: inputTokensMax(prompt, facts.bytes, tokens),
    createdSeconds: facts.createdSeconds,
    sparse: facts.sparse,
    extras: extrasOf(body),
    ...unlimitedOf(asked, body, 0),
  }
}

/** Throws ERR_GW_INVALID_REQUEST with the member that is at fault. */
function checkShape(body: CompletionsBody): void {
  const { model, prompt, stream, stream_options: options, n, best_of: bestOf } = body
  checkModel(model)
  if (prompt != null) checkInputs(prompt, 'prompt', true)
  checkFlag(stream, 'stream')
  if (options != null && !isRecord(options))
    throw invalid('"stream_options" must be an object.', 'stream_options')
  // The request asks only for the prompt's probabilities, so the model generates nothing.
  if (!saysNoLimit(body.max_tokens, 0)) checkCount(body, 'max_tokens', 0, TOKENS_MAX)
  checkCount(body, 'n', 1, CHOICES_MAX)
  checkCount(body, 'best_of', 1, CHOICES_MAX)
  if (bestOf == null) return
  if (bestOf < (n ?? 1)) throw invalid('"best_of" must not be less than "n".', 'best_of')
  if (stream === true && bestOf > (n ?? 1))
    throw invalid('"best_of" greater than "n" cannot be streamed.', 'best_of')
}

function checkCount(body: CompletionsBody, member: string, least: number, most: number): void {
  const value = body[member]
  if (value == null || isWhole(value, least, most)) return
  throw invalid(`"${member}" must be a whole number from ${least} to ${most}.`, member)
}
