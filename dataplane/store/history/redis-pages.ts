/**
 * The pages of the history in the shared store. A hash for each hour has the minutes and events of all replicas, one for
 * each day has their hours; a replica writes its own fields, and readers add them up.
 */
import type { Clock, Deadline } from '../../base/clock.ts'
import type { Link, Script } from '../redis/link.ts'
import { usageRoot } from '../roots.ts'
import type { HistoryBook } from './book.ts'
import type { KeptPage, PageSpan } from './kept.ts'
import type { Page } from './page.ts'
import { HOUR_MS, KEPT_MS, kindOf, type PageKind, placesBetween } from './places.ts'

const FLUSH_MS = 5_000
/** Most pages of one call: about 100 KiB. */
const PAGES_MAX = 50

const WRITE: Script = {
  name: 'history',
  lua: `
local fields = {}
for i = 2, #ARGV do fields[i - 1] = ARGV[i] end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
`,
}

const READ: Script = {
  name: 'read-history',
  lua: "return redis.call('HGETALL', KEYS[1])",
}

export interface RedisPagesOptions {
  readonly link: Link
  readonly isAway: () => boolean
  readonly keyPrefix: string
  /** Names this process; no other process has the name. */
  readonly replica: string
  readonly book: HistoryBook
  readonly clock: Clock
}

/** A deadline: the caller must add it to those of the process. */
export class RedisPages implements Deadline {
  due: number
  seat = -1
  readonly #options: RedisPagesOptions
  readonly #changed = new Set<string>()
  readonly #root: string
  #flushing: Promise<void> | undefined

  constructor(options: RedisPagesOptions) {
    this.#options = options
    this.#root = `${usageRoot(options.keyPrefix)}:history`
    options.book.changed = this.#changed
    this.due = options.clock.now() + FLUSH_MS
  }

  expire(now: number): void {
    this.due = now + FLUSH_MS
    if (this.#changed.size === 0 || this.#options.isAway()) return
    this.flush().catch(() => undefined)
  }

  /** The store is back, perhaps without its data. */
  returned(): void {
    for (const place of this.#options.book.places()) this.#changed.add(place)
  }

  /** Resolves after the store has every page of this process. Rejects with StoreAway. */
  async flush(): Promise<void> {
    this.#options.book.turn()
    this.#flushing ??= this.#writeAll().finally(() => {
      this.#flushing = undefined
    })
    await this.#flushing
  }

  async *read({ kind, from, until }: PageSpan): AsyncGenerator<readonly KeptPage[]> {
    await this.flush()
    const keys = new Set<string>()
    for (const place of placesBetween(kind, from, until)) keys.add(this.#keyOf(place))
    // One call for each hash, so that the server is never held up for long.
    for (const key of keys) yield pagesIn(key, kind, await this.#options.link.run(READ, [key], []))
  }

  async #writeAll(): Promise<void> {
    const left = new Set(this.#changed)
    while (left.size > 0) {
      const [first = ''] = left
      const key = this.#keyOf(first)
      const batch: string[] = []
      for (const place of left)
        if (this.#keyOf(place) === key && batch.push(place) === PAGES_MAX) break
      for (const place of batch) left.delete(place)
      await this.#write(key, batch)
    }
  }

  async #write(key: string, places: readonly string[]): Promise<void> {
    const { link, replica, book } = this.#options
    const written: [string, Page][] = []
    for (const place of places) {
      const page = book.page(place)
      if (page !== undefined) written.push([place, page])
      this.#changed.delete(place)
    }
    if (written.length === 0) return
    const fields = written.flatMap(([place, page]) => [
      `${replica} ${partOf(place)}`,
      Buffer.from(page).toString('base64'),
    ])
    const keptMs =
      kindOf(places[0] ?? '') === 'hour' ? KEPT_MS.hour + 24 * HOUR_MS : KEPT_MS.minute + HOUR_MS
    try {
      await link.run(WRITE, [key], [keptMs, ...fields])
    } catch (error) {
      for (const [place] of written) this.#changed.add(place)
      throw error
    }
  }

  /** Minutes and events of an hour are together, and hours of a day. */
  #keyOf(place: string): string {
    const time = place.slice(place.indexOf(':') + 1)
    return `${this.#root}:${time.slice(0, kindOf(place) === 'hour' ? 10 : 13)}`
  }
}

/** `05` of a minute, `08` of an hour, `events`. */
function partOf(place: string): string {
  return kindOf(place) === 'events' ? 'events' : place.slice(-2)
}

function pagesIn(key: string, kind: PageKind, reply: unknown): KeptPage[] {
  const fields = reply as readonly string[]
  const time = key.slice(key.lastIndexOf(':history:') + ':history:'.length)
  const pages: KeptPage[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [replica = '', part = ''] = fields[at]?.split(' ') ?? []
    const place = placeIn(time, part)
    if (kindOf(place) !== kind) continue
    pages.push({ place, replica, page: Buffer.from(fields[at + 1] ?? '', 'base64') })
  }
  return pages
}

function placeIn(time: string, part: string): string {
  if (part === 'events') return `events:${time}`
  return time.length === 10 ? `hour:${time}T${part}` : `minute:${time}:${part}`
}
