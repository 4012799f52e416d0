/** Keeps a store equal to the API server: one list, then watches from version to version, without end. */
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiClient, Selection } from '../api.ts'
import { ApiError } from '../api-error.ts'
import type { KubeObject, Resource } from '../objects.ts'
import type { Stream } from '../transport.ts'
import type { ObjectStore } from './store.ts'
import { readEvents } from './watch-events.ts'

/** Why a watch or list ended; a label of a metric. */
export const WATCH_ENDS = ['end', 'silence', 'expired', 'refused', 'broken', 'went_back'] as const
export type WatchEnd = (typeof WATCH_ENDS)[number]

export interface ReflectorOptions {
  readonly api: Pick<ApiClient, 'list' | 'watch'>
  readonly resource: Resource
  readonly selection: Selection
  readonly store: ObjectStore
  readonly random: () => number
  /** Keeps only the needed parts of an object; called before it is stored. */
  readonly trim?: (object: KubeObject) => KubeObject
  /** Objects of one page. */
  readonly pageLength?: number
  readonly onList?: (changes: number) => void
  readonly onEnd?: (ending: WatchEnd, error: unknown) => void
  readonly timings?: Partial<Timings>
}

export interface Timings {
  /** The server ends a watch after this many seconds, plus up to a fifth: lost changes surface by then. */
  readonly watchSeconds: number
  /** A watch that is open this long after its end is dead. */
  readonly silenceMs: number
  /** At most one list in this time. */
  readonly listIntervalMs: number
  readonly backoffMs: number
  readonly backoffMsMax: number
  /** The store is compared with a list at least this often. */
  readonly relistMs: number
}

/** Short watches instead of bookmarks as a heartbeat: a resource without any event gets no bookmark. */
const TIMINGS: Timings = {
  watchSeconds: 18,
  silenceMs: 4000,
  listIntervalMs: 5000,
  backoffMs: 500,
  backoffMsMax: 10_000,
  relistMs: 30 * 60_000,
}

const PAGE_LENGTH = 500

export class Reflector {
  readonly #options: ReflectorOptions
  readonly #timings: Timings
  readonly #stopping = new AbortController()
  readonly #ready = Promise.withResolvers<void>()
  #running: Promise<void> | undefined
  /** Absent: a list comes next. */
  #version: string | undefined
  #askedAt = Number.NEGATIVE_INFINITY
  #listedAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #healthyAt = performance.now()
  #isSynced = false

  constructor(options: ReflectorOptions) {
    this.#options = options
    this.#timings = { ...TIMINGS, ...options.timings }
  }

  start(): void {
    this.#running ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  /** Resolves after the first whole list. */
  get synced(): Promise<void> {
    return this.#ready.promise
  }

  get isSynced(): boolean {
    return this.#isSynced
  }

  /** Milliseconds since the last answer of the API server. */
  get silentMs(): number {
    return performance.now() - this.#healthyAt
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        if (this.#version === undefined || this.#isOld()) await this.#list()
        else await this.#watch(this.#version)
        this.#failures = 0
        this.#healthyAt = performance.now()
      } catch (error) {
        if (signal.aborted) return
        await this.#recover(error).catch(() => {})
      }
    }
  }

  #isOld(): boolean {
    return performance.now() - this.#listedAt > this.#timings.relistMs
  }

  async #list(): Promise<void> {
    const { api, resource, selection, store, onList } = this.#options
    await this.#waitForList()
    const objects: KubeObject[] = []
    const limit = this.#options.pageLength ?? PAGE_LENGTH
    let page = await api.list(resource, selection, { limit })
    // The watch delivers changes made while the pages arrive: it starts at the version of the first page.
    const { resourceVersion } = page
    for (;;) {
      // Page by page, so that at most one raw page is in memory.
      for (const object of page.items) objects.push(this.#trim(object))
      if (page.next === undefined) break
      page = await api.list(resource, selection, { limit, next: page.next })
    }
    const changes = store.replace(objects)
    this.#version = resourceVersion
    this.#listedAt = performance.now()
    this.#isSynced = true
    this.#ready.resolve()
    onList?.(changes)
  }

  async #waitForList(): Promise<void> {
    const waitMs = this.#askedAt + this.#timings.listIntervalMs - performance.now()
    if (waitMs > 0) await delay(waitMs, undefined, { signal: this.#stopping.signal })
    this.#askedAt = performance.now()
  }

  /** Returns when the server ends the watch as agreed; throws on everything else. */
  async #watch(version: string): Promise<void> {
    const { api, resource, selection, random, onEnd } = this.#options
    const seconds = Math.ceil(this.#timings.watchSeconds * (1 + random() / 5))
    const silence = AbortSignal.timeout(seconds * 1000 + this.#timings.silenceMs)
    const signal = AbortSignal.any([this.#stopping.signal, silence])
    const begun = performance.now()
    try {
      const options = { resourceVersion: version, seconds, signal }
      await this.#follow(await api.watch(resource, selection, options))
    } catch (error) {
      if (silence.aborted) throw new SilenceError()
      throw error
    }
    // A server that ends each watch at once must not be asked in a tight loop.
    if (performance.now() - begun < 1000 * Math.min(1, seconds / 2)) {
      throw new Error('the watch ended at once')
    }
    onEnd?.('end', undefined)
  }

  async #follow(stream: Stream): Promise<void> {
    try {
      for await (const event of readEvents(stream.chunks)) {
        if (event.type === 'BOOKMARK') this.#advance(event.resourceVersion)
        else this.#take(event)
        this.#healthyAt = performance.now()
      }
    } finally {
      stream.close()
    }
  }

  #take(event: { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: KubeObject }): void {
    const { store } = this.#options
    const { metadata } = event.object
    this.#advance(metadata.resourceVersion)
    if (event.type === 'DELETED') store.remove(`${metadata.namespace ?? ''}/${metadata.name}`)
    else store.put(this.#trim(event.object))
  }

  #advance(version: string | undefined): void {
    if (version === undefined) return
    if (isBefore(version, this.#version)) throw new WentBackError()
    this.#version = version
  }

  #trim(object: KubeObject): KubeObject {
    const { trim } = this.#options
    return trim === undefined ? object : trim(object)
  }

  async #recover(error: unknown): Promise<void> {
    const ending = endingOf(error)
    this.#options.onEnd?.(ending, error)
    if (ending === 'expired' || ending === 'went_back') this.#version = undefined
    const waitMs = this.#waitAfter(error)
    await delay(waitMs, undefined, { signal: this.#stopping.signal })
    if (this.#version !== undefined && ending !== 'silence') await this.#askWhetherItWentBack()
  }

  /**
   * After an outage of a server, its versions may start below ours: a watch from the future would stay silent forever.
   */
  async #askWhetherItWentBack(): Promise<void> {
    const { api, resource, selection } = this.#options
    await this.#waitForList()
    const { resourceVersion } = await api.list(resource, selection, { limit: 1 })
    if (isBefore(resourceVersion, this.#version)) this.#version = undefined
  }

  #waitAfter(error: unknown): number {
    const { backoffMs, backoffMsMax } = this.#timings
    const bound = Math.min(backoffMsMax, backoffMs * 2 ** Math.min(this.#failures, 16))
    this.#failures++
    const jittered = bound * (0.5 + this.#options.random() / 2)
    const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0
    return Math.max(asked, jittered)
  }
}

class SilenceError extends Error {
  constructor() {
    super('the watch was silent beyond its end')
    this.name = 'SilenceError'
  }
}

class WentBackError extends Error {
  constructor() {
    super('the versions of the API server went back')
    this.name = 'WentBackError'
  }
}

function endingOf(error: unknown): WatchEnd {
  if (error instanceof SilenceError) return 'silence'
  if (error instanceof WentBackError) return 'went_back'
  if (!(error instanceof ApiError)) return 'broken'
  return error.status === 410 ? 'expired' : 'refused'
}

/** Versions are opaque to clients, except that a smaller one means that the past was restored. */
function isBefore(version: string, known: string | undefined): boolean {
  if (known === undefined || !/^\d+$/.test(version) || !/^\d+$/.test(known)) return false
  return BigInt(version) < BigInt(known)
}
