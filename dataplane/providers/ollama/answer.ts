/** Reads Ollama's answers: whole ones, and stream pieces, one per line. */
import { createHash } from 'node:crypto'
import type { KeptText } from '../../base/kept-text.ts'
import {
  argumentsText,
  countOf,
  isRecord,
  type Json,
  listOf,
  parsedBytes,
  parsedExactly,
  recordOf,
  textOf,
} from '../../json/values.ts'
import type {
  ChatAnswer,
  ChatEvent,
  ChatRequest,
  FinishReason,
  Sent,
  ToolCall,
  Usage,
} from '../../wire/inner-form.ts'
import type { AnswerOrigin, Decoded, Meaning, StreamReader } from '../../wire/provider.ts'
import { CallIds } from '../answers/call-ids.ts'
import { BROKEN, isBroken } from '../answers/faults.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, malformed, type Recogniser } from '../failures/classify.ts'

const NOTHING: Meaning<ChatEvent> = { events: [], done: false }
/** A form of ids that every wire accepts. */
const ID = /^[a-zA-Z0-9_-]{1,64}$/

export function readAnswer(
  body: Buffer,
  request: Sent<ChatRequest>,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
): Decoded<ChatAnswer> {
  const answer = parsedBytes(body)
  if (isRecord(answer) && isError(answer)) {
    return { kind: 'failure', failure: classifyError(recognisers, answer) }
  }
  if (!isRecord(answer) || !isRecord(answer.message) || answer.done !== true) {
    return { kind: 'failure', failure: malformed('The upstream answered without a whole message.') }
  }
  const { message } = answer
  const all = callsIn(message, 0, origin, new CallIds(request))
  const calls = request.oneCall ? all.slice(0, 1) : all
  const reasoning = textOf(message.thinking)
  const choice = {
    text: textOf(message.content) ?? '',
    ...(reasoning !== undefined && { reasoning }),
    calls,
    finish: finishOf(answer, calls.length > 0),
    ...logprobsIn(answer),
  }
  const { id, model } = answeredBy(answer, origin)
  return { kind: 'answer', answer: { id, model, choices: [choice] }, usage: usageIn(answer) }
}

export function openAnswerStream(
  request: Sent<ChatRequest>,
  origin: AnswerOrigin,
  recognisers: readonly Recogniser[],
  kept: KeptText,
): StreamReader<ChatEvent> {
  const { oneCall } = request
  const ids = new CallIds(request, kept)
  let isBegun = false
  let called = 0
  return {
    read({ data }) {
      const line = parsedExactly(data, 'tool_calls')
      if (isBroken(data, line)) return { ...NOTHING, failure: BROKEN }
      if (!isRecord(line)) return NOTHING
      if (isError(line)) return { ...NOTHING, failure: classifyError(recognisers, line) }
      if (!isRecord(line.message)) return NOTHING
      const events: ChatEvent[] = []
      if (!isBegun) events.push({ kind: 'start', ...answeredBy(line, origin) })
      isBegun = true
      const all = callsIn(line.message, called, origin, ids)
      const calls = all.slice(0, oneCall ? 1 - called : undefined)
      events.push(...deltasOf(line, calls, called))
      called += calls.length
      if (line.done !== true) return { events, done: false }
      events.push({ kind: 'end', choice: 0, finish: finishOf(line, called > 0) })
      const usage = usageIn(line)
      return { events, done: true, ...(usage && { usage }) }
    },
  }
}

function deltasOf(line: Json, calls: readonly ToolCall[], called: number): ChatEvent[] {
  const { thinking, content } = recordOf(line.message)
  const reasoning = textOf(thinking)
  const text = textOf(content)
  const deltas = [
    ...(reasoning === undefined ? [] : [{ reasoning }]),
    ...(text === undefined ? [] : [{ text, ...logprobsIn(line) }]),
    ...calls.map((call, place) => ({ call: { index: called + place, ...call } })),
  ]
  return deltas.map((delta) => ({ kind: 'delta', choice: 0, delta }))
}

function answeredBy(answer: Json, { id, model }: AnswerOrigin) {
  return { id: `chatcmpl-${id}`, model: textOf(answer.model) ?? model }
}

/** `first`: the index of the first call in the whole answer. Older builds send no ids. */
function callsIn(
  { tool_calls }: Json,
  first: number,
  origin: AnswerOrigin,
  ids: CallIds,
): ToolCall[] {
  return listOf(tool_calls).map((call, place) => {
    const { id: own, function: called } = recordOf(call)
    const { name, arguments: values } = recordOf(called)
    const id = typeof own === 'string' && ID.test(own) ? own : derivedId(origin, first + place)
    const given = ids.of(id, String(first + place))
    return { id: given, name: textOf(name) ?? '', arguments: argumentsText(values) }
  })
}

/** Reading the answer again gives the same id. */
function derivedId({ id }: AnswerOrigin, place: number): string {
  return `call_${createHash('sha256').update(`${id} ${place}`).digest('hex').slice(0, 24)}`
}

/** The reasons `load` and `unload` mean that the model had nothing to answer. */
export function finishOf({ done_reason: reason }: Json, hasCalled: boolean): FinishReason {
  if (reason === 'length') return 'length'
  return hasCalled ? 'tool_calls' : 'stop'
}

/** The runtime does not count a cached prompt again. */
export function usageIn({ prompt_eval_count, eval_count }: Json): Usage | undefined {
  const prompt = countOf(prompt_eval_count)
  const answer = countOf(eval_count)
  if (prompt === undefined && answer === undefined) return undefined
  return {
    promptTokens: prompt ?? 0,
    completionTokens: answer ?? 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  }
}

/** Its tokens have OpenAI's members. */
function logprobsIn({ logprobs }: Json): { readonly logprobs?: unknown } {
  const content = listOf(logprobs)
  return content.length === 0 ? {} : { logprobs: { content, refusal: null } }
}
