/**
 * Reads the history. `readHistory(asked, sources)` returns, and `GET /history?since=&until=&step=&by=` answers with:
 *
 *   since, until   ISO 8601: the steps that the series cover; `until` is not included
 *   step_ms        the length of a step; the present one is not over
 *   kept_in        `redis` (the sum of all pods), `state_dir` or `memory` (this process alone)
 *   missing        why pages of other pods are missing; absent if none is
 *   times          the start of each step, in milliseconds since the epoch
 *   counted_ms     for each step, how much of it a gateway ran and counted, in milliseconds; 0 is a time without data
 *   bounds         upper bounds of the buckets of times, in seconds; a last bucket has the rest
 *   series         one for each route, tenant and upstream with requests in the span: {by, name, and a list for each
 *                  column, with one number a step}. Columns: `requests`; of these, failed ones by fault: `client`,
 *                  `limit` (429 and 402 of limits and budgets), `upstream`, `gateway`, `left` (the client left);
 *                  `input_tokens`, `output_tokens`, `cost_nano_usd`. `whole` and `first_token` are lists of buckets, or 0
 *                  for a step without answers. Requests of an upstream are attempts. The sum of all routes is
 *                  everything; `none` is a request that reached no route.
 *   events         oldest first, of the last 48 hours: {time, level, event, message, fields, replica}; `event` is as in
 *                  the log: breaker, health, config_reload, keys_reload, key, budget_alert, budget_exhausted, store, slo,
 *                  start, drain; `fields` have the subject: upstream, route, tenant, key, from, to, ...
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Change } from '../../telemetry/changes.ts'
import { BUCKETS } from '../../telemetry/series.ts'
import { StoreAway } from '../redis/link.ts'
import { eventsOf, type HistoryBook } from './book.ts'
import { Cells, KINDS, type Kind } from './cells.ts'
import { AMOUNTS, type Counts, FIRST_AT, TIMES, WHOLE_AT } from './counts.ts'
import type { KeptHistory, KeptPage, PageSpan } from './kept.ts'
import { cellsOf } from './page.ts'
import { HOUR_MS, MINUTE_MS, placesBetween, startOf } from './places.ts'

export interface HistorySources {
  readonly history: HistoryBook
  readonly historyKept: KeptHistory
}

export interface AskedHistory {
  /** Milliseconds since the epoch, at the border of a step. */
  readonly since: number
  readonly until: number
  /** Whole minutes; whole hours read the hours, which are kept for longer. */
  readonly stepMs: number
  readonly by?: readonly Kind[]
}

export interface HistoryEvent extends Change {
  readonly replica?: string
}

/** Pages of one turn of the event loop. */
const IN_A_TURN = 20

export async function readHistory(asked: AskedHistory, sources: HistorySources) {
  const { since, until, stepMs, by = KINDS } = asked
  const whose = wholeOf(sources)
  const steps = Array.from({ length: Math.ceil((until - since) / stepMs) }, () => new Cells())
  const kind = stepMs % HOUR_MS === 0 ? 'hour' : 'minute'
  const places = new Set<string>()
  let read = 0
  await whose.each({ kind, from: since, until }, async ({ place, page }) => {
    places.add(place)
    const step = steps[Math.floor((startOf(place) - since) / stepMs)]
    step?.add(cellsOf(page, by))
    if (++read % IN_A_TURN === 0) await turn()
  })
  const events: HistoryEvent[] = []
  await whose.each({ kind: 'events', from: since, until }, async ({ page, replica }) => {
    for (const event of eventsOf(page)) {
      const at = Date.parse(event.time)
      if (at >= since && at < until)
        events.push(replica === undefined ? event : { ...event, replica })
    }
  })
  return {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    step_ms: stepMs,
    kept_in: sources.historyKept.in,
    ...(whose.missing !== undefined && { missing: whose.missing }),
    times: steps.map((_, index) => since + index * stepMs),
    counted_ms: countedIn(places, steps.length, { ...asked, now: sources.history.wall }),
    bounds: BUCKETS,
    series: by.flatMap((one) => seriesOf(one, steps)),
    events: events.sort((one, two) => (one.time < two.time ? -1 : 1)),
  }
}

/** The present minute or hour counts as far as it has passed. */
function countedIn(
  places: Iterable<string>,
  count: number,
  { since, stepMs, now }: AskedHistory & { readonly now: number },
): number[] {
  const counted = new Array<number>(count).fill(0)
  const unit = stepMs % HOUR_MS === 0 ? HOUR_MS : MINUTE_MS
  for (const place of places) {
    const start = startOf(place)
    const step = Math.floor((start - since) / stepMs)
    if (step in counted) counted[step] = (counted[step] ?? 0) + Math.min(unit, now - start)
  }
  return counted
}

/** Pages of all replicas, or of this process while the shared store is away. */
function wholeOf({ history, historyKept }: HistorySources) {
  const whole = {
    missing: undefined as string | undefined,
    async each(span: PageSpan, take: (page: KeptPage) => Promise<void>): Promise<void> {
      if (historyKept.read !== undefined && whole.missing === undefined) {
        const pages: KeptPage[] = []
        try {
          for await (const some of historyKept.read(span)) pages.push(...some)
          for (const page of pages) await take(page)
          return
        } catch (error) {
          if (!(error instanceof StoreAway)) throw error
          whole.missing = error.message
        }
      }
      history.turn()
      for (const place of placesBetween(span.kind, span.from, span.until)) {
        const page = history.page(place)
        if (page !== undefined) await take({ place, page })
      }
    },
  }
  return whole
}

function seriesOf(by: Kind, steps: readonly Cells[]) {
  const names = new Set(steps.flatMap((cells) => [...cells.entries(by)].map(([name]) => name)))
  return [...names].sort().map((name) => {
    const found = steps.map((cells) => cells.found(by, name))
    return {
      by,
      name,
      ...Object.fromEntries(
        AMOUNTS.map((amount, index) => [amount, found.map((counts) => counts?.[index] ?? 0)]),
      ),
      whole: found.map((counts) => bucketsOf(counts, WHOLE_AT)),
      first_token: found.map((counts) => bucketsOf(counts, FIRST_AT)),
    }
  })
}

function bucketsOf(counts: Counts | undefined, start: number): readonly number[] | 0 {
  const buckets = counts?.subarray(start, start + TIMES)
  return buckets?.some((count) => count > 0) ? [...buckets] : 0
}
