/** Copies of requests: how many may run, what became of them, and how their answers differ from those of clients. */
import type { ShadowSection } from '../schema/index.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { bucketOf, msOf, quantileOf, type Times } from './arm.ts'

/** Why a request has no copy, or how its copy ended. */
export type ShadowResult =
  | 'ok'
  | 'failed'
  | 'busy'
  | 'too_large'
  | 'refused'
  | 'not_placed'
  | 'unsupported'
  | 'unavailable'

/** One answer of the two. */
export interface ShadowAnswer {
  readonly status: number
  readonly outcome: string
  readonly prompt_tokens: number | undefined
  readonly completion_tokens: number | undefined
  /** Until the first content of a stream, or the whole answer. */
  readonly first_ms: number | undefined
  readonly finish: string | undefined
  /** Bytes in the client's API. */
  readonly bytes: number
  /** Only with keep_texts. */
  readonly text?: string
}

export interface ShadowPair {
  readonly request_id: string
  readonly time: string
  readonly differs: readonly string[]
  readonly real: ShadowAnswer
  readonly shadow: ShadowAnswer
}

interface AnswerSums {
  answers: number
  failed: number
  tokens: number
  bytes: number
  times: Record<string, number>
}

interface Book {
  readonly results: Map<ShadowResult, number>
  readonly differences: Map<string, number>
  readonly real: AnswerSums
  readonly shadow: AnswerSums
  last: ShadowPair[]
}

/** In a process. A copy holds the bytes of its request. */
const RUNNING_MAX = 32
const BYTES_MAX = 16_777_216
export const COPY_BYTES_MAX = 1_048_576
const KEPT = 20
/** Smaller differences of sizes and times are usual. */
const TOLERANCE = 0.2
const TOLERANCE_MS = 100

export class Shadows {
  readonly #metrics: Metrics
  readonly #books = new Map<string, Book>()
  readonly #running = new Set<() => void>()
  #bytes = 0

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** Takes a place for a copy; undefined: no place is free. `end` ends the copy when the process does. */
  enter(bytes: number, end: () => void): (() => void) | undefined {
    if (this.#running.size >= RUNNING_MAX || this.#bytes + bytes > BYTES_MAX) return undefined
    this.#running.add(end)
    this.#bytes += bytes
    return () => {
      if (this.#running.delete(end)) this.#bytes -= bytes
    }
  }

  get running(): number {
    return this.#running.size
  }

  close(): void {
    for (const end of this.#running) end()
  }

  count(route: string, result: ShadowResult): void {
    this.#metrics.shadowRequests.at(route, result).value++
    const { results } = this.#bookOf(route)
    results.set(result, (results.get(result) ?? 0) + 1)
  }

  compare(route: string, pair: Omit<ShadowPair, 'differs'>): void {
    const book = this.#bookOf(route)
    const { real, shadow } = pair
    add(book.real, real)
    add(book.shadow, shadow)
    const differs = differencesOf(real, shadow)
    for (const what of differs) {
      this.#metrics.shadowDifferences.at(route, what).value++
      book.differences.set(what, (book.differences.get(what) ?? 0) + 1)
    }
    if (differs.length > 0) book.last = [...book.last.slice(1 - KEPT), { ...pair, differs }]
  }

  /** For the admin API: the routes that have a shadow. */
  list(routes: Iterable<{ readonly name: string; readonly shadow: ShadowSection }>) {
    return [...routes].map(({ name, shadow }) => {
      const book = this.#bookOf(name)
      return {
        route: name,
        upstream: shadow.upstream,
        percent: shadow.percent,
        tenant: shadow.tenant,
        copies: Object.fromEntries(book.results),
        differences: Object.fromEntries(book.differences),
        real: shown(book.real),
        shadow: shown(book.shadow),
        last: book.last.toReversed(),
      }
    })
  }

  /** Figures of routes without a shadow are dropped. */
  retain(has: (route: string) => boolean): void {
    for (const route of this.#books.keys()) if (!has(route)) this.#books.delete(route)
  }

  #bookOf(route: string): Book {
    const known = this.#books.get(route)
    if (known !== undefined) return known
    const made: Book = {
      results: new Map(),
      differences: new Map(),
      real: noSums(),
      shadow: noSums(),
      last: [],
    }
    this.#books.set(route, made)
    return made
  }
}

function noSums(): AnswerSums {
  return { answers: 0, failed: 0, tokens: 0, bytes: 0, times: {} }
}

function add(sums: AnswerSums, answer: ShadowAnswer): void {
  sums.answers++
  if (answer.status !== 200) sums.failed++
  sums.tokens += answer.completion_tokens ?? 0
  sums.bytes += answer.bytes
  if (answer.first_ms === undefined) return
  const bucket = bucketOf(answer.first_ms)
  sums.times[bucket] = (sums.times[bucket] ?? 0) + 1
}

function shown({ answers, failed, tokens, bytes, times }: AnswerSums) {
  const mean = (sum: number) => (answers === 0 ? undefined : Math.round(sum / answers))
  return {
    answers,
    failed,
    mean_completion_tokens: mean(tokens),
    mean_bytes: mean(bytes),
    first_p50_ms: timeAt(times, 0.5),
    first_p95_ms: timeAt(times, 0.95),
  }
}

function timeAt(times: Times, share: number): number | undefined {
  return Object.keys(times).length === 0 ? undefined : Math.round(msOf(quantileOf(times, share)))
}

function differencesOf(real: ShadowAnswer, shadow: ShadowAnswer): string[] {
  if (real.status !== shadow.status) return ['status']
  if (real.status !== 200) return []
  const tokens = [real.completion_tokens, shadow.completion_tokens] as const
  return [
    ...(real.finish === shadow.finish ? [] : ['finish']),
    ...(isFar(...tokens) ? ['tokens'] : []),
    ...(isFar(real.first_ms, shadow.first_ms, TOLERANCE_MS) ? ['latency'] : []),
    ...(isFar(real.bytes, shadow.bytes) ? ['length'] : []),
  ]
}

function isFar(one: number | undefined, other: number | undefined, least = 0): boolean {
  if (one === undefined || other === undefined) return false
  return Math.abs(one - other) > Math.max(least, TOLERANCE * Math.max(one, other))
}
