/**
 * Adds missing ids to calls in answers that pass to a client of the same wire. Without an id the client cannot return
 * a result.
 */
import type { KeptText } from '../../base/kept-text.ts'
import { countOf, type Json, listOf, recordOf, textOf } from '../../json/values.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { indexOf } from './members.ts'

/** The same answer if every call has an id. */
export function withCallIds(answer: Json, asked: Asked): Json {
  const isWhole = listOf(answer.choices).every((choice) =>
    callsIn(choice, 'message').every((call) => textOf(call.id) !== undefined),
  )
  if (isWhole) return answer
  const ids = new CallIds(asked)
  return withCalls(answer, 'message', (call, place) => {
    const own = textOf(call.id)
    return own === undefined ? { ...call, id: ids.of(undefined, place) } : call
  })
}

/** For stream chunks with calls. An upstream's id that arrives after a generated one is omitted. */
export function openCallIds(asked: Asked, kept: KeptText): (chunk: Json) => Json {
  const ids = new CallIds(asked, kept)
  /** Whether an id was generated, by the index of the call. */
  const begun = new Map<string, boolean>()

  function changed(call: Json, place: string): Json {
    const own = textOf(call.id)
    const isMade = begun.get(place)
    if (isMade === undefined) {
      kept.keepEntry(place)
      begun.set(place, own === undefined)
      return own === undefined ? { ...call, id: ids.of(undefined, place) } : call
    }
    if (!isMade || !('id' in call)) return call
    const { id: _, ...rest } = call
    return rest
  }

  return (chunk) => withCalls(chunk, 'delta', changed)
}

/** The same object if no call has changed. */
function withCalls(
  answer: Json,
  member: 'message' | 'delta',
  change: (call: Json, place: string) => Json,
): Json {
  let hasChanged = false
  const choices = listOf(answer.choices).map((choice) => {
    const before = callsIn(choice, member)
    const after = before.map((call, at) =>
      change(call, `${indexOf(recordOf(choice))}/${countOf(call.index) ?? at}`),
    )
    if (after.every((call, at) => call === before[at])) return choice
    hasChanged = true
    const holder = recordOf(recordOf(choice)[member])
    return { ...recordOf(choice), [member]: { ...holder, tool_calls: after } }
  })
  return hasChanged ? { ...answer, choices } : answer
}

export function callsIn(choice: unknown, member: 'message' | 'delta'): readonly Json[] {
  return listOf(recordOf(recordOf(choice)[member]).tool_calls).map(recordOf)
}
