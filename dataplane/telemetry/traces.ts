/** The last decisions of this process: what was refused and why, and each attempt with its timing. */

export interface AttemptTrace {
  readonly upstream: string
  /** Milliseconds since the request's headers arrived. */
  readonly started_ms: number
  /** When its answer could be committed to, or it had failed. */
  ended_ms?: number
  /** `ok`, or the class of the failure. */
  outcome?: string
  status?: number
  reason?: string
}

/** An upstream that was looked at and not tried. */
export interface PassedOver {
  readonly upstream: string
  readonly why: string
}

export interface Trace {
  readonly request_id: string
  /** ISO 8601. */
  readonly time: string
  readonly method: string
  readonly path: string
  tenant?: string
  key?: string
  /** What the client asked for, and what it resolved to. */
  model?: string
  route?: string
  strategy?: string
  upstream?: string
  stream?: boolean
  status?: number
  code?: string
  message?: string
  attempts: AttemptTrace[]
  passed_over?: PassedOver[]
  prompt_tokens?: number
  completion_tokens?: number
  usage_estimated?: boolean
  body_ms?: number
  ttft_ms?: number
  duration_ms?: number
}

/** A request is slow, and kept with the errors, from this on. */
const SLOW_MS = 10_000

export class Traces {
  readonly #recent: Ring<Trace>
  readonly #notable: Ring<Trace>

  constructor(size: number) {
    this.#recent = new Ring(size)
    this.#notable = new Ring(Math.ceil(size / 4))
  }

  /** How many decisions are kept. */
  get size(): number {
    return this.#recent.size
  }

  add(trace: Trace): void {
    this.#recent.add(trace)
    const notable = (trace.status ?? 0) >= 400 || (trace.duration_ms ?? 0) >= SLOW_MS
    if (notable) this.#notable.add(trace)
  }

  /** Newest first, each once. */
  list(limit: number): Trace[] {
    const all = new Set([...this.#recent.newestFirst(), ...this.#notable.newestFirst()])
    return [...all].slice(0, limit)
  }

  get(requestId: string): Trace | undefined {
    return this.list(Number.POSITIVE_INFINITY).find((trace) => trace.request_id === requestId)
  }
}

class Ring<T> {
  readonly #items: (T | undefined)[]
  #next = 0

  constructor(size: number) {
    this.#items = new Array<T | undefined>(size).fill(undefined)
  }

  get size(): number {
    return this.#items.length
  }

  add(item: T): void {
    if (this.#items.length === 0) return
    this.#items[this.#next] = item
    this.#next = (this.#next + 1) % this.#items.length
  }

  newestFirst(): T[] {
    const ordered = [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)]
    return ordered.filter((item) => item !== undefined).reverse()
  }
}
