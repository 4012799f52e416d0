/**
 * The history of this process: counts by minute for 48 hours and by hour for 31 days, and events. A minute or hour
 * without a page is one in which it did not run. Other code reads it with `readHistory` of read.ts or by `GET /history`;
 * stores keep its pages.
 */
import type { Clock, Deadline } from '../../base/clock.ts'
import type { Change } from '../../telemetry/changes.ts'
import { Cells } from './cells.ts'
import { cellsOf, type Page, packed, pageOf, unpacked } from './page.ts'
import {
  HOUR_MS,
  kindOf,
  MINUTE_MS,
  oldestOf,
  PAGE_KINDS,
  type PageKind,
  placeOf,
  startOf,
} from './places.ts'
import { Tally } from './tally.ts'

/** A kill loses at most the history of this time, and of the write that follows. */
const TURN_MS = 5_000
/** Bytes of all pages; names and their counts of the present hour need about one more MiB. */
const BYTES_MAX = 6.5 * 1_048_576
/** Memory of one page beside its bytes. */
const PAGE_BYTES = 250
const EVENTS_MAX = 200
/** A budget that stays spent is an event once in this time. */
const SPENT_MS = HOUR_MS
const SPENT_MAX = 1_000

interface Open {
  readonly kind: PageKind
  place: string
  cells: Cells
}

/** A deadline: the caller must add it to those of the process. */
export class HistoryBook implements Deadline {
  due: number
  seat = -1
  readonly tally = new Tally()
  /** Places of pages that changed since they were last written; absent if pages are never written. */
  changed: Set<string> | undefined
  /** Called for a tenant whose requests are refused because its budget is spent. */
  onSpent: (tenant: string, message: string) => void = () => undefined
  readonly #clock: Clock
  readonly #pages = new Map<string, Page>()
  readonly #open: readonly Open[]
  #events: { place: string; list: Change[] } = { place: '', list: [] }
  readonly #spent = new Map<string, number>()
  #bytes = 0
  #turnedAt: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#turnedAt = clock.wall()
    this.#open = [
      { kind: 'minute', place: '', cells: new Cells() },
      { kind: 'hour', place: '', cells: new Cells() },
    ]
    this.due = clock.now() + TURN_MS
  }

  get wall(): number {
    return this.#clock.wall()
  }

  /** Bytes of all pages. */
  get bytes(): number {
    return this.#bytes
  }

  /** Restores written pages, which the next counts continue. */
  restore(pages: Iterable<readonly [place: string, page: Page]>): void {
    for (const [place, page] of pages) this.#put(place, page)
    this.#forget()
  }

  expire(now: number): void {
    this.turn()
    // So that a minute has the requests of that minute.
    this.due = now + Math.min(TURN_MS, MINUTE_MS - (this.wall % MINUTE_MS))
  }

  /** Moves what was counted into the pages. */
  turn(): void {
    const { cells, spent } = this.tally.take()
    const { wall } = this
    for (const open of this.#open) {
      if (!cells.isEmpty) {
        this.#move(open, this.#countedAt(open.kind, wall))
        open.cells.add(cells)
        this.#change(open.place, pageOf(open.cells))
      }
      this.#move(open, wall)
      // A page without counts shows that the gateway ran.
      if (!this.#pages.has(open.place)) this.#change(open.place, pageOf(open.cells))
    }
    this.#turnedAt = wall
    for (const [tenant, message] of spent) this.#noteSpent(tenant, message)
  }

  /** The look at the end of a minute is a little late: what it finds is from before, unless most of the time is not. */
  #countedAt(kind: PageKind, wall: number): number {
    const inPresent = wall - startOf(placeOf(kind, wall))
    return inPresent < (wall - this.#turnedAt) / 2 ? this.#turnedAt : wall
  }

  #move(open: Open, wall: number): void {
    const place = placeOf(open.kind, wall)
    if (open.place === place) return
    open.place = place
    open.cells = cellsOf(this.#pages.get(place))
    this.#forget()
  }

  /** Keeps an event: at most 200 an hour. */
  note(change: Change): void {
    const place = placeOf('events', this.wall)
    if (this.#events.place !== place) {
      // A restart continues the hour.
      const list = eventsOf(this.#pages.get(place))
      this.#events = { place, list }
    }
    const { list } = this.#events
    if (list.length >= EVENTS_MAX) return
    list.push(change)
    this.#change(place, packed(list))
  }

  page(place: string): Page | undefined {
    return this.#pages.get(place)
  }

  places(): Iterable<string> {
    return this.#pages.keys()
  }

  #noteSpent(tenant: string, message: string): void {
    const last = this.#spent.get(tenant)
    if (last !== undefined && this.wall - last < SPENT_MS) return
    if (this.#spent.size >= SPENT_MAX) this.#spent.clear()
    this.#spent.set(tenant, this.wall)
    this.onSpent(tenant, message)
  }

  #change(place: string, page: Page): void {
    this.#put(place, page)
    this.changed?.add(place)
  }

  #put(place: string, page: Page): void {
    const before = this.#pages.get(place)
    this.#bytes += page.length - (before?.length ?? -PAGE_BYTES)
    this.#pages.set(place, page)
  }

  /** Drops old pages, and the oldest minutes of a history that is too large. */
  #forget(): void {
    const oldest = new Map(PAGE_KINDS.map((kind) => [kind, oldestOf(kind, this.wall)]))
    for (const place of this.#pages.keys()) {
      const kind = kindOf(place)
      if (kind === undefined || place < (oldest.get(kind) ?? '')) this.#drop(place)
    }
    if (this.#bytes <= BYTES_MAX) return
    for (const place of [...this.#pages.keys()].filter((one) => one[0] === 'm').sort()) {
      if (this.#bytes <= BYTES_MAX) return
      this.#drop(place)
    }
  }

  #drop(place: string): void {
    this.#bytes -= (this.#pages.get(place)?.length ?? 0) + PAGE_BYTES
    this.#pages.delete(place)
    this.changed?.delete(place)
  }
}

/** The events of a page, oldest first. */
export function eventsOf(page: Page | undefined): Change[] {
  const list = page && unpacked(page)
  return Array.isArray(list) ? list : []
}
