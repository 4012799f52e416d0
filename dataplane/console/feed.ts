/** Samples for all viewers: one timer, one sample a second for all, and none while there is no viewer. */
import type { ServerResponse } from 'node:http'
import { DATA_HEADERS } from './page-files.ts'

const EVERY_MS = 1000
const RECONNECT_MS = 2000
export const VIEWERS_MAX = 20
/** A viewer that has missed this many samples in a row is disconnected; it connects again when it can. */
const MISSED_MAX = 60

export interface FeedOptions {
  sample(): Promise<unknown> | unknown
  /** The process is about to end: viewers get a last sample that says so, and are disconnected. */
  isEnding(): boolean
}

export class Feed {
  readonly #options: FeedOptions
  /** The number of samples in a row that each viewer has missed. */
  readonly #viewers = new Map<ServerResponse, number>()
  #timer: NodeJS.Timeout | undefined
  #isSampling = false
  #id = 0

  constructor(options: FeedOptions) {
    this.#options = options
  }

  get viewers(): number {
    return this.#viewers.size
  }

  /** Answers with a stream of samples, or with 503. */
  join(outgoing: ServerResponse): void {
    const fault = this.#fault()
    if (fault !== undefined) {
      refuse(outgoing, fault)
      return
    }
    outgoing.writeHead(200, {
      ...DATA_HEADERS,
      'content-type': 'text/event-stream',
      'x-accel-buffering': 'no',
    })
    outgoing.write(`retry: ${RECONNECT_MS}\n\n`)
    this.#viewers.set(outgoing, 0)
    outgoing.on('close', () => this.#leave(outgoing))
    outgoing.on('error', () => outgoing.destroy())
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => void this.#tick(), EVERY_MS)
    this.#timer.unref()
    void this.#tick()
  }

  end(): void {
    for (const viewer of this.#viewers.keys()) viewer.end()
  }

  #fault(): string | undefined {
    if (this.#options.isEnding()) return 'The gateway is about to end.'
    if (this.#viewers.size < VIEWERS_MAX) return undefined
    return `There are ${VIEWERS_MAX} viewers already; close one of them.`
  }

  #leave(outgoing: ServerResponse): void {
    this.#viewers.delete(outgoing)
    if (this.#viewers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** A sample that takes longer than a second delays the next one, and a comment shows that the stream is alive. */
  async #tick(): Promise<void> {
    if (this.#isSampling) return this.#send(': waiting\n\n')
    this.#isSampling = true
    try {
      const sample = JSON.stringify(await this.#options.sample())
      this.#send(`id: ${++this.#id}\ndata: ${sample}\n\n`)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.#send(`event: failed\ndata: ${JSON.stringify({ message })}\n\n`)
    } finally {
      this.#isSampling = false
    }
    if (this.#options.isEnding()) this.end()
  }

  /**
   * A sample is the whole state: a viewer that has not read the last one gets a newer one later, so at most one waits
   * for each.
   */
  #send(text: string): void {
    for (const [viewer, missed] of this.#viewers) {
      if (viewer.writableLength === 0) {
        this.#viewers.set(viewer, 0)
        viewer.write(text)
      } else if (missed < MISSED_MAX) this.#viewers.set(viewer, missed + 1)
      else viewer.destroy()
    }
  }
}

function refuse(outgoing: ServerResponse, message: string): void {
  outgoing.writeHead(503, {
    ...DATA_HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'retry-after': '2',
  })
  outgoing.end(JSON.stringify({ error: { message } }))
}
