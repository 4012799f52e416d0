/** Puts right what some runtimes get wrong in OpenAI's wire: ids, finish reasons, tool calls. */
import { createHash } from 'node:crypto'
import type { KeptText } from '../../base/kept-text.ts'
import { countOf, isRecord, listOf, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatRequest, Sent } from '../../wire/inner-form.ts'
import { withBytes, withReasoning } from './members.ts'

export interface Repair {
  /** The answer's id is empty or not unique there. */
  readonly newIds: boolean
  /** The runtime's finish reasons, numbers in decimal, and OpenAI's name for each. */
  readonly finishReasons: Readonly<Record<string, string>>
  /**
   * `stop` is reported even where the bound was reached; the bound that holds when the client gave
   * none.
   */
  readonly lengthAtBound?: { readonly withoutBound: number }
}

type Chunk = Readonly<Record<string, unknown>>

interface StreamRepair {
  /** The chunks to send instead; none while one is held back. */
  read(chunk: Chunk, data: string): readonly Chunk[]
  /** Chunks still held back when the stream ended. */
  end(): readonly Chunk[]
}

const LEGAL = new Set(['stop', 'length', 'tool_calls', 'content_filter', 'function_call'])
/** Enough of a request to tell two apart: the newest message stands at its end. */
const SEED_BYTES_MAX = 4_096

export function repairAnswer(
  answer: Chunk,
  body: Buffer,
  request: Sent<ChatRequest>,
  repair: Repair,
): Chunk {
  const seed = seedOf(request, body)
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
          tool_calls: calls.map((call, index) => withToolId(call, `${seed}/${position}/${index}`)),
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
  /** Tool calls that were announced with id, type and name, as `choice/index`, and the choices that have such calls. */
  const announced = new Set<string>()
  const calling = new Set<number>()

  function repairChoice(choice: Chunk): Chunk {
    const delta = withReasoning(recordOf(choice.delta))
    const position = countOf(choice.index) ?? 0
    const calls = listOf(delta.tool_calls).map((call, place) =>
      repairCall(recordOf(call), `${position}/${countOf(recordOf(call).index) ?? place}`),
    )
    if (calls.length > 0) calling.add(position)
    const called = calling.has(position)
    return {
      ...choice,
      ...knownLogprobs(choice),
      delta: calls.length > 0 ? { ...delta, tool_calls: calls } : delta,
      finish_reason: finishReason(choice.finish_reason, called, repair),
    }
  }

  /** Id, type and name stand once, in the first delta of a call. */
  function repairCall(call: Chunk, key: string): Chunk {
    const index = Number(key.slice(key.indexOf('/') + 1))
    if (!announced.has(key)) {
      kept.keepEntry(key)
      announced.add(key)
      return { ...withToolId(call, `${seed}/${key}`), index, type: 'function' }
    }
    const { name: _, ...rest } = recordOf(call.function)
    return { index, function: rest }
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
        // Whether it was the end or the bound is known only with the usage.
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
  }
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
  // The runtime may have a larger limit; where the client gave none, only equality shows that it
  // was reached.
  const bound = request.maxTokens
  return bound === undefined ? completion === withoutBound : completion >= bound
}

/** Only reasons that OpenAI's typed clients know; any other is an ordinary end. */
function finishReason(reason: unknown, called: boolean, { finishReasons }: Repair): string | null {
  if (reason === undefined || reason === null || reason === '') return null
  const own = typeof reason === 'number' ? String(reason) : textOf(reason)
  const known = rowOf(finishReasons, own) ?? own ?? ''
  const legal = LEGAL.has(known) ? known : 'stop'
  return legal === 'stop' && called ? 'tool_calls' : legal
}

function knownLogprobs(choice: unknown): Chunk {
  const { logprobs } = recordOf(choice)
  return isRecord(logprobs) ? { logprobs: withBytes(logprobs) } : {}
}

function withToolId(call: unknown, seed: string): Chunk {
  const own = textOf(recordOf(call).id)
  // TGI numbers its calls, so that every call of a conversation would be "0".
  const usable = own !== undefined && !/^[0-9]+$/.test(own)
  return { ...recordOf(call), id: usable ? own : `call_${digest(seed)}` }
}

function answerId(id: unknown, seed: string, { newIds }: Repair): string {
  return (newIds ? undefined : textOf(id)) ?? `chatcmpl-${digest(seed)}`
}

/**
 * There is no chance in this folder, so ids are derived from what was asked and what was answered.
 */
function seedOf(request: Sent<ChatRequest>, answer: Buffer): string {
  const asked = request.bytes.subarray(-SEED_BYTES_MAX)
  return createHash('sha256').update(asked).update(answer).digest('base64url')
}

function digest(seed: string): string {
  return createHash('sha256').update(seed).digest('hex').slice(0, 24)
}
