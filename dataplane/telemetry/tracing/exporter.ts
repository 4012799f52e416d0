/** Exports spans or other items: gathered in pages, sent in the background, dropped beyond a bound. */
import type { Clock, Deadline } from '../../base/clock.ts'
import type { Cell } from '../series.ts'

/** A page is sent once it is this old. */
const PAGE_AGE_MS = 1000
/** Beyond this the oldest page is dropped. */
const WAITING_BYTES_MAX = 2_097_152
const BACKOFF_FIRST_MS = 1000
const BACKOFF_MS_MAX = 30_000
/** Most empty pages that are kept for reuse. */
const SPARE_MAX = 2

/** The collector's reply to a page. */
export type Posted =
  | { readonly kind: 'taken'; readonly rejected: number }
  | { readonly kind: 'refused'; readonly why: string }
  /** The collector may accept the page later; `afterMs`: its requested wait. */
  | { readonly kind: 'away'; readonly why: string; readonly afterMs: number | undefined }

/** Why items are lost, in metrics. */
export const LOST = ['queue_full', 'rejected', 'refused'] as const

/** Items that are sent together. */
export interface Page<Item> {
  /** Bytes so far. */
  readonly used: number
  readonly items: number
  add(item: Item): void
  /** Closes the page and returns the body. */
  finish(): Uint8Array
  /** Empties the page for reuse. */
  clear(): void
}

export interface ExporterOptions<Item> {
  readonly open: () => Page<Item>
  /** Size at which a page is sent. */
  readonly most: { readonly bytes: number; readonly items: number }
  /** Never rejects. */
  readonly post: (body: Uint8Array) => Promise<Posted>
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly exported: Cell
  readonly dropped: (reason: (typeof LOST)[number]) => Cell
  readonly posts?: (result: Posted['kind']) => Cell
  /** Called at most once a minute with the reason why items were not accepted. */
  readonly warn: (why: string) => void
}

const WARN_EVERY_MS = 60_000

/** A page with its body, once it is full. */
interface Parcel<Item> {
  readonly page: Page<Item>
  readonly body: Uint8Array
}

export class Exporter<Item> implements Deadline {
  due = Number.POSITIVE_INFINITY
  seat = -1
  readonly #options: ExporterOptions<Item>
  #page: Page<Item>
  readonly #full: Parcel<Item>[] = []
  readonly #spare: Page<Item>[] = []
  #waitingBytes = 0
  #posting = false
  #failures = 0
  #warnedAt = Number.NEGATIVE_INFINITY

  constructor(options: ExporterOptions<Item>) {
    this.#options = options
    this.#page = options.open()
  }

  add(item: Item): void {
    const page = this.#page
    const { most } = this.#options
    page.add(item)
    if (page.used >= most.bytes || page.items >= most.items) {
      this.#turn()
      // An unreachable receiver is tried again only after its wait.
      if (this.#failures === 0) this.#send()
    } else if (this.due === Number.POSITIVE_INFINITY) this.due = this.#now() + PAGE_AGE_MS
  }

  /** Whether everything was sent. */
  get isIdle(): boolean {
    return this.#page.items === 0 && this.#full.length === 0
  }

  /** Items that were not sent yet. */
  get waiting(): number {
    return this.#full.reduce((sum, { page }) => sum + page.items, this.#page.items)
  }

  /** Sends waiting items now, as at the end of the process. */
  flush(): void {
    if (this.#page.items > 0) this.#turn()
    this.#send()
  }

  expire(): void {
    this.due = Number.POSITIVE_INFINITY
    // While full pages wait, the open page can fill, because each page takes its whole memory.
    if (this.#full.length > 0) this.#send()
    else this.flush()
  }

  #turn(): void {
    const page = this.#page
    this.#full.push({ page, body: page.finish() })
    this.#waitingBytes += page.used
    while (this.#waitingBytes > WAITING_BYTES_MAX && this.#drop());
    this.#page = this.#spare.pop() ?? this.#options.open()
  }

  /** Keeps the page that is being sent, because it may have been accepted. */
  #drop(): boolean {
    const [oldest] = this.#full.splice(this.#posting ? 1 : 0, 1)
    if (oldest === undefined) return false
    this.#options.dropped('queue_full').value += oldest.page.items
    this.#release(oldest)
    return true
  }

  #send(): void {
    const parcel = this.#full[0]
    if (parcel === undefined || this.#posting) return
    this.#posting = true
    void this.#options.post(parcel.body).then((posted) => {
      this.#posting = false
      this.#posted(parcel, posted)
    })
  }

  #posted(parcel: Parcel<Item>, posted: Posted): void {
    const { exported, dropped, posts } = this.#options
    const { items } = parcel.page
    const cell = posts?.(posted.kind)
    if (cell !== undefined) cell.value++
    if (posted.kind === 'away') {
      this.#warn(posted.why)
      this.#failures++
      this.due = this.#now() + (posted.afterMs ?? this.#backoff())
      return
    }
    this.#failures = 0
    this.#full.shift()
    if (posted.kind === 'taken') {
      const rejected = Math.min(posted.rejected, items)
      exported.value += items - rejected
      if (rejected > 0) {
        dropped('rejected').value += rejected
        this.#warn(`it rejected ${rejected} of ${items}`)
      }
    } else {
      dropped('refused').value += items
      this.#warn(posted.why)
    }
    this.#release(parcel)
    this.#send()
    if (this.#page.items > 0 && this.due === Number.POSITIVE_INFINITY)
      this.due = this.#now() + PAGE_AGE_MS
  }

  #backoff(): number {
    const most = Math.min(BACKOFF_MS_MAX, BACKOFF_FIRST_MS * 2 ** (this.#failures - 1))
    return most * (0.5 + this.#options.random() / 2)
  }

  #release({ page }: Parcel<Item>): void {
    this.#waitingBytes -= page.used
    page.clear()
    if (this.#spare.length < SPARE_MAX) this.#spare.push(page)
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
