/** Makes the call ids of a history unique: a model may reuse its numbers in each turn, and clients send them back. */
import { createHash } from 'node:crypto'
import { listOf, recordOf, textOf } from '../json/values.ts'
import type { ChatBody } from '../wire/inner-form.ts'
import type { CallRules } from '../wire/provider-facts.ts'

/** The ids that the upstream accepts. */
export type IdForm = Required<Pick<CallRules, 'id'>> & Pick<CallRules, 'idMax'>

function fits(id: string, { id: form, idMax = Number.POSITIVE_INFINITY }: IdForm): boolean {
  return id.length <= idMax && form.test(id)
}

/** Whether an id occurs twice, or in a form that the upstream refuses. */
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

/**
 * Called in the order of the history. A new id depends only on the old id and its number, so each turn gets the same
 * one.
 */
export class DistinctIds {
  readonly #form: IdForm
  readonly #counts = new Map<string, number>()
  /** New ids of calls that have no result so far. */
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

  /** The result of the first call with that id and no result. */
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
