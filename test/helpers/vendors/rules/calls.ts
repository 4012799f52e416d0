/**
 * Rules of calls and results that all vendors share: ids are unique and well formed, and each call is answered at once.
 */
import type { Complaints } from './contract.ts'

export interface Step {
  readonly at: string
  readonly calls: readonly { readonly id: unknown; readonly name: unknown }[]
  readonly results: readonly { readonly id: unknown }[]
}

export interface CallRules {
  readonly id: RegExp
  readonly name: RegExp
  /** Results of one turn are in several messages. */
  readonly severalMessages?: boolean
  /** Over turns; within one they are unique. */
  readonly idsMayRepeat?: boolean | undefined
}

export function checkCalls(steps: readonly Step[], rules: CallRules, c: Complaints): void {
  const known = new Set<unknown>()
  for (const { at, calls } of steps) {
    if (rules.idsMayRepeat) known.clear()
    for (const { id, name } of calls) {
      c.demand(typeof id === 'string' && rules.id.test(id), 'call-id', at, `Id "${id}".`)
      c.demand(
        typeof name === 'string' && rules.name.test(name),
        'call-name',
        at,
        `Name "${name}".`,
      )
      c.demand(!known.has(id), 'call-id-twice', at, `The id "${id}" stands there twice.`)
      known.add(id)
    }
  }
  checkAnswers(rules.severalMessages ? joined(steps) : steps, c)
}

function checkAnswers(steps: readonly Step[], c: Complaints): void {
  let open: Set<unknown> = new Set()
  for (const { at, calls, results } of steps) {
    const due = open
    for (const { id } of results) {
      if (!due.delete(id)) c.add('result-without-call', at, `No open call has the id "${id}".`)
    }
    for (const id of due) c.add('call-unanswered', at, `The call "${id}" has no result behind it.`)
    open = new Set(calls.map(({ id }) => id))
  }
  for (const id of open) c.add('call-unanswered', 'end', `The call "${id}" has no result.`)
}

/** Consecutive messages of results are one step. */
function joined(steps: readonly Step[]): Step[] {
  const out: Step[] = []
  for (const step of steps) {
    const last = out.at(-1)
    const isMore = step.results.length > 0 && last !== undefined && last.results.length > 0
    if (isMore && last.calls.length === 0 && step.calls.length === 0)
      out[out.length - 1] = { ...last, results: [...last.results, ...step.results] }
    else out.push(step)
  }
  return out
}
