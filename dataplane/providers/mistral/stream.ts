/** Reads Mistral's stream. */
import type { KeptText } from '../../base/kept-text.ts'
import { countOf, isRecord, listOf, parsedExactly, recordOf, textOf } from '../../json/values.ts'
import { idIn } from '../../wire/answer-facts.ts'
import type { ChatEvent, ToolCallDelta } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Meaning, StreamReader } from '../../wire/provider.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, type Recogniser } from '../failures/classify.ts'
import { readUsage } from '../openai-like/members.ts'
import { callOf, deltasOf, failureIn, finishOf, ownId } from './said.ts'

type Json = Readonly<Record<string, unknown>>
/** The calls of one choice that have begun, by id; each one's value is its place. */
type Calls = Map<string, number>

const NOTHING: Meaning<ChatEvent> = { events: [], done: false }
/** More choices than a client can ask for have no calls to remember. */
const CHOICES_MAX = 128

export function openCompletionStream(
  recognisers: readonly Recogniser[],
  origin: AnswerOrigin,
  kept: KeptText,
): StreamReader<ChatEvent> {
  let id: string | undefined
  const callsOf = new Map<number, Calls>()

  function choiceEvents(choice: Json): ChatEvent[] {
    const index = Math.min(countOf(choice.index) ?? 0, CHOICES_MAX)
    const calls = callsOf.get(index) ?? new Map<string, number>()
    callsOf.set(index, calls)
    const delta = recordOf(choice.delta)
    const deltas = [
      ...deltasOf(delta.content),
      ...listOf(delta.tool_calls).map((raw) => ({
        call: callDelta(recordOf(raw), calls, `${id}/${index}`, kept),
      })),
    ]
    const events: ChatEvent[] = deltas.map((one) => ({ kind: 'delta', choice: index, delta: one }))
    const reason = textOf(choice.finish_reason)
    if (reason === undefined) return events
    return [...events, { kind: 'end', choice: index, finish: finishOf(reason, calls.size > 0) }]
  }

  return {
    read({ event, data }) {
      if (data.trim() === '[DONE]') return { ...NOTHING, done: true }
      const chunk = parsedExactly(data, 'tool_calls')
      // A broken event has no translation.
      if (!isRecord(chunk)) return NOTHING
      if (isError(chunk) || event === 'error') {
        return { ...NOTHING, failure: classifyError(recognisers, chunk) }
      }
      const choices = listOf(chunk.choices).map(recordOf)
      const failure = failureIn(choices)
      if (failure !== undefined) return { ...NOTHING, failure }
      const events: ChatEvent[] = []
      if (id === undefined) {
        id = idIn(chunk.id) ?? origin.id
        events.push({ kind: 'start', id, model: textOf(chunk.model) ?? origin.model })
      }
      for (const choice of choices) events.push(...choiceEvents(choice))
      const usage = readUsage(chunk.usage)
      return { events, done: false, ...(usage && { usage }) }
    },
  }
}

/**
 * A call comes whole. Its `index` may be missing, or 0 for every call, so the place is counted here; an id that
 * comes again is more of the same call.
 */
function callDelta(raw: Json, calls: Calls, seed: string, kept: KeptText): ToolCallDelta {
  const known = calls.get(ownId(raw) ?? '')
  if (known !== undefined) {
    return { index: known, arguments: textOf(recordOf(raw.function).arguments) ?? '' }
  }
  const index = calls.size
  const call = callOf(raw, `${seed}/${index}`)
  kept.keepEntry(call.id)
  calls.set(call.id, index)
  return { index, ...call }
}
