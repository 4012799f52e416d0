/**
 * Reads the events of OpenAI's own wire. Without repairs it remembers only which choices have ended,
 * so it need not be shown events without a finish reason.
 */
import type { ChatRequest } from '../../call.ts'
import { isRecord, listOf, parsed, recordOf } from '../../json/values.ts'
import type { EventMeaning, StreamReader } from '../contract.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError } from '../failures/classify.ts'
import { failingReason } from './answer.ts'
import { OTHER_NAME, readUsage, withReasonings } from './members.ts'
import type { OpenAiLike } from './provider.ts'
import { openRepair } from './repair.ts'

type Chunk = Readonly<Record<string, unknown>>
/** One chunk after repairs; `text` is its JSON, as it came where nothing was repaired. */
interface Piece {
  readonly chunk: Chunk
  readonly text: string
}

const PASSED: EventMeaning = { out: 'same', content: false, finished: false, done: false }
const NO_USAGE = ',"usage":null'
const CONTENT = ['content', 'reasoning_content', 'reasoning', 'refusal', 'tool_calls'] as const
const CONTENT_OBJECTS = ['function_call', 'audio'] as const

export function openReader(request: ChatRequest, options: OpenAiLike): StreamReader {
  const repair = options.repair && openRepair(request, options.repair)
  const isLast = openEndings(request)
  return {
    read(event) {
      if (event.data.trim() === '[DONE]') {
        const held = repair?.end() ?? []
        if (held.length === 0) return { ...PASSED, done: true }
        const texts = held.map((chunk) => JSON.stringify(chunk))
        return { ...PASSED, out: texts, finished: true, done: true }
      }
      const chunk = parsed(event.data)
      // A broken event is the client's to see: it passes, and what it meant is unknown.
      if (!isRecord(chunk)) return PASSED
      if (isError(chunk) || event.event === 'error') {
        return { ...PASSED, out: [], failure: classifyError(options.recognisers, chunk) }
      }
      const failing = listOf(chunk.choices).map((choice) => failingReason(choice, options))
      const failure = failing.find(Boolean)
      if (failure) return { ...PASSED, out: [], failure }
      const pieces = repair?.read(chunk, event.data).map(piece) ?? [
        renamed(chunk, event.data, options),
      ]
      const one = meaning(pieces, repair ? undefined : event.data, request, options)
      return one.finished && !isLast(pieces) ? { ...one, finished: false } : one
    },
  }
}

/** Whether an event with a finish reason ends the answer: the last of several choices that were asked for. */
function openEndings({ choices: asked }: ChatRequest): (pieces: readonly Piece[]) => boolean {
  if (asked === 1) return () => true
  const ended = new Set<unknown>()
  return (pieces) => {
    for (const choice of pieces.flatMap(({ chunk }) => listOf(chunk.choices)).map(recordOf)) {
      if (isFinished(choice)) ended.add(choice.index)
    }
    return ended.size >= asked
  }
}

function renamed(chunk: Chunk, text: string, { renamesReasoning }: OpenAiLike): Piece {
  const one = renamesReasoning && text.includes(OTHER_NAME) ? withReasonings(chunk, 'delta') : chunk
  return one === chunk ? { chunk, text } : piece(one)
}

function piece(chunk: Chunk): Piece {
  return { chunk, text: JSON.stringify(chunk) }
}

function meaning(
  pieces: readonly Piece[],
  told: string | undefined,
  request: ChatRequest,
  options: OpenAiLike,
): EventMeaning {
  const choices = pieces.flatMap(({ chunk }) => listOf(chunk.choices)).map(recordOf)
  const usage = pieces.map(({ chunk }) => readUsage(chunk.usage, chunk)).find(Boolean)
  const out = pieces.flatMap((one) => outOf(one, request.includeUsage, options))
  const same = out.length === 1 && out[0] === told
  return {
    out: same ? 'same' : out,
    content: choices.some(({ delta }) => holdsContent(recordOf(delta))),
    finished: choices.some(isFinished),
    done: false,
    ...(usage && { usage }),
  }
}

function isFinished({ finish_reason: reason }: Chunk): boolean {
  return reason !== undefined && reason !== null
}

function holdsContent(delta: Chunk): boolean {
  for (const name of CONTENT) {
    const value = delta[name]
    if ((typeof value === 'string' || Array.isArray(value)) && value.length > 0) return true
  }
  return CONTENT_OBJECTS.some((name) => Object.keys(recordOf(delta[name])).length > 0)
}

/** What the client gets of a chunk: without usage where it did not ask for any. */
function outOf({ chunk, text }: Piece, includeUsage: boolean, options: OpenAiLike): string[] {
  const empty = Array.isArray(chunk.choices) && chunk.choices.length === 0
  const counted = isRecord(chunk.usage)
  if (empty && !counted && options.dropsEmptyChoices) return []
  if (includeUsage || !('usage' in chunk)) return [text]
  if (empty && counted) return []
  return [withoutUsage(chunk, text)]
}

function withoutUsage(chunk: Chunk, text: string): string {
  const at = text.indexOf(NO_USAGE)
  // OpenAI says so in every chunk: cutting it out is cheaper than writing the chunk anew. A quote
  // inside of a text is escaped, so these bytes are a member; when they are there once and the top
  // level has it, it is that one.
  if (chunk.usage === null && at !== -1 && at === text.lastIndexOf(NO_USAGE)) {
    return text.slice(0, at) + text.slice(at + NO_USAGE.length)
  }
  const { usage: _, ...rest } = chunk
  return JSON.stringify(rest)
}
