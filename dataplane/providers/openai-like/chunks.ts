/** The chunks in an event of OpenAI's wire, after repairs, or the failure in the event. */
import type { KeptText } from '../../base/kept-text.ts'
import { isRecord, listOf, parsed, parsedExactly, recordOf } from '../../json/values.ts'
import type { ChatRequest, CompletionsRequest, Sent } from '../../wire/inner-form.ts'
import type { Failure, WireEvent } from '../../wire/provider.ts'
import { isBroken, NAMELESS } from '../answers/faults.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError } from '../failures/classify.ts'
import { failingReason } from './answer.ts'
import { OTHER_NAME, withReasonings, withUsageDetails } from './members.ts'
import type { OpenAiLike } from './options.ts'
import { openRepair } from './repair.ts'

export type Chunk = Readonly<Record<string, unknown>>

/** One chunk after repairs; `text` is its JSON, unchanged if nothing was repaired. */
export interface Piece {
  readonly chunk: Chunk
  readonly text: string
}

type ReadChunk =
  | { readonly kind: 'pieces'; readonly pieces: readonly Piece[]; readonly isRepaired: boolean }
  /** The end; `held`: chunks that had to wait for it. */
  | { readonly kind: 'done'; readonly held: readonly Chunk[] }
  /** The event passes, but its meaning is unknown; `broken`: it is not JSON. */
  | { readonly kind: 'unknown'; readonly broken: boolean }
  | { readonly kind: 'failure'; readonly failure: Failure }

/** A request whose answer may be streamed. */
export type Streamed = Sent<ChatRequest> | Sent<CompletionsRequest>

/** The differences of a runtime's streams. */
export type Streaming = Pick<
  OpenAiLike,
  'besideUsage' | 'failing' | 'recognisers' | 'repair' | 'repeatsUsage' | 'sendsVerdicts'
>

/** Arguments as an object, whose numbers keep their text. */
const OPEN_ARGUMENTS = /"arguments": ?\{/

export function openChunks(request: Streamed, options: Streaming, kept: KeptText) {
  const repair =
    options.repair && request.operation === 'chat'
      ? openRepair(request, options.repair, kept)
      : undefined
  return {
    read({ event, data }: WireEvent): ReadChunk {
      if (data.trim() === '[DONE]') return { kind: 'done', held: repair?.end() ?? [] }
      const chunk = OPEN_ARGUMENTS.test(data) ? parsedExactly(data) : parsed(data)
      if (!isRecord(chunk)) return { kind: 'unknown', broken: isBroken(data, chunk) }
      if (isError(chunk) || event === 'error') {
        return { kind: 'failure', failure: classifyError(options.recognisers, chunk) }
      }
      const failing = listOf(chunk.choices).map((choice) => failingReason(choice, options))
      const failure = failing.find(Boolean)
      if (failure) return { kind: 'failure', failure }
      const repaired = repair?.read(chunk, data).map(piece)
      if (repair?.lacksName && listOf(chunk.choices).map(recordOf).some(isFinished))
        return { kind: 'failure', failure: NAMELESS }
      const pieces = repaired ?? piecesOf(chunk, data, options)
      return { kind: 'pieces', pieces, isRepaired: repaired !== undefined }
    },
  }
}

function piecesOf(chunk: Chunk, text: string, options: Streaming): readonly Piece[] {
  if (options.sendsVerdicts !== true) return [renamed(chunk, text)]
  const kept = withoutVerdicts(chunk)
  if (kept === chunk) return [renamed(chunk, text)]
  return kept === undefined ? [] : [piece(kept)]
}

/** undefined if nothing remains; the chunk itself if every choice has a piece of the answer. */
function withoutVerdicts(chunk: Chunk): Chunk | undefined {
  const choices = listOf(chunk.choices).map(recordOf)
  const pieces = choices.filter((choice) => isRecord(choice.delta) || isFinished(choice))
  if (pieces.length === 0 && !isRecord(chunk.usage)) return undefined
  if (pieces.length === choices.length && pieces.every(({ delta }) => isRecord(delta))) return chunk
  // Clients read the delta of every choice without a check.
  return { ...chunk, choices: pieces.map((choice) => ({ delta: {}, ...choice })) }
}

export function isFinished({ finish_reason: reason }: Chunk): boolean {
  // Some runtimes send an empty finish reason until the end.
  return reason !== undefined && reason !== null && reason !== ''
}

function renamed(chunk: Chunk, text: string): Piece {
  const whole = withChoices(chunk)
  const named = text.includes(OTHER_NAME) ? withReasonings(whole, 'delta') : whole
  const one = withUsageDetails(named)
  return one === chunk ? { chunk, text } : piece(one)
}

/** Clients read the choices of every chunk, but some services omit them beside usage. */
function withChoices(chunk: Chunk): Chunk {
  return 'choices' in chunk || !isRecord(chunk.usage) ? chunk : { ...chunk, choices: [] }
}

function piece(chunk: Chunk): Piece {
  return { chunk, text: JSON.stringify(chunk) }
}
