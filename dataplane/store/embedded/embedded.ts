/** A store for the processes of one machine: it speaks Redis's protocol on a Unix socket and runs the same scripts. */
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { StateError } from '../memory/database.ts'
import type { Notice, ThreadOptions } from './notices.ts'

export interface EmbeddedStore {
  /** The path for `url: unix://PATH`. */
  readonly socket: string
  /** Writes the rest of the changes, and removes the socket. */
  close(): Promise<void>
}

export interface EmbeddedOptions extends ThreadOptions {
  /** Called when the store begins to fail, and with undefined when it works again. Counting continues if only writing fails. */
  onFailure(error: Error | undefined): void
}

/** Wait before a thread that ended is replaced. */
const RESTART_MS = 1_000

const THREAD = new URL(`./thread${extname(import.meta.filename)}`, import.meta.url)

/** Opens the store in its own thread. Rejects with a StateError if `stateDir` cannot be used. */
export async function openEmbedded(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const keeper = new Keeper(options)
  await keeper.start()
  return { socket: options.socket, close: () => keeper.close() }
}

/** Replaces the thread if it ends: callers find a store that lost its data, or an older copy, and repair it. */
export class Keeper {
  readonly #options: EmbeddedOptions
  readonly #program: URL
  readonly #restartMs: number
  #worker: Worker | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #isFailing = false

  constructor(options: EmbeddedOptions, program = THREAD, restartMs = RESTART_MS) {
    this.#options = options
    this.#program = program
    this.#restartMs = restartMs
  }

  /** Resolves once the store answers. */
  start(): Promise<void> {
    const { socket, stateDir, onFailure } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const workerData: ThreadOptions = { socket, ...(stateDir !== undefined && { stateDir }) }
    const worker = new Worker(this.#program, { workerData })
    this.#worker = worker
    let isReady = false
    let why: Error | undefined
    worker.on('message', (notice: Notice) => {
      if (notice.kind === 'ready') {
        isReady = true
        resolve()
      } else if (notice.kind === 'refused') {
        reject(
          notice.isState ? new StateError(notice.message, undefined) : new Error(notice.message),
        )
      } else onFailure(notice.failed === undefined ? undefined : new Error(notice.failed))
    })
    worker.on('error', (error) => {
      why = error instanceof Error ? error : new Error(String(error))
    })
    worker.on('exit', () => {
      const error = new Error('The thread of the store ended.', { cause: why })
      reject(error)
      if (isReady) this.#ended(error)
    })
    return promise
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    const worker = this.#worker
    if (worker === undefined) return
    await new Promise<unknown>((resolve) => {
      worker.once('exit', resolve)
      worker.postMessage('close')
    })
  }

  #ended(error: Error): void {
    this.#worker = undefined
    if (this.#isClosed) return
    if (!this.#isFailing) this.#options.onFailure(error)
    this.#isFailing = true
    this.#timer = setTimeout(() => {
      this.start().then(
        () => this.#returned(),
        (failed: Error) => this.#ended(failed),
      )
    }, this.#restartMs)
  }

  #returned(): void {
    this.#isFailing = false
    this.#options.onFailure(undefined)
  }
}
