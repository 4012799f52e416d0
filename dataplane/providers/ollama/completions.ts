/** Legacy completions at Ollama: one text, one continuation. */

import { isRecord, type Json, parsed, parsedBytes, textOf } from '../../json/values.ts'
import type {
  CompletionsAnswer,
  CompletionsEvent,
  CompletionsRequest,
  FinishReason,
} from '../../wire/inner-form.ts'
import type {
  AnswerOrigin,
  Decoded,
  Meaning,
  ProviderSettings,
  StreamReader,
} from '../../wire/provider.ts'
import { membersLeftOut, refuseUnsupported, unsupported } from '../../wire/unsupported.ts'
import { BROKEN, isBroken } from '../answers/faults.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'
import { finishOf, usageIn } from './answer.ts'
import { facts } from './facts.ts'
import { OPTIONS, optionsOf } from './request.ts'

/** Members that its API does not have. */
const CANNOT = ['best_of', 'echo', 'logit_bias', 'logprobs', 'n']
/** Members that the gateway translates. */
const TAKEN = new Set([
  ...OPTIONS,
  'max_tokens',
  'model',
  'prompt',
  'stop',
  'stream',
  'stream_options',
  'suffix',
])
const NOTHING: Meaning<CompletionsEvent> = { events: [], done: false }

export function completionRequest(
  { body, stream }: CompletionsRequest,
  { model, contextWindow, capabilities }: ProviderSettings,
  bound: number | undefined,
): Json {
  refuseUnsupported(facts.name, body, CANNOT)
  const { prompt, max_tokens: limit } = body
  if (prompt != null && typeof prompt !== 'string')
    throw unsupported(facts.name, 'prompt', 'send one text')
  // At Ollama this value would mean no limit.
  if (limit === 0) throw unsupported(facts.name, 'max_tokens', 'send at least 1')
  const options = optionsOf(body, bound, contextWindow, capabilities)
  const suffix = textOf(body.suffix)
  return {
    model,
    prompt: prompt ?? '',
    // Ollama's default is true.
    stream,
    // Otherwise Ollama truncates the text to its window without an error.
    truncate: false,
    ...(suffix !== undefined && { suffix }),
    ...(Object.keys(options).length > 0 && { options }),
  }
}

export function completionLeftOut({ body }: CompletionsRequest): string[] {
  return membersLeftOut(body, TAKEN, CANNOT)
}

export function readCompletion(
  body: Buffer,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<CompletionsAnswer> {
  const answer = parsedBytes(body)
  if (isRecord(answer) && isError(answer))
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  if (!isRecord(answer) || typeof answer.response !== 'string' || answer.done !== true)
    return { kind: 'failure', failure: malformed('The upstream answered without a whole text.') }
  const choice = { text: answer.response, finish: reasonIn(answer) }
  return {
    kind: 'answer',
    answer: { ...answeredBy(answer, origin), choices: [choice] },
    usage: usageIn(answer),
  }
}

export function openCompletion(
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
): StreamReader<CompletionsEvent> {
  let isBegun = false
  return {
    read({ data }) {
      const line = parsed(data)
      if (isBroken(data, line)) return { ...NOTHING, failure: BROKEN }
      if (!isRecord(line)) return NOTHING
      if (isError(line)) return { ...NOTHING, failure: classifyError(recognisers, line) }
      const text = textOf(line.response)
      const events: CompletionsEvent[] = []
      if (!isBegun) events.push({ kind: 'start', ...answeredBy(line, origin) })
      isBegun = true
      if (text !== undefined) events.push({ kind: 'delta', choice: 0, delta: { text } })
      if (line.done !== true) return { events, done: false }
      events.push({ kind: 'end', choice: 0, finish: reasonIn(line) })
      const usage = usageIn(line)
      return { events, done: true, ...(usage && { usage }) }
    },
  }
}

function reasonIn(answer: Json): FinishReason {
  return finishOf(answer, false)
}

function answeredBy(answer: Json, { id, model }: AnswerOrigin) {
  return { id: `cmpl-${id}`, model: textOf(answer.model) ?? model }
}
