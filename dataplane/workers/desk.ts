/** A worker's side of the channel to the first process: answers what it asks. */
import { rmdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseJson } from '../json/parse.ts'
import { SEAT, type Seat } from './seat.ts'

/** A question of the first process. */
export interface WorkerQuestion {
  readonly id: number
  readonly subject: string
  readonly what: unknown
}

/** `ready`: it can be asked; `serving`: it listens. */
export type WorkerMessage =
  | { readonly state: 'ready' | 'serving' }
  /** Its last answer to a subject, when it ends. */
  | { readonly last: { readonly subject: string; readonly answer: unknown } }
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly fault: string }

/** The first process has sent all that a new worker does not find in files. */
export const START = 'start'

/** Whether it still answers. */
export const PING = 'ping'

/** Running requests have to be cut. */
export const HURRY = 'hurry'

export class Desk {
  readonly seat: Seat
  readonly #answering = new Map<string, (what: never) => unknown>()
  readonly #started = Promise.withResolvers<void>()
  readonly #hurried = Promise.withResolvers<void>()
  #isReady = false

  /** Undefined in the first process. */
  static open(env: Readonly<Record<string, string | undefined>>): Desk | undefined {
    const text = env[SEAT]
    return text ? new Desk(parseJson(text) as Seat) : undefined
  }

  private constructor(seat: Seat) {
    this.seat = seat
    this.on(START, () => this.#started.resolve())
    this.on(HURRY, () => this.#hurried.resolve())
    this.on(PING, () => undefined)
    process.on('message', (asked: WorkerQuestion) => void this.#take(asked))
    const end = () => endAlone(seat)
    process.on('disconnect', end)
    // The first process may have ended while the modules loaded.
    if (!process.connected) setImmediate(end)
  }

  on<What>(subject: string, answer: (what: What) => unknown): void {
    this.#answering.set(subject, answer)
  }

  /** It can be asked from now on. Resolves once the first process has sent it all. */
  ready(): Promise<void> {
    if (!this.#isReady) this.#say({ state: 'ready' })
    this.#isReady = true
    return this.#started.promise
  }

  /** Resolves once running requests have to be cut. */
  get hurried(): Promise<void> {
    return this.#hurried.promise
  }

  serving(): void {
    this.#say({ state: 'serving' })
  }

  /** Resolves once the first process has its last answer to the subject. */
  async leave(subject: string, answer: unknown): Promise<void> {
    const last = { subject, answer }
    await new Promise<void>((resolve) => {
      if (process.send === undefined) resolve()
      else process.send({ last }, undefined, undefined, () => resolve())
    })
  }

  async #take({ id, subject, what }: WorkerQuestion): Promise<void> {
    try {
      const answer = this.#answering.get(subject)
      if (answer === undefined) throw new Error(`it does not answer "${subject}" yet`)
      this.#say({ id, answer: await answer(what as never) })
    } catch (error) {
      this.#say({ id, fault: error instanceof Error ? error.message : String(error) })
    }
  }

  /** Does nothing if the first process has ended. */
  #say(said: WorkerMessage): void {
    process.send?.(said, undefined, undefined, () => undefined)
  }
}

/** No operator could end a worker alone, so its requests are cut. It removes the socket that the first process has left. */
function endAlone({ storeSocket }: Seat): void {
  process.stderr.write('error: the first process of the gateway has ended, so its worker ends\n')
  try {
    if (storeSocket !== undefined) {
      rmSync(storeSocket, { force: true })
      rmdirSync(dirname(storeSocket))
    }
  } catch {
    // Another worker was faster.
  }
  process.exit(1)
}
