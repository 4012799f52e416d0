/** A history on a clock that tests turn, with requests of which only the given fields matter. */

import { historyOf } from '../../../../dataplane/store/history/answer.ts'
import { HistoryBook } from '../../../../dataplane/store/history/book.ts'
import type { KeptHistory } from '../../../../dataplane/store/history/kept.ts'
import { newTrace } from '../../../../dataplane/telemetry/trace/code.ts'
import type { AttemptTrace, Trace } from '../../../../dataplane/telemetry/trace/fields.ts'
import { aClock, NOON } from '../../../helpers/clock.ts'

export interface RequestFields extends Partial<Omit<Trace, 'attempts'>> {
  readonly left?: boolean
  /** Outcomes of attempts at upstreams. */
  readonly tried?: Readonly<Record<string, string>>
  readonly usd?: number
}

export function aRequest({ tried = { up: 'ok' }, usd = 0.001, ...fields }: RequestFields): Trace {
  const attempts = Object.entries(tried).map(([upstream, outcome], index): AttemptTrace => {
    const usage = outcome === 'ok' && {
      ...{ input_tokens: 100, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 20 },
      ...{ reasoning_tokens: 0, estimated: false, cost_nano_usd: usd * 1e9 },
    }
    // The counts of a history look at no other member.
    return { upstream, outcome, started_ms: index * 100, ...(usage && { usage }) } as AttemptTrace
  })
  const made = newTrace('r', '2026-11-21T12:00:00.000Z', 'POST', '/v1/chat/completions')
  return {
    ...made,
    tenant: 'acme',
    route: 'chat',
    status: 200,
    duration_ms: 800,
    ttft_ms: 300,
    ...fields,
    attempts,
  }
}

export function aHistory(kept: KeptHistory = { in: 'memory' }, clock = aClock()) {
  const book = new HistoryBook(clock)
  const ask = async (query: Readonly<Record<string, string>> = {}) => {
    const { status, body } = await historyOf(query, { history: book, historyKept: kept })
    if (!('series' in body)) throw new Error(`${status}: ${body.error.message}`)
    // Series have a list for each column, by its name.
    const lists = body.series as unknown as (Record<string, number[]> & {
      by: string
      name: string
    })[]
    const of = (by: string, name: string) => lists.find((one) => one.by === by && one.name === name)
    const sum = (by: string, name: string, column: string) =>
      (of(by, name)?.[column] ?? []).reduce((total, count) => total + count, 0)
    return { ...body, of, sum }
  }
  return {
    book,
    clock,
    ask,
    add: ({ left = false, ...fields }: RequestFields = {}) =>
      book.tally.add(aRequest(fields), left),
    /** As the sweep of deadlines does. */
    pass(ms: number) {
      for (let left = ms; left > 0; left -= 5_000) {
        clock.pass(Math.min(5_000, left))
        if (book.due <= clock.now()) book.expire(clock.now())
      }
    },
  }
}

export { NOON }
