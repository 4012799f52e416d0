/** The last decisions of this process: refusals with their reasons, and each attempt with its timing. */
import type { KeptTexts } from './kept-texts.ts'
import { TEXTS, type Trace } from './trace/fields.ts'

/** Bytes of the texts of all traces together. */
const TEXT_BYTES_MAX = 16_777_216

/** Duration above which a request counts as slow and is kept with the errors. */
const SLOW_MS = 10_000

export class Traces {
  #recent: Ring<Trace>
  #notable: Ring<Trace>
  /** Traces with texts, oldest first. */
  readonly #texted = new Set<Trace>()
  #textBytes = 0

  constructor(size: number) {
    this.#recent = new Ring(size)
    this.#notable = new Ring(notableOf(size))
  }

  /** Changes the size, and keeps as many traces as fit. */
  resize(size: number): void {
    if (size === this.size) return
    this.#recent = this.#recent.resized(size)
    this.#notable = this.#notable.resized(notableOf(size))
    const recent = new Set(this.#recent.newestFirst())
    for (const trace of this.#texted) if (!recent.has(trace)) this.#forget(trace)
  }

  /** Number of decisions that are kept. */
  get size(): number {
    return this.#recent.size
  }

  add(trace: Trace): void {
    if (trace[TEXTS] !== undefined) this.#keep(trace, trace[TEXTS])
    // Texts are dropped with the first ring, including those of an error that the second one keeps.
    const gone = this.#recent.add(trace)
    if (gone?.[TEXTS] !== undefined) this.#forget(gone)
    if (trace.status >= 400 || trace.duration_ms >= SLOW_MS) this.#notable.add(trace)
  }

  /** The oldest texts are dropped. */
  #keep(trace: Trace, { bytes }: KeptTexts): void {
    this.#texted.add(trace)
    this.#textBytes += bytes
    for (const oldest of this.#texted) {
      if (this.#textBytes <= TEXT_BYTES_MAX) return
      this.#forget(oldest)
    }
  }

  #forget(trace: Trace): void {
    if (!this.#texted.delete(trace)) return
    this.#textBytes -= trace[TEXTS]?.bytes ?? 0
    trace[TEXTS] = undefined
  }

  /** Newest first, each once. */
  list(limit: number): Trace[] {
    const all = new Set([...this.#recent.newestFirst(), ...this.#notable.newestFirst()])
    return [...all].slice(0, limit)
  }

  /** By the id of the request, or of its W3C trace. */
  get(id: string): Trace | undefined {
    const all = this.list(Number.POSITIVE_INFINITY)
    return (
      all.find(({ request_id }) => request_id === id) ?? all.find(({ trace_id }) => trace_id === id)
    )
  }
}

/** Errors and slow requests have a second ring, so that other requests do not displace them. */
function notableOf(size: number): number {
  return Math.ceil(size / 4)
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

  /** Returns the displaced item. */
  add(item: T): T | undefined {
    if (this.#items.length === 0) return item
    const gone = this.#items[this.#next]
    this.#items[this.#next] = item
    this.#next = (this.#next + 1) % this.#items.length
    return gone
  }

  resized(size: number): Ring<T> {
    const ring = new Ring<T>(size)
    for (const item of this.newestFirst().slice(0, size).reverse()) ring.add(item)
    return ring
  }

  newestFirst(): T[] {
    const ordered = [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)]
    return ordered.filter((item) => item !== undefined).reverse()
  }
}
