/** OpenAI's answers and chunks in the inner form: for clients that speak another wire. */
import type { KeptText } from '../../base/kept-text.ts'
import { countOf, listOf, recordOf, textOf } from '../../json/values.ts'
import type {
  ChatAnswer,
  ChatChoice,
  ChatDelta,
  ChatEvent,
  ChatRequest,
  FinishReason,
  Sent,
} from '../../wire/inner-form.ts'
import type { Decoded, Meaning, StreamReader } from '../../wire/provider.ts'
import { readAnswer } from './answer.ts'
import { type Chunk, openChunks } from './chunks.ts'
import { readUsage, withReasoning } from './members.ts'
import type { OpenAiLike } from './options.ts'

const FINISH: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls', 'content_filter'])

export function decodeAnswer(
  body: Buffer,
  request: Sent<ChatRequest>,
  options: OpenAiLike,
): Decoded<ChatAnswer> {
  const read = readAnswer(body, request, options)
  if (read.kind === 'failure') return read
  const { id, model, choices } = read.answer
  const answer = {
    id: textOf(id) ?? 'unknown',
    model: textOf(model) ?? '',
    choices: listOf(choices).map((choice) => choiceOf(recordOf(choice))),
  }
  return { kind: 'answer', answer, usage: read.usage }
}

export function openReader(
  request: Sent<ChatRequest>,
  options: OpenAiLike,
  kept: KeptText,
): StreamReader<ChatEvent> {
  const chunks = openChunks(request, options, kept)
  let started = false

  function eventsOf(chunk: Chunk): ChatEvent[] {
    const events = listOf(chunk.choices).flatMap((choice) => choiceEvents(recordOf(choice)))
    if (started) return events
    started = true
    return [
      { kind: 'start', id: textOf(chunk.id) ?? 'unknown', model: textOf(chunk.model) ?? '' },
      ...events,
    ]
  }

  return {
    read(event): Meaning<ChatEvent> {
      const read = chunks.read(event)
      if (read.kind === 'failure') return { events: [], done: false, failure: read.failure }
      if (read.kind === 'unknown') return { events: [], done: false }
      if (read.kind === 'done') return { events: read.held.flatMap(eventsOf), done: true }
      const usage = read.pieces.map(({ chunk }) => readUsage(chunk.usage, chunk)).find(Boolean)
      const events = read.pieces.flatMap(({ chunk }) => eventsOf(chunk))
      return { events, done: false, ...(usage && { usage }) }
    },
  }
}

function choiceOf({ message: raw, finish_reason: reason, logprobs }: Chunk): ChatChoice {
  const message = withReasoning(recordOf(raw))
  const reasoning = textOf(message.reasoning_content)
  const refusal = textOf(message.refusal)
  return {
    text: textOf(message.content) ?? '',
    ...(reasoning !== undefined && { reasoning }),
    ...(refusal !== undefined && { refusal }),
    calls: listOf(message.tool_calls).map((call) => {
      const { name, arguments: text } = recordOf(recordOf(call).function)
      const id = textOf(recordOf(call).id) ?? ''
      return { id, name: textOf(name) ?? '', arguments: textOf(text) ?? '' }
    }),
    finish: finishOf(reason),
    ...(logprobs != null && { logprobs }),
  }
}

function choiceEvents({ index, delta, finish_reason: reason, logprobs }: Chunk): ChatEvent[] {
  const choice = countOf(index) ?? 0
  const deltas = deltasOf(withReasoning(recordOf(delta)))
  const first = deltas[0]
  if (first !== undefined && logprobs != null) deltas[0] = { ...first, logprobs }
  const events: ChatEvent[] = deltas.map((one) => ({ kind: 'delta', choice, delta: one }))
  if (reason != null) events.push({ kind: 'end', choice, finish: finishOf(reason) })
  return events
}

function deltasOf(delta: Chunk): ChatDelta[] {
  const reasoning = textOf(delta.reasoning_content)
  const text = textOf(delta.content)
  const refusal = textOf(delta.refusal)
  return [
    ...(reasoning === undefined ? [] : [{ reasoning }]),
    ...(text === undefined ? [] : [{ text }]),
    ...(refusal === undefined ? [] : [{ refusal }]),
    ...listOf(delta.tool_calls).map((call) => ({ call: callDelta(recordOf(call)) })),
  ]
}

function callDelta(call: Chunk) {
  const { name, arguments: part } = recordOf(call.function)
  const id = textOf(call.id)
  return {
    index: countOf(call.index) ?? 0,
    ...(id !== undefined && { id, name: textOf(name) ?? '' }),
    arguments: textOf(part) ?? '',
  }
}

export function finishOf(reason: unknown): FinishReason {
  if (reason === 'function_call') return 'tool_calls'
  return typeof reason === 'string' && FINISH.has(reason) ? (reason as FinishReason) : 'stop'
}
