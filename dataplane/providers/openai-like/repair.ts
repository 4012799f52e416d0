/** Corrects mistakes of some runtimes in OpenAI's wire: ids, finish reasons, tool calls. */
import { createHash } from 'node:crypto'
import type { KeptText } from '../../base/kept-text.ts'
import { countOf, isRecord, listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatRequest, Sent, ToolCallDelta } from '../../wire/inner-form.ts'
import { CallIds, isNumber } from '../answers/call-ids.ts'
import { CallPieces } from '../answers/call-pieces.ts'
import { CHOICES_MAX, pieceOf, withBytes, withReasoning } from './members.ts'

export interface Repair {
  /** The runtime's answer id is empty or not unique. */
  readonly newIds: boolean
  /** The runtime's finish reasons as decimal numbers, and OpenAI's name for each. */
  readonly finishReasons: Readonly<Record<string, string>>
  /**
   * The runtime reports `stop` even if the answer reached the limit. The value is the limit that applies if the
   * client gave none.
   */
  readonly lengthAtBound?: { readonly withoutBound: number }
}

type Chunk = Readonly<Record<string, unknown>>

interface StreamRepair {
  /** The chunks to send instead; none while one is held back. */
  read(chunk: Chunk, data: string): readonly Chunk[]
  /** Chunks still held back at the end of the stream. */
  end(): readonly Chunk[]
  /** Whether a tool call has no name so far. */
  readonly lacksName: boolean
}

const LEGAL = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
/** Enough text to distinguish two requests: the newest message comes last. */
const SEED_BYTES_MAX = 4_096

export function repairAnswer(
  answer: Chunk,
  body: Buffer,
  request: Sent<ChatRequest>,
  repair: Repair,
): Chunk {
  const seed = seedOf(request, body)
  const ids = new CallIds(request)
  const reached = repair.lengthAtBound && reachedBound(answer, request, repair.lengthAtBound)
  const choices = listOf(answer.choices).map((choice, position) => {
    const message = withReasoning(recordOf(recordOf(choice).message))
    const calls = listOf(message.tool_calls)
    const reason = finishReason(recordOf(choice).finish_reason, calls.length > 0, repair)
    return {
      ...recordOf(choice),
      message: {
        ...message,
        ...(calls.length > 0 && {
          tool_calls: calls.map((call, index) =>
            repairCall(call, ids, `${seed}/${position}/${index}`),
          ),
        }),
      },
      ...knownLogprobs(choice),
      finish_reason: reached && reason === 'stop' ? 'length' : reason,
    }
  })
  return { ...answer, id: answerId(answer.id, seed, repair), choices }
}

export function openRepair(
  request: Sent<ChatRequest>,
  repair: Repair,
  kept: KeptText,
): StreamRepair {
  let seed = ''
  let id = ''
  let held: Chunk | undefined
  const ids = new CallIds(request)
  const callsOf = new Map<number, CallPieces>()

  function repairChoice(choice: Chunk): Chunk {
    const delta = withReasoning(recordOf(choice.delta))
    const position = Math.min(countOf(choice.index) ?? 0, CHOICES_MAX)
    const pieces =
      callsOf.get(position) ?? new CallPieces(ids, `${seed}/${position}`, kept, derived)
    callsOf.set(position, pieces)
    const news = listOf(delta.tool_calls).flatMap((call) => pieces.add(pieceOf(recordOf(call))))
    const reason = finishReason(choice.finish_reason, pieces.size > 0, repair)
    const calls = (reason === null ? news : [...news, ...pieces.end()]).map(callDelta)
    const { tool_calls: _, ...words } = delta
    return {
      ...choice,
      ...knownLogprobs(choice),
      delta: calls.length > 0 ? { ...words, tool_calls: calls } : words,
      finish_reason: reason,
    }
  }

  return {
    read(chunk, data) {
      if (seed === '') {
        seed = seedOf(request, Buffer.from(data))
        id = answerId(chunk.id, seed, repair)
      }
      const choices = listOf(chunk.choices).map((choice) => repairChoice(recordOf(choice)))
      const repaired = { ...chunk, id, choices }
      if (repair.lengthAtBound === undefined) return [repaired]
      if (held === undefined && choices.some((choice) => choice.finish_reason === 'stop')) {
        // Only the usage shows whether the answer ended or reached the limit.
        if (!isRecord(chunk.usage)) {
          held = repaired
          return []
        }
        return [endedBy(repaired, reachedBound(chunk, request, repair.lengthAtBound))]
      }
      if (held === undefined) return [repaired]
      const first = endedBy(held, reachedBound(chunk, request, repair.lengthAtBound))
      held = undefined
      return [first, repaired]
    },
    end: () => (held === undefined ? [] : [held]),
    get lacksName() {
      return [...callsOf.values()].some(({ lacksName }) => lacksName)
    },
  }
}

/** Id, type and name appear once, in the first delta of a call. */
function callDelta({ index, id, name, arguments: part }: ToolCallDelta): Chunk {
  if (id === undefined) return { index, function: { arguments: part } }
  return { index, id, type: 'function', function: { name, arguments: part } }
}

function endedBy(chunk: Chunk, reached: boolean): Chunk {
  if (!reached) return chunk
  const choices = listOf(chunk.choices).map(recordOf)
  return {
    ...chunk,
    choices: choices.map((choice) =>
      choice.finish_reason === 'stop' ? { ...choice, finish_reason: 'length' } : choice,
    ),
  }
}

function reachedBound(
  answer: Chunk,
  request: Sent<ChatRequest>,
  { withoutBound }: { readonly withoutBound: number },
): boolean {
  const completion = countOf(recordOf(answer.usage).completion_tokens) ?? 0
  // The runtime may have a larger limit. If the client gave none, only equality shows that the answer
  // reached it.
  const bound = request.maxTokens
  return bound === undefined ? completion === withoutBound : completion >= bound
}

/** The reasons that OpenAI's typed clients know; any other is an ordinary end. */
function finishReason(reason: unknown, called: boolean, { finishReasons }: Repair): string | null {
  if (reason === undefined || reason === null || reason === '') return null
  const own = typeof reason === 'number' ? String(reason) : textOf(reason)
  const known = rowOf(finishReasons, own) ?? own ?? ''
  const legal = LEGAL.has(known) ? known : 'stop'
  if (legal !== 'stop' && legal !== 'tool_calls') return legal
  return called ? 'tool_calls' : 'stop'
}

function knownLogprobs(choice: unknown): Chunk {
  const { logprobs } = recordOf(choice)
  return isRecord(logprobs) ? { logprobs: withBytes(logprobs) } : {}
}

/** Clients send the id back, and parse the arguments. */
function repairCall(call: unknown, ids: CallIds, seed: string): Chunk {
  const { id, arguments: text } = pieceOf(recordOf(call))
  const called = recordOf(recordOf(call).function)
  return {
    ...recordOf(call),
    id: ids.of(id === undefined || isNumber(id) ? derived(seed) : id, seed),
    function: { ...called, arguments: text.trim() === '' ? '{}' : text },
  }
}

/** The id of a call without one. */
function derived(place: string): string {
  return `call_${digest(place)}`
}

function answerId(id: unknown, seed: string, { newIds }: Repair): string {
  return (newIds ? undefined : textOf(id)) ?? `chatcmpl-${digest(seed)}`
}

/**
 * This folder uses no random values, so ids are derived from the request and the answer.
 */
function seedOf(request: Sent<ChatRequest>, answer: Buffer): string {
  const asked = request.bytes.subarray(-SEED_BYTES_MAX)
  return createHash('sha256').update(asked).update(answer).digest('base64url')
}

function digest(seed: string): string {
  return createHash('sha256').update(seed).digest('hex').slice(0, 24)
}
