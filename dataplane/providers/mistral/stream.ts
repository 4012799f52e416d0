/** Reads Mistral's stream. */
import type { KeptText } from '../../base/kept-text.ts'
import {
  countOf,
  isRecord,
  type Json,
  listOf,
  parsedExactly,
  recordOf,
  textOf,
} from '../../json/values.ts'
import { idIn } from '../../wire/answer-facts.ts'
import type { ChatDelta, ChatEvent } from '../../wire/inner-form.ts'
import type { AnswerOrigin, Meaning, StreamReader } from '../../wire/provider.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { CallPieces } from '../answers/call-pieces.ts'
import { BROKEN, isBroken, NAMELESS } from '../answers/faults.ts'
import { isError } from '../failures/bodies.ts'
import { classifyError, type Recogniser } from '../failures/classify.ts'
import { readUsage } from '../openai-like/members.ts'
import { derivedId } from './ids.ts'
import { deltasOf, failureIn, finishOf, pieceOf } from './said.ts'

const NOTHING: Meaning<ChatEvent> = { events: [], done: false }
/** Choices beyond the client's limit have no calls to store. */
const CHOICES_MAX = 128

export function openCompletionStream(
  request: Asked,
  recognisers: readonly Recogniser[],
  origin: AnswerOrigin,
  kept: KeptText,
): StreamReader<ChatEvent> {
  let id: string | undefined
  const ids = new CallIds(request)
  const callsOf = new Map<number, CallPieces>()

  function choiceEvents(choice: Json): ChatEvent[] {
    const index = Math.min(countOf(choice.index) ?? 0, CHOICES_MAX)
    const calls = callsOf.get(index) ?? new CallPieces(ids, `${id}/${index}`, kept, derivedId)
    callsOf.set(index, calls)
    const delta = recordOf(choice.delta)
    const deltas = [
      ...deltasOf(delta.content),
      ...listOf(delta.tool_calls).flatMap((raw) => deltaOf(recordOf(raw), calls)),
    ]
    const events: ChatEvent[] = deltas.map((one) => ({ kind: 'delta', choice: index, delta: one }))
    const reason = textOf(choice.finish_reason)
    if (reason === undefined) return events
    for (const call of calls.end()) events.push({ kind: 'delta', choice: index, delta: { call } })
    return [...events, { kind: 'end', choice: index, finish: finishOf(reason, calls.size > 0) }]
  }

  return {
    read({ event, data }) {
      if (data.trim() === '[DONE]') return { ...NOTHING, done: true }
      const chunk = parsedExactly(data, 'tool_calls')
      if (isBroken(data, chunk)) return { ...NOTHING, failure: BROKEN }
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
      const isEnd = events.some(({ kind }) => kind === 'end')
      const isNameless = isEnd && [...callsOf.values()].some(({ lacksName }) => lacksName)
      return {
        events,
        done: false,
        ...(usage && { usage }),
        ...(isNameless && { failure: NAMELESS }),
      }
    },
  }
}

/** The API's own index may be missing, or 0 for every call. */
function deltaOf(raw: Json, calls: CallPieces): ChatDelta[] {
  const { arguments: part = '', ...piece } = pieceOf(raw)
  const news = calls.add({ index: countOf(raw.index), arguments: part, ...piece })
  return news.map((call) => ({ call }))
}
