/** Asks the thread that counts tokens. It begins with the first question, and a question that it cannot answer is given up. */
import { Worker } from 'node:worker_threads'
import type { Encoding } from '../../providers/encodings.ts'

export interface Order {
  readonly id: number
  readonly encoding: Encoding
  readonly texts: readonly string[]
}

/** `tokens` is undefined where counting failed. */
export interface Counted {
  readonly id: number
  readonly tokens: number | undefined
}

/** A request waits no longer for its count: one tenant's prompts must not hold up those of the others. */
const PATIENCE_MS = 250
/** Characters that wait to be counted, of all requests together: about half a second of work in English. */
const WAITING_MAX = 4_194_304
/** Megabytes; the tables of both encodings take a third of it. */
const HEAP_MAX = 512

interface Waiting {
  readonly length: number
  resolve(tokens: number | undefined): void
  readonly timer: NodeJS.Timeout
}

export class TokenThread {
  readonly #program: URL
  readonly #patienceMs: number
  #worker: Worker | undefined
  #orders = 0
  #characters = 0
  readonly #waiting = new Map<number, Waiting>()

  constructor(program = new URL('./thread.ts', import.meta.url), patienceMs = PATIENCE_MS) {
    this.#program = program
    this.#patienceMs = patienceMs
  }

  /** Resolves with undefined when too much is waiting, when it takes too long, and when the thread has ended. */
  count(encoding: Encoding, texts: readonly string[]): Promise<number | undefined> {
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    if (this.#characters + length > WAITING_MAX) return Promise.resolve(undefined)
    const id = ++this.#orders
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    const timer = setTimeout(() => resolve(undefined), this.#patienceMs).unref()
    // It is on the list until the thread is done with it: one that was given up is work all the same.
    this.#waiting.set(id, { length, resolve, timer })
    this.#characters += length
    this.#worker ??= this.#begin()
    const order: Order = { id, encoding, texts }
    this.#worker.postMessage(order)
    return promise
  }

  /** For tests: a process ends without it. */
  async stop(): Promise<void> {
    await this.#worker?.terminate()
  }

  #begin(): Worker {
    const worker = new Worker(this.#program, {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX },
    })
    worker.unref()
    worker.on('message', ({ id, tokens }: Counted) => this.#settle(id, tokens))
    // The end follows an error, and the next question begins a new thread.
    worker.on('error', () => undefined)
    worker.on('exit', () => this.#ended())
    return worker
  }

  #settle(id: number, tokens: number | undefined): void {
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return
    this.#waiting.delete(id)
    this.#characters -= waiting.length
    clearTimeout(waiting.timer)
    waiting.resolve(tokens)
  }

  #ended(): void {
    this.#worker = undefined
    for (const id of [...this.#waiting.keys()]) this.#settle(id, undefined)
  }
}
