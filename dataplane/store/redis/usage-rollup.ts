/** Sums the rows of usage of all replicas in the shared store, with writes in batches outside of requests. */
import type { Clock, Deadline } from '../../base/clock.ts'
import { usageRoot } from '../roots.ts'
import type { UsageBook } from '../usage-book.ts'
import {
  AMOUNTS,
  joinedNames,
  NOTHING,
  namesIn,
  ROW_NAMES,
  type Row,
  type SharedRows,
  type Span,
} from '../usage-row.ts'
import type { Link } from './link.ts'
import { DAYS_KEPT, HOURS_KEPT, READ_USAGE, REPEATED_HOURS, WRITE_USAGE } from './scripts/usage.ts'

/** A kill loses at most the usage of this time. */
const FLUSH_MS = 1_000
/** Most rows of one call, so that a script does not block the server for long. */
const ROWS_MAX = 250
/** Hashes that one call may read. */
const READ_MAX = 24

const HOUR_MS = 3_600_000
const LOST = -3

export interface UsageRollupOptions {
  readonly link: Link
  readonly isAway: () => boolean
  readonly keyPrefix: string
  /** Names this process; no other process has the name. */
  readonly replica: string
  readonly book: UsageBook
  readonly clock: Clock
  /** The number of rows that were counted without their key and tags, because an hour of the store is full. */
  readonly onFolded?: (rows: number) => void
  /** Called for rows that waited so long that the store no longer accepts them. */
  readonly onForgotten: (rows: number) => void
}

/** A deadline: the caller must add it to those of the process. */
export class UsageRollup implements Deadline {
  due: number
  seat = -1
  readonly #options: UsageRollupOptions
  readonly #changed = new Set<Row>()
  readonly #root: string
  /** Numbers the calls, to detect a store that lost some. */
  #turn = 0
  #answered = 0
  #flushing: Promise<void> | undefined

  constructor(options: UsageRollupOptions) {
    const { book, clock, keyPrefix } = options
    this.#options = options
    this.#root = usageRoot(keyPrefix)
    book.changed = this.#changed
    this.due = clock.now() + FLUSH_MS
  }

  /** Rows that the store does not have yet. */
  get waiting(): number {
    return this.#changed.size
  }

  expire(now: number): void {
    this.due = now + FLUSH_MS
    if (this.#changed.size === 0 || this.#options.isAway()) return
    this.flush().catch(() => undefined)
  }

  /** Notes that the store is back, perhaps without its data; the next flush checks it even without new rows. */
  returned(): void {
    if (this.#turn === 0) return
    this.#once(() => this.#check()).catch(() => undefined)
  }

  /** Resolves after the store has everything counted before the call; rejects with StoreAway. */
  async flush(): Promise<void> {
    // A running flush may have begun before the last row was counted.
    await this.#flushing
    await this.#once(() => this.#writeAll())
  }

  /** The sum of all replicas. Rejects with StoreAway. */
  async read(span: Span, isByHour: boolean): Promise<SharedRows> {
    await this.flush()
    const oldest = this.#oldest(isByHour)
    const from = latest(span.from, oldest)
    const places = isByHour ? hoursBetween(from, span.to) : this.#placesBetween(from, span.to)
    const pages = this.#pages(places)
    // The first page has the time of the oldest row.
    const page = await pages.next()
    const { since = '', rows = [] } = page.value ?? {}
    return {
      // A day starts with its first hour.
      from: `${places[0] ?? from}T00`.slice(0, 13),
      since: since === '' ? undefined : latest(since, oldest),
      rows: following(rows, pages),
    }
  }

  /** Returns hours if they are kept, else whole days. */
  #placesBetween(from: string, to: string): string[] {
    const border = `${this.#hourBefore(HOURS_KEPT - 24).slice(0, 10)}T00`
    if (from >= border) return hoursBetween(from, to)
    const days = hoursBetween(from, to < border ? to : border).filter((hour) => hour < border)
    return [...new Set(days.map((hour) => hour.slice(0, 10))), ...hoursBetween(border, to)]
  }

  /** Rows have gone that were older. */
  #oldest(isByHour: boolean): string {
    return this.#hourBefore(isByHour ? HOURS_KEPT - 1 : (DAYS_KEPT - 1) * 24)
  }

  async *#pages(places: readonly string[]): AsyncGenerator<Page> {
    let at = 0
    do {
      const asked = places.slice(at, at + READ_MAX)
      const keys = [this.#key('since'), ...asked.map((place) => this.#rowsKey(place))]
      const [since, ...hashes] = (await this.#options.link.run(READ_USAGE, keys, [])) as Reply
      yield { since, rows: rowsOf(hashes, asked) }
      at += Math.max(1, hashes.length)
    } while (at < places.length)
  }

  async #check(): Promise<void> {
    if (await this.#write(this.#hourBefore(0), [])) await this.#writeAll()
  }

  async #once(work: () => Promise<void>): Promise<void> {
    this.#flushing ??= work().finally(() => {
      this.#flushing = undefined
    })
    await this.#flushing
  }

  async #writeAll(): Promise<void> {
    // A store that lost data gets all rows in the second round.
    for (let round = 0, isLost = true; isLost && round < 2; round++) {
      isLost = false
      this.#forgetOld()
      const left = new Set(this.#changed)
      for (let batch = batchOf(left); batch.length > 0; batch = batchOf(left)) {
        isLost = (await this.#write(batch[0]?.hour ?? '', batch)) || isLost
        for (const row of batch) left.delete(row)
      }
    }
  }

  /** Returns whether the store had lost data and therefore took nothing. */
  async #write(hour: string, rows: readonly Row[]): Promise<boolean> {
    const { link, replica, book, onFolded } = this.#options
    const turn = ++this.#turn
    // A request that ends while the call is under way changes its row again.
    for (const row of rows) this.#changed.delete(row)
    const args = rows.flatMap((row) => [nameOf(row), AMOUNTS.map((name) => row[name]).join()])
    const keys = [
      this.#rowsKey(hour),
      this.#rowsKey(hour.slice(0, 10)),
      this.#key(`added:${hour}:${replica}`),
      this.#key(`replica:${replica}`),
      this.#key('since'),
    ]
    try {
      const reply = link.run(WRITE_USAGE, keys, [this.#answered, turn, hour, ...args])
      const [code, folded = 0] = (await reply) as number[]
      if (code !== LOST) {
        this.#answered = turn
        if (folded > 0) onFolded?.(folded)
        return false
      }
    } catch (error) {
      for (const row of rows) this.#changed.add(row)
      throw error
    }
    this.#answered = 0
    for (const row of book.between(this.#hourBefore(REPEATED_HOURS - 1), '9'))
      this.#changed.add(row)
    return true
  }

  /** Drops old rows, because the store no longer knows which part of them it has. */
  #forgetOld(): void {
    const oldest = this.#hourBefore(REPEATED_HOURS - 1)
    let rows = 0
    for (const row of this.#changed) {
      if (row.hour >= oldest) continue
      this.#changed.delete(row)
      rows++
    }
    if (rows > 0) this.#options.onForgotten(rows)
  }

  #hourBefore(hours: number): string {
    return hourOf(this.#options.clock.wall() - hours * HOUR_MS)
  }

  #rowsKey(place: string): string {
    return this.#key(`${place.length === 10 ? 'day' : 'hour'}:${place}`)
  }

  #key(name: string): string {
    return `${this.#root}:${name}`
  }
}

/** Rows of one hour, since a call writes to one. */
function batchOf(rows: ReadonlySet<Row>): Row[] {
  const batch: Row[] = []
  for (const row of rows) {
    const [first = row] = batch
    if (row.hour === first.hour && batch.push(row) === ROWS_MAX) break
  }
  return batch
}

async function* following(rows: Iterable<Row>, pages: AsyncIterable<Page>) {
  yield rows
  for await (const page of pages) yield page.rows
}

interface Page {
  readonly since: string
  readonly rows: Iterable<Row>
}

type Reply = readonly [since: string, ...hashes: (readonly string[])[]]

function nameOf(row: Row): string {
  return joinedNames(ROW_NAMES.map((name) => row[name]))
}

/** Yields rows one by one, because a hash has thousands and requests need turns in between. */
function* rowsOf(
  hashes: readonly (readonly string[])[],
  places: readonly string[],
): Generator<Row> {
  for (const [index, fields] of hashes.entries()) {
    const hour = places[index] ?? ''
    for (let at = 0; at + 1 < fields.length; at += 2)
      yield rowOf(hour, fields[at] ?? '', fields[at + 1] ?? '')
  }
}

function rowOf(hour: string, name: string, totals: string): Row {
  const [tenant = '', key = '', route = '', upstream = '', model = '', tags = ''] = namesIn(name)
  const numbers = totals.split(',')
  const row = { hour, tenant, key, route, upstream, model, tags, ...NOTHING }
  for (const [index, amount] of AMOUNTS.entries()) row[amount] = Number(numbers[index] ?? 0)
  return row
}

function latest(...hours: readonly [string, string]): string {
  return hours.toSorted()[1] ?? ''
}

function hoursBetween(from: string, to: string): string[] {
  const hours: string[] = []
  const end = Date.parse(`${to}:00:00Z`)
  for (let at = Date.parse(`${from}:00:00Z`); at <= end; at += HOUR_MS) hours.push(hourOf(at))
  return hours
}

function hourOf(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 13)
}
