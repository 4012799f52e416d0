/** Ids of the calls in a history, each once: a model may number them anew in each turn, and clients hand that back. */
import { createHash } from 'node:crypto'
import { listOf, recordOf, textOf } from '../json/values.ts'
import type { ChatBody } from '../wire/inner-form.ts'
import type { CallRules } from '../wire/provider-facts.ts'

/** The ids that the upstream takes. */
export type IdForm = Required<Pick<CallRules, 'id'>> & Pick<CallRules, 'idMax'>

function fits(id: string, { id: form, idMax = Number.POSITIVE_INFINITY }: IdForm): boolean {
  return id.length <= idMax && form.test(id)
}

/** Whether an id stands there twice, or in a form that the upstream refuses. */
export function hasOddIds({ messages }: ChatBody, form: IdForm): boolean {
  const seen = new Set<unknown>()
  for (const message of messages)
    for (const call of listOf(message.tool_calls)) {
      const id = textOf(recordOf(call).id)
      if (id === undefined) continue
      if (seen.has(id) || !fits(id, form)) return true
      seen.add(id)
    }
  return false
}

/** Asked in the order of the history. Made of an id and its number alone, so an id is the same in each turn. */
export class DistinctIds {
  readonly #form: IdForm
  readonly #counts = new Map<string, number>()
  /** The ids that were made for calls without a result so far. */
  readonly #open = new Map<string, string[]>()
  readonly #last = new Map<string, string>()

  constructor(form: IdForm) {
    this.#form = form
  }

  ofCall(id: string): string {
    const count = this.#counts.get(id) ?? 0
    this.#counts.set(id, count + 1)
    const given = count === 0 && fits(id, this.#form) ? id : made(id, count)
    const open = this.#open.get(id) ?? []
    open.push(given)
    this.#open.set(id, open)
    return given
  }

  /** The result of the first call with that id which has none. */
  ofResult(id: string): string {
    const given = this.#open.get(id)?.shift() ?? this.#last.get(id)
    if (given === undefined) return fits(id, this.#form) ? id : made(id, 0)
    this.#last.set(id, given)
    return given
  }
}

function made(id: string, count: number): string {
  return `call_${createHash('sha256').update(`${id} ${count}`).digest('hex').slice(0, 24)}`
}
