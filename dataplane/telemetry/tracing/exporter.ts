/** Spans on their way to a collector: gathered in pages, sent in the background, dropped beyond a bound. Requests never wait. */
import type { Clock, Deadline } from '../../base/clock.ts'
import type { Cell } from '../series.ts'
import { type Decision, writeSpans } from './spans.ts'
import { type AttributeValue, keyOf, Writer } from './writer.ts'

/** A page is sent once it has this much, this many spans, or is this old. */
const PAGE_BYTES = 262_144
const PAGE_SPANS = 512
const PAGE_AGE_MS = 1000
/** No trace is larger: its texts and its events are bounded. */
const TRACE_BYTES_MAX = 131_072
/** Beyond this the oldest page is dropped. */
const WAITING_BYTES_MAX = 2_097_152
const BACKOFF_FIRST_MS = 1000
const BACKOFF_MS_MAX = 30_000
/** Pages that are kept to be written again. */
const SPARE_MAX = 2

/** Fields of `ExportTraceServiceRequest`, `ResourceSpans`, `Resource`, `ScopeSpans` and `InstrumentationScope`. */
const RESOURCE_SPANS = 1
const RESOURCE = 1
const RESOURCE_ATTRIBUTES = 1
const SCOPE_SPANS = 2
const SCOPE = 1
const SCOPE_NAME = 1
const SCOPE_VERSION = 2

/** How the collector took a page. */
export type Posted =
  | { readonly kind: 'taken'; readonly rejected: number }
  | { readonly kind: 'refused'; readonly why: string }
  /** It may take it later; `afterMs` is its wish. */
  | { readonly kind: 'away'; readonly why: string; readonly afterMs: number | undefined }

export interface ExporterOptions {
  /** Never rejects. */
  readonly post: (body: Uint8Array) => Promise<Posted>
  readonly resource: Readonly<Record<string, string>>
  readonly version: string
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly exported: Cell
  readonly dropped: (reason: 'queue_full' | 'refused' | 'rejected') => Cell
  readonly posts: (result: Posted['kind']) => Cell
  /** Hears at most once a minute why spans were not taken. */
  readonly warn: (why: string) => void
}

const WARN_EVERY_MS = 60_000

interface Page {
  readonly writer: Writer
  /** Where the lengths of the messages around the spans are to be written. */
  readonly around: readonly number[]
  /** Where the first span begins. */
  readonly begins: number
  spans: number
}

export class Exporter implements Deadline {
  due = Number.POSITIVE_INFINITY
  seat = -1
  readonly #options: ExporterOptions
  #page: Page
  readonly #full: Page[] = []
  readonly #spare: Page[] = []
  #waitingBytes = 0
  #posting = false
  #failures = 0
  #warnedAt = Number.NEGATIVE_INFINITY

  constructor(options: ExporterOptions) {
    this.#options = options
    this.#page = this.#begin()
  }

  add(decision: Decision): void {
    const page = this.#page
    const { writer } = page
    page.spans += writeSpans(writer, decision)
    if (writer.used >= PAGE_BYTES || page.spans >= PAGE_SPANS) {
      this.#turn()
      // A collector that is away is asked again when its time has come.
      if (this.#failures === 0) this.#send()
    } else if (this.due === Number.POSITIVE_INFINITY) this.due = this.#now() + PAGE_AGE_MS
  }

  /** Whether everything has left. */
  get isIdle(): boolean {
    return this.#page.spans === 0 && this.#full.length === 0
  }

  /** Sends now what waits, as at the end of the process. */
  flush(): void {
    if (this.#page.spans > 0) this.#turn()
    this.#send()
  }

  expire(): void {
    this.due = Number.POSITIVE_INFINITY
    this.flush()
  }

  #turn(): void {
    const { writer, around } = this.#page
    for (const start of around) writer.close(start)
    this.#full.push(this.#page)
    this.#waitingBytes += writer.used
    while (this.#waitingBytes > WAITING_BYTES_MAX) this.#drop()
    this.#page = this.#begin()
  }

  /** The page that is being sent stays: it may have been taken already. */
  #drop(): void {
    const [oldest] = this.#full.splice(this.#posting ? 1 : 0, 1)
    if (oldest === undefined) return
    this.#options.dropped('queue_full').value += oldest.spans
    this.#release(oldest)
  }

  #send(): void {
    const page = this.#full[0]
    if (page === undefined || this.#posting) return
    this.#posting = true
    const { writer } = page
    void this.#options.post(writer.bytes.subarray(0, writer.used)).then((posted) => {
      this.#posting = false
      this.#posted(page, posted)
    })
  }

  #posted(page: Page, posted: Posted): void {
    const { exported, dropped, posts } = this.#options
    posts(posted.kind).value++
    if (posted.kind === 'away') {
      this.#warn(posted.why)
      this.#failures++
      this.due = this.#now() + (posted.afterMs ?? this.#backoff())
      return
    }
    this.#failures = 0
    this.#full.shift()
    if (posted.kind === 'taken') {
      const rejected = Math.min(posted.rejected, page.spans)
      exported.value += page.spans - rejected
      if (rejected > 0) {
        dropped('rejected').value += rejected
        this.#warn(`it rejected ${rejected} spans`)
      }
    } else {
      dropped('refused').value += page.spans
      this.#warn(posted.why)
    }
    this.#release(page)
    this.#send()
  }

  #backoff(): number {
    const most = Math.min(BACKOFF_MS_MAX, BACKOFF_FIRST_MS * 2 ** (this.#failures - 1))
    return most * (0.5 + this.#options.random() / 2)
  }

  #release(page: Page): void {
    this.#waitingBytes -= page.writer.used
    if (this.#spare.length < SPARE_MAX) this.#spare.push(page)
  }

  #begin(): Page {
    const spare = this.#spare.pop()
    if (spare !== undefined) {
      spare.writer.used = spare.begins
      spare.spans = 0
      return spare
    }
    const { resource, version } = this.#options
    const writer = new Writer(PAGE_BYTES + TRACE_BYTES_MAX)
    const whole = writer.open(RESOURCE_SPANS)
    const about = writer.open(RESOURCE)
    for (const [name, value] of Object.entries<AttributeValue>(resource))
      writer.attribute(RESOURCE_ATTRIBUTES, keyOf(name), value)
    writer.close(about)
    const scoped = writer.open(SCOPE_SPANS)
    const scope = writer.open(SCOPE)
    writer.text(SCOPE_NAME, 'gw')
    writer.text(SCOPE_VERSION, version)
    writer.close(scope)
    return { writer, around: [scoped, whole], begins: writer.used, spans: 0 }
  }

  #warn(why: string): void {
    const now = this.#now()
    if (now - this.#warnedAt < WARN_EVERY_MS) return
    this.#warnedAt = now
    this.#options.warn(why)
  }

  #now(): number {
    return this.#options.clock.now()
  }
}
