/** Sends counts to the thread, which starts with the first one. A count that the thread cannot answer is given up. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Encoding } from '../../wire/models/encodings.ts'

/** A bundled encoding, or the path of a tokenizer.json. */
export type TokenizerName = Encoding | `${typeof FILE}${string}`

const FILE = 'file:'

export function fileName(path: string): TokenizerName {
  return `${FILE}${path}`
}

/** The path after the name of a file; undefined for an encoding. */
export function fileOf(name: TokenizerName): string | undefined {
  return name.startsWith(FILE) ? name.slice(FILE.length) : undefined
}

export interface Order {
  readonly id: number
  readonly tokenizer: TokenizerName
  readonly texts: readonly string[]
  /** Milliseconds since 1970; after this time no request waits for the count. */
  readonly until: number
}

/** `tokens` is undefined if counting failed or took too long. */
export interface Counted {
  readonly id: number
  readonly tokens: number | undefined
  /** Why a tokenizer cannot be used. */
  readonly why?: string
}

/** A request waits no longer for its count, so that one tenant's prompts do not delay the others. */
const PATIENCE_MS = 250
/** Most waiting characters of all requests together: about half a second of work in English. */
const WAITING_MAX = 4_194_304
/** Megabytes; the tables of both encodings use a sixth of it, and two files a fifth each. */
const HEAP_MAX = 1024

interface PendingCount {
  readonly length: number
  readonly tokenizer: TokenizerName
  resolve(tokens: number | undefined): void
  readonly timer: NodeJS.Timeout
}

export class TokenThread {
  readonly #program: URL
  readonly #patienceMs: number
  #worker: Worker | undefined
  /** Why a tokenizer could not be used at the last attempt. */
  readonly #broken = new Map<TokenizerName, string>()
  #orders = 0
  #characters = 0
  readonly #waiting = new Map<number, PendingCount>()

  constructor(
    program = new URL(`./thread${extname(import.meta.filename)}`, import.meta.url),
    patienceMs = PATIENCE_MS,
  ) {
    this.#program = program
    this.#patienceMs = patienceMs
  }

  /** Resolves with undefined if too much is waiting, if it takes too long, or if the thread has ended. */
  count(tokenizer: TokenizerName, texts: readonly string[]): Promise<number | undefined> {
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    if (this.#characters + length > WAITING_MAX) return Promise.resolve(undefined)
    const id = ++this.#orders
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    const timer = setTimeout(() => resolve(undefined), this.#patienceMs).unref()
    // It stays on the list until the thread has finished it, because a cancelled count is still work.
    this.#waiting.set(id, { length, tokenizer, resolve, timer })
    this.#characters += length
    const order: Order = { id, tokenizer, texts, until: Date.now() + this.#patienceMs }
    try {
      this.#worker ??= this.#begin()
      this.#worker.postMessage(order)
    } catch {
      // The system may refuse another thread.
      this.#settle(id, undefined)
    }
    return promise
  }

  /** Why the tokenizer could not be used at the last attempt; undefined if it could. */
  whyBroken(tokenizer: TokenizerName): string | undefined {
    return this.#broken.get(tokenizer)
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
    worker.on('message', (counted: Counted) => this.#counted(counted))
    // The end follows an error, and the next count starts a new thread.
    worker.on('error', () => undefined)
    worker.on('exit', () => this.#ended())
    return worker
  }

  #counted({ id, tokens, why }: Counted): void {
    const tokenizer = this.#waiting.get(id)?.tokenizer
    if (tokenizer !== undefined && why !== undefined) this.#broken.set(tokenizer, why)
    if (tokenizer !== undefined && tokens !== undefined) this.#broken.delete(tokenizer)
    this.#settle(id, tokens)
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
