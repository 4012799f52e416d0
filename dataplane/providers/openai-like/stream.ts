/**
 * Reads the events of OpenAI's own wire, for clients of the same wire. Without repairs it stores only which choices
 * have ended, so it can skip events without a finish reason.
 */
import type { KeptText } from '../../base/kept-text.ts'
import { isRecord, listOf, recordOf } from '../../json/values.ts'
import { AnswerFacts } from '../../wire/answer-facts.ts'
import type { WireMeaning, WireReader } from '../../wire/provider.ts'
import { BROKEN } from '../answers/faults.ts'
import { EVENT_BYTES_MAX } from '../boundary-framer.ts'
import { keepingBesideUsage } from './beside-usage.ts'
import { openCallIds } from './call-ids.ts'
import {
  type Chunk,
  isFinished,
  openChunks,
  type Piece,
  type Streamed,
  type Streaming,
} from './chunks.ts'
import { indexOf, readUsage } from './members.ts'
import { CALLS, skimmer } from './skimming/skim.ts'

const PASSED: WireMeaning = { out: 'same', content: false, finished: false, done: false }
const END = 'data: [DONE]\n\n'
const NO_USAGE = ',"usage":null'
/** Least length of a truncated event, beside the name of its field. */
const LARGE = EVENT_BYTES_MAX - 64
const IMAGES = '"images"'
const CONTENT = [
  'content',
  'reasoning_content',
  'reasoning',
  'refusal',
  'images',
  'tool_calls',
] as const
const CONTENT_OBJECTS = ['function_call', 'audio'] as const

export function openWireReader(request: Streamed, options: Streaming, kept: KeptText): WireReader {
  const { besideUsage } = options
  const reader = readerOf(request, options, kept)
  return besideUsage === undefined || request.includeUsage
    ? reader
    : keepingBesideUsage(reader, besideUsage)
}

function readerOf(request: Streamed, options: Streaming, kept: KeptText): WireReader {
  const chunks = openChunks(request, options, kept)
  const isLast = openEndings(request)
  const setApart = openUsage(request, options)
  const last = openLast(request, options)
  const isRead = options.repair !== undefined
  const withIds = isRead || request.operation !== 'chat' ? undefined : openCallIds(request, kept)
  const facts = new AnswerFacts()
  const skim = skimmer({
    ...options,
    hidesUsage: !request.includeUsage,
    showsRepeated: showsRepeated(request),
  })
  return {
    facts,
    passesComments: !isRead,
    ...(!isRead && {
      skim: (frames, hearer) => (withIds?.renumbers ? undefined : skim(frames, hearer)),
    }),
    read(event) {
      const read = chunks.read(event)
      if (read.kind === 'failure') return { ...PASSED, out: '', failure: read.failure }
      if (read.kind === 'unknown') {
        // Its pieces would not pass unchanged.
        if (isRead && read.broken) return { ...PASSED, out: '', failure: BROKEN }
        return { ...PASSED, broken: read.broken, content: read.broken && beginsPicture(event.data) }
      }
      if (read.kind === 'done') {
        const late = last.take()
        if (late !== '') return { ...PASSED, out: late, done: true }
        if (read.held.length === 0) return { ...PASSED, done: true }
        for (const chunk of read.held) note(chunk, true, facts)
        const texts = read.held.map((chunk) => JSON.stringify(chunk))
        return { ...PASSED, out: written(texts), finished: true, done: true }
      }
      const same = read.isRepaired ? undefined : event.data
      const pieces =
        withIds === undefined ? read.pieces : read.pieces.map(identified(withIds.corrected))
      const one = meaning(pieces, same, request, options)
      for (const { chunk } of pieces) note(chunk, one.finished, facts)
      if (one.usage !== undefined) last.see(pieces, one.finished)
      if (one.finished && !isLast(pieces)) return { ...one, finished: false }
      return one.usage === undefined ? one : setApart(one, pieces)
    },
    end: () => last.take() + END,
  }
}

/** Whether this is the first piece of an event that is too large to hold, so that it passes in pieces. */
function beginsPicture(data: string): boolean {
  return data.length > LARGE && data.includes(IMAGES)
}

function identified(withIds: (chunk: Chunk) => Chunk) {
  return (piece: Piece): Piece => {
    const isEnd = () => listOf(piece.chunk.choices).map(recordOf).some(isFinished)
    if (!piece.text.includes(CALLS) && !isEnd()) return piece
    const chunk = withIds(piece.chunk)
    return chunk === piece.chunk ? piece : { chunk, text: JSON.stringify(chunk) }
  }
}

/**
 * The usage beside a finish reason. The client gets it at the end, unless the runtime then sends a separate usage
 * event.
 */
function openLast(request: Streamed, { repeatsUsage }: Streaming) {
  const isShown = repeatsUsage && request.includeUsage && !showsRepeated(request)
  let event = ''
  return {
    see(pieces: readonly Piece[], isFinished: boolean): void {
      if (!isShown || request.operation !== 'chat') return
      if (pieces.some(isAlone)) event = ''
      else if (isFinished) event = written(pieces.map(apart).map((texts) => texts.at(-1) ?? ''))
    },
    take(): string {
      const taken = event
      event = ''
      return taken
    },
  }
}

function showsRepeated({ includeUsage, isUsageRepeated }: Streamed): boolean {
  return includeUsage && isUsageRepeated === true
}

/**
 * Clients that ask for usage read it from an event without choices. Some runtimes send it beside the finish reason,
 * and some send it twice.
 */
function openUsage(request: Streamed, { repeatsUsage }: Streaming) {
  const isSaidOnce = request.includeUsage && !showsRepeated(request) && !repeatsUsage
  const isKept = request.operation !== 'chat' || !isSaidOnce
  let isSaid = false
  return (one: WireMeaning, pieces: readonly Piece[]): WireMeaning => {
    if (isKept) return one
    const isLast = pieces.some(isAlone)
    if (isLast && isSaid) return { ...one, out: '' }
    if (isLast || !one.finished) return one
    isSaid = true
    return { ...one, out: written(pieces.flatMap(apart)) }
  }
}

function isAlone({ chunk }: Piece): boolean {
  return listOf(chunk.choices).length === 0
}

function apart({ chunk, text }: Piece): string[] {
  const { usage } = chunk
  if (!isRecord(usage)) return [text]
  return [{ usage: null }, { choices: [], usage }].map((own) =>
    JSON.stringify({ ...chunk, ...own }),
  )
}

function written(texts: readonly string[]): string {
  return texts.map((json) => `data: ${json}\n\n`).join('')
}

/** Whether an event with a finish reason ends the answer: it is the last of several requested choices. */
function openEndings({ choices: asked }: Streamed): (pieces: readonly Piece[]) => boolean {
  if (asked === 1) return () => true
  const ended = new Set<number>()
  return (pieces) => {
    for (const choice of pieces.flatMap(({ chunk }) => listOf(chunk.choices)).map(recordOf)) {
      if (ended.size < asked && isFinished(choice)) ended.add(indexOf(choice))
    }
    return ended.size >= asked
  }
}

function meaning(
  pieces: readonly Piece[],
  unchanged: string | undefined,
  request: Streamed,
  { repeatsUsage }: Streaming,
): WireMeaning {
  const { includeUsage, operation } = request
  const isHidden = (one: Piece) =>
    !includeUsage || (repeatsUsage && !showsRepeated(request) && !isAlone(one))
  const choices = pieces.flatMap(({ chunk }) => listOf(chunk.choices)).map(recordOf)
  const usage = pieces.map(({ chunk }) => readUsage(chunk.usage, chunk)).find(Boolean)
  const out = pieces.flatMap((one) => (isHidden(one) ? withoutUsage(one) : [one.text]))
  const same = out.length === 1 && out[0] === unchanged
  const content = choices.some(operation === 'chat' ? holdsDelta : holdsText)
  return {
    out: same ? 'same' : written(out),
    content,
    ...(content && { said: choices.map(saidIn).join('') }),
    finished: choices.some(isFinished),
    done: false,
    ...(usage && { usage }),
  }
}

/** Few events are read; the others are skimmed. */
function note(chunk: Chunk, isFinishing: boolean, facts: AnswerFacts): void {
  facts.begin(chunk.id, chunk.model)
  if (!isFinishing) return
  for (const choice of listOf(chunk.choices).map(recordOf))
    if (isFinished(choice)) facts.end(indexOf(choice), choice.finish_reason)
}

function holdsText({ text }: Chunk): boolean {
  return typeof text === 'string' && text !== ''
}

/** The text of a choice. */
function saidIn({ text, delta }: Chunk): string {
  const {
    content,
    reasoning_content: thought,
    reasoning,
    refusal,
    tool_calls: calls,
  } = recordOf(delta)
  const texts = [text, content, thought ?? reasoning, refusal]
  for (const call of listOf(calls)) {
    const { name, arguments: input } = recordOf(recordOf(call).function)
    texts.push(name, input)
  }
  return texts.filter((one) => typeof one === 'string').join('')
}

function holdsDelta(choice: Chunk): boolean {
  const delta = recordOf(choice.delta)
  for (const name of CONTENT) {
    const value = delta[name]
    if ((typeof value === 'string' || Array.isArray(value)) && value.length > 0) return true
  }
  return CONTENT_OBJECTS.some((name) => Object.keys(recordOf(delta[name])).length > 0)
}

/** The part of a chunk for a client that did not ask for usage. */
function withoutUsage({ chunk, text }: Piece): string[] {
  if (!('usage' in chunk)) return [text]
  const isEmpty = Array.isArray(chunk.choices) && chunk.choices.length === 0
  return isEmpty && isRecord(chunk.usage) ? [] : [cutUsage(chunk, text)]
}

function cutUsage(chunk: Chunk, text: string): string {
  const at = text.indexOf(NO_USAGE)
  // OpenAI sends this member in every chunk. It is cut out, so that the other bytes stay unchanged. A quote
  // in a text is escaped, so these bytes are a member. If they occur once and the top level has the member,
  // it is the same one.
  if (chunk.usage === null && at !== -1 && at === text.lastIndexOf(NO_USAGE)) {
    return text.slice(0, at) + text.slice(at + NO_USAGE.length)
  }
  const { usage: _, ...rest } = chunk
  return JSON.stringify(rest)
}
