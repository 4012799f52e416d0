/** Two days of a gateway with ten tenants, written into its `state_dir` as it would have: with an outage and a restart. */
import { HistoryBook } from '../../../dataplane/store/history/book.ts'
import { DiskPages } from '../../../dataplane/store/history/disk-pages.ts'
import { UsageJournal } from '../../../dataplane/store/memory/usage-journal.ts'
import { UsageBook } from '../../../dataplane/store/usage-book.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import type { AttemptTrace, Trace } from '../../../dataplane/telemetry/trace/fields.ts'
import { aClock } from '../clock.ts'

export const TEAMS = [
  ...['search', 'support', 'research', 'checkout', 'fraud-detection'],
  ...['marketing', 'legal', 'data-platform', 'internal-tools', 'mobile'],
]
const HOURS = 48
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Hours after the beginning. */
const OUTAGE = { from: 19, until: 19.6 }
const DOWN = { from: 30, until: 31.5 }
const RELOADS = [4, 27, 41]

export interface Planted {
  /** Bytes of the history in memory. */
  readonly bytes: number
  readonly requests: number
}

/** Until this minute. */
export function plantTwoDays(stateDir: string): Planted {
  const end = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS
  const begin = end - HOURS * HOUR_MS
  const clock = aClock(begin)
  let books = opened(stateDir, clock)
  let requests = 0
  for (let minute = 0; minute < HOURS * 60; minute++) {
    const hour = minute / 60
    if (isWithin(hour, DOWN)) {
      if (hour === DOWN.from) close(books)
      clock.pass(MINUTE_MS)
      if (hour + 1 / 60 >= DOWN.until) books = opened(stateDir, clock)
      continue
    }
    for (const event of eventsAt(hour)) books.history.note({ ...event, time: iso(clock.wall()) })
    for (let index = 0; index < loadAt(clock.wall(), minute); index++) {
      const trace = requestAt(minute * 37 + index, hour, iso(clock.wall()))
      books.history.tally.add(trace, false)
      books.usage.add(trace, new Map())
      requests++
    }
    clock.pass(MINUTE_MS / 2)
    books.history.expire(clock.now())
    books.pages.expire(clock.now())
    books.journal.expire(clock.now())
    clock.pass(MINUTE_MS / 2)
  }
  const { bytes } = books.history
  close(books)
  return { bytes, requests }
}

function opened(stateDir: string, clock: ReturnType<typeof aClock>) {
  const history = new HistoryBook(clock)
  const usage = new UsageBook()
  const onFailure = (error: Error | undefined) => {
    if (error !== undefined) throw error
  }
  const pages = new DiskPages({ stateDir, book: history, clock, onFailure })
  const journal = new UsageJournal({ stateDir, book: usage, clock, onFailure })
  return { history, usage, pages, journal }
}

function close({ pages, journal }: ReturnType<typeof opened>): void {
  pages.close()
  journal.close()
}

function isWithin(
  hour: number,
  { from, until }: { readonly from: number; readonly until: number },
) {
  return hour >= from && hour < until
}

function eventsAt(hour: number) {
  const is = (at: number) => Math.abs(hour - at) < 1 / 120
  const event = (level: 'info' | 'warn', name: string, message: string) => ({
    ...{ level, event: name, message },
  })
  return [
    ...(RELOADS.some(is) ? [event('info', 'config_reload', 'The configuration was taken.')] : []),
    ...(is(OUTAGE.from)
      ? [event('warn', 'breaker', 'The breaker of upstream "llama-b" is open.')]
      : []),
    ...(is(OUTAGE.until)
      ? [event('info', 'breaker', 'The breaker of upstream "llama-b" is closed.')]
      : []),
    ...(is(DOWN.until) ? [event('info', 'start', 'The gateway listens.')] : []),
  ]
}

/** More by day than by night, and a little uneven. */
function loadAt(wall: number, minute: number): number {
  const day = Math.sin((((wall % (24 * HOUR_MS)) / HOUR_MS - 5) / 24) * 2 * Math.PI - Math.PI / 2)
  return Math.round(8 + 14 * (1 + day) ** 1.5 * 0.6 + 3 * Math.sin(minute / 7) ** 2)
}

/** Evenly spread numbers, the same in each run. */
function chance(seed: number): number {
  const value = Math.sin(seed * 12.9898) * 43_758.5453
  return value - Math.floor(value)
}

/** The first team has most requests. */
function requestAt(seed: number, hour: number, time: string): Trace {
  const tenant = TEAMS[Math.floor(chance(seed) ** 2 * TEAMS.length)] ?? ''
  const isOut = isWithin(hour, OUTAGE)
  const route = chance(seed + 0.3) < 0.7 ? 'chat' : 'batch'
  const upstream = route === 'batch' ? 'pool' : chance(seed + 0.5) < 0.6 ? 'llama-a' : 'llama-b'
  const made = newTrace('planted', time, 'POST', '/v1/chat/completions')
  const names = { tenant, key: `${tenant}-app`, route }
  if (tenant === 'research' && chance(seed + 0.7) < 0.3)
    return { ...made, ...names, status: 429, code: 'ERR_GW_RATE_LIMIT_LOCAL', attempts: [] }
  if (isOut && upstream === 'llama-b')
    return { ...made, ...names, status: 502, attempts: [attempt(upstream, 'connect')] }
  const input = Math.round(200 + 3000 * chance(seed + 0.9) ** 3)
  const output = Math.round(40 + 700 * chance(seed + 1.1) ** 2)
  const first = Math.round(90 + 500 * chance(seed + 1.3) ** 4) * (isOut ? 3 : 1)
  const usage = {
    ...{ input_tokens: input, cached_tokens: 0, cache_write_tokens: 0, output_tokens: output },
    ...{ reasoning_tokens: 0, estimated: false, cost_nano_usd: input * 2000 + output * 8000 },
    ...{ cache_write_1h_tokens: 0, cache_gain_nano_usd: 0, cache_surcharge_nano_usd: 0 },
  }
  const attempts = [{ ...attempt(upstream, 'ok'), model: 'served', usage }]
  return { ...made, ...names, status: 200, ttft_ms: first, duration_ms: first * 6, attempts }
}

/** The books look at no other member. */
function attempt(upstream: string, outcome: string): AttemptTrace {
  return { upstream, outcome, started_ms: 0 } as AttemptTrace
}

function iso(wall: number): string {
  return new Date(wall).toISOString()
}
