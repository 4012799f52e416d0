/** OpenAI's answers and chunks in the inner form, for clients with another wire. */
import type { KeptText } from '../../base/kept-text.ts'
import { countOf, listOf, recordOf, textOf } from '../../json/values.ts'
import type {
  ChatAnswer,
  ChatChoice,
  ChatDelta,
  ChatEvent,
  ChatRequest,
  FinishReason,
  Picture,
  Sent,
} from '../../wire/inner-form.ts'
import type { Decoded, Meaning, StreamReader } from '../../wire/provider.ts'
import { CallIds } from '../answers/call-ids.ts'
import { CallPieces } from '../answers/call-pieces.ts'
import { BROKEN, NAMELESS } from '../answers/faults.ts'
import { picturesOf } from '../pictures.ts'
import { readAnswer } from './answer.ts'
import { type Chunk, openChunks } from './chunks.ts'
import { CHOICES_MAX, pieceOf, readUsage, withReasoning } from './members.ts'
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
  const ids = new CallIds(request)
  const answer = {
    id: textOf(id) ?? 'unknown',
    model: textOf(model) ?? '',
    choices: listOf(choices).map((choice, place) =>
      choiceOf(recordOf(choice), ids, `${textOf(id)}/${place}`),
    ),
  }
  const isNamed = answer.choices.every(({ calls }) => calls.every(({ name }) => name !== ''))
  if (!isNamed) return { kind: 'failure', failure: NAMELESS }
  return { kind: 'answer', answer, usage: read.usage }
}

export function openReader(
  request: Sent<ChatRequest>,
  options: OpenAiLike,
  kept: KeptText,
): StreamReader<ChatEvent> {
  const chunks = openChunks(request, options, kept)
  const ids = new CallIds(request)
  const callsOf = new Map<number, CallPieces>()
  let started = false

  function choiceEvents(one: Chunk, id: unknown): ChatEvent[] {
    const choice = Math.min(countOf(one.index) ?? 0, CHOICES_MAX)
    const calls = callsOf.get(choice) ?? new CallPieces(ids, `${textOf(id)}/${choice}`, kept)
    callsOf.set(choice, calls)
    return choiceEventsOf(one, choice, calls)
  }

  function eventsOf(chunk: Chunk): ChatEvent[] {
    const events = listOf(chunk.choices).flatMap((choice) =>
      choiceEvents(recordOf(choice), chunk.id),
    )
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
      if (read.kind === 'unknown') {
        return { events: [], done: false, ...(read.broken && { failure: BROKEN }) }
      }
      if (read.kind === 'done') return { events: read.held.flatMap(eventsOf), done: true }
      const usage = read.pieces.map(({ chunk }) => readUsage(chunk.usage, chunk)).find(Boolean)
      const events = read.pieces.flatMap(({ chunk }) => eventsOf(chunk))
      const isEnd = events.some(({ kind }) => kind === 'end')
      const isNameless = isEnd && [...callsOf.values()].some(({ lacksName }) => lacksName)
      const failure = isNameless ? NAMELESS : undefined
      return { events, done: false, ...(usage && { usage }), ...(failure && { failure }) }
    },
  }
}

function choiceOf(
  { message: raw, finish_reason: reason, logprobs, ...rest }: Chunk,
  ids: CallIds,
  seed: string,
): ChatChoice {
  const message = withReasoning(recordOf(raw))
  const reasoning = textOf(message.reasoning_content)
  const refusal = textOf(message.refusal)
  const { pictures, addresses } = paintedIn(message)
  return {
    text: (textOf(message.content) ?? '') + addresses,
    ...(reasoning !== undefined && { reasoning }),
    ...(refusal !== undefined && { refusal }),
    ...(pictures.length > 0 && { pictures }),
    calls: listOf(message.tool_calls).map((call, place) => {
      const { id: own, name = '', arguments: text } = pieceOf(recordOf(call))
      const id = ids.of(own, `${seed}/${place}`)
      return { id, name, arguments: text.trim() === '' ? '{}' : text }
    }),
    finish: finishOf(reason),
    ...stopIn(rest),
    ...(logprobs != null && { logprobs }),
  }
}

function choiceEventsOf(
  { delta, finish_reason: reason, logprobs, ...rest }: Chunk,
  choice: number,
  calls: CallPieces,
): ChatEvent[] {
  const deltas = deltasOf(withReasoning(recordOf(delta)), calls)
  const first = deltas[0]
  if (first !== undefined && logprobs != null) deltas[0] = { ...first, logprobs }
  const events: ChatEvent[] = deltas.map((one) => ({ kind: 'delta', choice, delta: one }))
  if (reason == null) return events
  for (const call of calls.end()) events.push({ kind: 'delta', choice, delta: { call } })
  return [...events, { kind: 'end', choice, finish: finishOf(reason), ...stopIn(rest) }]
}

/** The stop sequence that ended the answer, by vLLM's or SGLang's name. Numbers are tokens. */
function stopIn({ stop_reason: own, matched_stop: matched }: Chunk): { readonly stop?: string } {
  const stop = textOf(own) ?? textOf(matched)
  return stop ? { stop } : {}
}

function deltasOf(delta: Chunk, calls: CallPieces): ChatDelta[] {
  const reasoning = textOf(delta.reasoning_content)
  const text = textOf(delta.content)
  const refusal = textOf(delta.refusal)
  const { pictures, addresses } = paintedIn(delta)
  return [
    ...(reasoning === undefined ? [] : [{ reasoning }]),
    ...(text === undefined ? [] : [{ text }]),
    ...(refusal === undefined ? [] : [{ refusal }]),
    ...pictures.map((picture) => ({ picture })),
    ...(addresses === '' ? [] : [{ text: addresses }]),
    ...listOf(delta.tool_calls).flatMap((raw) =>
      calls.add(pieceOf(recordOf(raw))).map((call) => ({ call })),
    ),
  ]
}

/** The pictures of a message or a delta. A picture by address becomes text, which every API supports. */
function paintedIn({ images }: Chunk): {
  readonly pictures: readonly Picture[]
  readonly addresses: string
} {
  if (images == null) return NO_PICTURES
  const urls = picturesOf({ role: 'assistant', images }).map(({ image_url: image }) =>
    String(recordOf(image).url),
  )
  const [inline, addresses] = [urls.filter(isInline), urls.filter((url) => !isInline(url))]
  return {
    pictures: inline.map((url) => ({ url })),
    addresses: addresses.map((url) => `\n![picture](${url})\n`).join(''),
  }
}

const NO_PICTURES = { pictures: [], addresses: '' }

function isInline(url: string): boolean {
  return url.startsWith('data:image/')
}

export function finishOf(reason: unknown): FinishReason {
  if (reason === 'function_call') return 'tool_calls'
  return typeof reason === 'string' && FINISH.has(reason) ? (reason as FinishReason) : 'stop'
}
