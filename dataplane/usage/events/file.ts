/**
 * Events as lines of JSON in a file: written in the background, in segments, in whole lines unless a write is killed.
 */
import { type FileHandle, mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock, Deadline } from '../../base/clock.ts'
import type { Cell } from '../../telemetry/series.ts'
import { EVENT_TYPE, type UsageEvent } from './event.ts'

/** A kill loses at most the events of this time. */
const WRITE_MS = 250
/** Wait before a failed write is repeated. */
const RETRY_MS = 5_000
/** Most waiting characters, for example if the disk is full; further events are dropped. */
const WAITING_MAX = 8_388_608
const NEWLINE = 10

export interface EventFileOptions {
  readonly path: string
  /** A segment is closed before it exceeds this size. */
  readonly max_bytes: number
  /** Closed segments that are kept: `PATH.1` is the newest. */
  readonly keep: number
  readonly clock: Clock
  readonly delivered: Cell
  readonly dropped: Cell
  /** Called when writing begins to fail, and with undefined when it succeeds again. */
  readonly onFailure: (error: Error | undefined) => void
}

export class EventFile implements Deadline {
  due = Number.POSITIVE_INFINITY
  seat = -1
  readonly #options: EventFileOptions
  #text = ''
  #events = 0
  #writing: Promise<void> | undefined
  #file: FileHandle | undefined
  #isFailing = false
  /** The last line may lack its end. */
  #isTorn = false

  constructor(options: EventFileOptions) {
    this.#options = options
  }

  add({ id, time, facts }: UsageEvent): void {
    const { clock, dropped } = this.#options
    if (this.#text.length > WAITING_MAX) {
      dropped.value++
      return
    }
    this.#text += `${JSON.stringify({ id, time, type: EVENT_TYPE, ...facts })}\n`
    this.#events++
    if (this.due === Number.POSITIVE_INFINITY) this.due = clock.now() + WRITE_MS
  }

  get isIdle(): boolean {
    return this.#events === 0 && this.#writing === undefined
  }

  get waiting(): number {
    return this.#events
  }

  expire(): void {
    this.due = Number.POSITIVE_INFINITY
    this.flush()
  }

  /** Writes waiting events now. */
  flush(): void {
    if (this.#events === 0 || this.#writing !== undefined) return
    const [text, events] = [this.#text, this.#events]
    this.#text = ''
    this.#events = 0
    this.#writing = this.#write(text).then(
      () => this.#written(events),
      (error: Error) => this.#failed(error, text, events),
    )
  }

  /** No event may follow; resolves once everything is written, or cannot be. */
  async close(): Promise<void> {
    await this.#writing
    this.flush()
    await this.#writing
    await this.#file?.close()
    this.#file = undefined
  }

  #written(events: number): void {
    const { delivered, clock, onFailure } = this.#options
    this.#writing = undefined
    delivered.value += events
    if (this.#isFailing) onFailure(undefined)
    this.#isFailing = false
    if (this.#events > 0) this.due = clock.now() + WRITE_MS
  }

  /** A part may have been written: its whole lines are written again with the same ids. */
  #failed(error: Error, text: string, events: number): void {
    const { clock, onFailure } = this.#options
    this.#writing = undefined
    this.#isTorn = true
    this.#text = text + this.#text
    this.#events += events
    this.due = clock.now() + RETRY_MS
    if (!this.#isFailing) onFailure(error)
    this.#isFailing = true
  }

  async #write(text: string): Promise<void> {
    const bytes = Buffer.from(text)
    const { file, size } = await this.#opened()
    const isFull = size > 0 && size + bytes.length > this.#options.max_bytes
    const target = isFull ? await this.#rotated(file) : file
    const start = this.#isTorn ? '\n' : ''
    await target.appendFile(start === '' ? bytes : Buffer.concat([Buffer.from(start), bytes]))
    this.#isTorn = false
  }

  /** The file of that name, even if the written one has been moved or removed. */
  async #opened(): Promise<{ file: FileHandle; size: number }> {
    const { path } = this.#options
    if (this.#file !== undefined) {
      const [own, there] = await Promise.all([this.#file.stat(), stat(path).catch(() => undefined)])
      if (own.ino === there?.ino && own.dev === there.dev)
        return { file: this.#file, size: own.size }
      await this.#file.close()
      this.#file = undefined
    }
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const file = await open(path, 'a+', 0o600)
    this.#file = file
    const { size } = await file.stat()
    const last = Buffer.alloc(1)
    if (size > 0) await file.read(last, 0, 1, size - 1)
    // A kill in a write of this or another process.
    this.#isTorn = size > 0 && last[0] !== NEWLINE
    return { file, size }
  }

  async #rotated(file: FileHandle): Promise<FileHandle> {
    const { path, keep } = this.#options
    await file.close()
    this.#file = undefined
    for (let segment = keep; segment >= 1; segment--) {
      const from = segment === 1 ? path : `${path}.${segment - 1}`
      await rename(from, `${path}.${segment}`).catch(absent)
    }
    return (await this.#opened()).file
  }
}

function absent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
