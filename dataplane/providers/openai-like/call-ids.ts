/**
 * Corrects calls in answers that pass to a client of the same wire: a missing id, without which the client cannot
 * return a result, arguments as an object, which clients parse as a text, an id and a name that each piece repeats, an
 * index with a gap before it, and the reason `stop` of an answer that calls.
 */
import type { KeptText } from '../../base/kept-text.ts'
import {
  argumentsText,
  countOf,
  isRecord,
  type Json,
  listOf,
  recordOf,
  textOf,
} from '../../json/values.ts'
import { type Asked, CallIds } from '../answers/call-ids.ts'
import { CHOICES_MAX, indexOf } from './members.ts'

/** The same answer if every call has an id, its arguments are a text and the finish reason fits. */
export function withCallIds(answer: Json, asked: Asked): Json {
  return endingWithCalls(
    identified(answer, asked),
    (choice) => callsIn(choice, 'message').length > 0,
  )
}

function identified(answer: Json, asked: Asked): Json {
  const isWhole = listOf(answer.choices).every((choice) =>
    callsIn(choice, 'message').every(
      (call) => textOf(call.id) !== undefined && withText(call) === call,
    ),
  )
  if (isWhole) return answer
  const ids = new CallIds(asked)
  return withCalls(answer, 'message', (raw, place) => {
    const call = withText(raw)
    const own = textOf(call.id)
    return own === undefined ? { ...call, id: ids.of(undefined, place) } : call
  })
}

/** The same call if its arguments are no object. */
function withText(call: Json): Json {
  const called = recordOf(call.function)
  if (!isRecord(called.arguments)) return call
  return { ...call, function: { ...called, arguments: argumentsText(called.arguments) } }
}

/** For stream chunks with calls or a finish reason. An upstream's id that arrives after a generated one is omitted. */
export function openCallIds(asked: Asked, kept: KeptText): CorrectedCalls {
  const ids = new CallIds(asked, kept)
  /** The upstream's id and name by the index of the call; no id if one was generated. */
  const begun = new Map<string, { readonly id: string | undefined; readonly name: unknown }>()
  const calling = new Set<number>()
  /** The index for the client by the place of the call, and the number of calls of each choice. */
  const numbers = new Map<string, number>()
  const counts = new Map<string, number>()
  let renumbers = false

  /** Clients put calls into a list by their index, and read each place of the list. */
  function numbered(call: Json, place: string): Json {
    const own = countOf(call.index)
    if (own === undefined) return call
    let index = numbers.get(place)
    if (index === undefined) {
      const choice = place.slice(0, place.indexOf('/'))
      index = counts.get(choice) ?? 0
      counts.set(choice, index + 1)
      numbers.set(place, index)
      renumbers ||= index !== own
    }
    return index === own ? call : { ...call, index }
  }

  function changed(raw: Json, place: string): Json {
    const call = withText(raw)
    const own = textOf(call.id)
    const { name } = recordOf(call.function)
    const known = begun.get(place)
    if (known === undefined) {
      kept.keepEntry(place, own ?? '', textOf(name) ?? '')
      begun.set(place, { id: own, name })
      return own === undefined ? { ...call, id: ids.of(undefined, place) } : call
    }
    const isRepeated = own !== undefined && own === known.id
    if (!isRepeated && (known.id !== undefined || !('id' in call))) return call
    return isRepeated && (name === undefined || name === known.name)
      ? furtherPart(call)
      : withoutId(call)
  }

  function corrected(chunk: Json): Json {
    for (const choice of listOf(chunk.choices).map(recordOf))
      if (callsIn(choice, 'delta').length > 0) calling.add(Math.min(indexOf(choice), CHOICES_MAX))
    const whole = withCalls(chunk, 'delta', (call, place) => numbered(changed(call, place), place))
    return endingWithCalls(whole, (choice) => calling.has(indexOf(choice)))
  }

  return {
    corrected,
    get renumbers() {
      return renumbers
    },
  }
}

export interface CorrectedCalls {
  corrected(chunk: Json): Json
  /** Whether further pieces of calls have another index for the client, so that each must be read. */
  readonly renumbers: boolean
}

/** Clients may join the texts of each member, so id, type and name appear once. */
function furtherPart(call: Json): Json {
  const { id: _, type: __, function: called, ...rest } = call
  const { name: ___, ...part } = recordOf(called)
  return { ...rest, function: part }
}

function withoutId({ id: _, ...rest }: Json): Json {
  return rest
}

/** Some runtimes end an answer with calls by `stop`, as if it had none. The same object if nothing changes. */
function endingWithCalls(answer: Json, calls: (choice: Json) => boolean): Json {
  const wrong = (choice: Json) => choice.finish_reason === 'stop' && calls(choice)
  const choices = listOf(answer.choices).map(recordOf)
  if (!choices.some(wrong)) return answer
  return {
    ...answer,
    choices: choices.map((choice) =>
      wrong(choice) ? { ...choice, finish_reason: 'tool_calls' } : choice,
    ),
  }
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
