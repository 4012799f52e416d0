/** The workers of a gateway as the first process sees them: it starts them, asks them, and ends them. */
import type { Log } from '../telemetry/log.ts'
import type { Seat } from './seat.ts'
import { type Ask, type Home, Worker } from './worker.ts'

export interface CrewOptions extends Home {
  /** All processes, the first one included. */
  readonly of: number
  readonly log: Log
  /** Counts the ends of workers. */
  readonly ends: { value: number }
}

/** One answer of a worker. */
export interface WorkerAnswer<Body> {
  readonly number: number
  /** Another one after each start. */
  readonly pid: number
  readonly body: Body
}

/** It may have taken what it was asked to, or not. */
export class SilentWorker extends Error {
  readonly worker: number

  constructor(worker: number) {
    super(`Worker ${worker} of the gateway did not answer.`)
    this.worker = worker
  }
}

export class Crew {
  readonly #workers: readonly Worker[]
  readonly #log: Log

  constructor({ of, log, ends, ...home }: CrewOptions) {
    this.#log = log
    const onEnd = (number: number, how: string) => {
      ends.value++
      const message = `Worker ${number} ended with ${how}; it starts again.`
      log.event('error', 'worker', message, { worker: number })
    }
    const numbers = Array.from({ length: of - 1 }, (_, index) => index + 2)
    this.#workers = numbers.map((number) => new Worker({ ...home, onEnd }, { number, of }))
  }

  /** Called for each worker that starts, before it serves; `ask` reaches this one alone. */
  onReady(tell: (ask: Ask) => Promise<unknown>): void {
    for (const worker of this.#workers) worker.onReady.push(tell)
  }

  /** Resolves once each worker serves, or has failed once. */
  async start(seat: Omit<Seat, 'number' | 'of'>): Promise<void> {
    process.on('SIGHUP', () => {
      for (const worker of this.#workers) worker.reload()
    })
    await Promise.all(this.#workers.map((worker) => worker.start(seat)))
  }

  /** The answers of those that answer in time, and the last ones of those that have ended. */
  async ask<Body>(subject: string, what: unknown): Promise<WorkerAnswer<Body>[]> {
    const ended = this.#workers.flatMap(({ number, pid, last }) =>
      last.has(subject) ? [{ number, pid, body: last.get(subject) as Body }] : [],
    )
    const { heard } = await this.#askAll<Body>(subject, what)
    return [...heard, ...ended]
  }

  /** The answers of all that run. Rejects with a SilentWorker if one of them does not answer in time. */
  async askEach<Body>(subject: string, what: unknown): Promise<WorkerAnswer<Body>[]> {
    const { heard, silent } = await this.#askAll<Body>(subject, what)
    const [first] = silent
    if (first !== undefined) throw new SilentWorker(first)
    return heard
  }

  async #askAll<Body>(subject: string, what: unknown) {
    const asked = this.#workers.filter(({ canBeAsked, last }) => canBeAsked && !last.has(subject))
    const silent: number[] = []
    const heard: WorkerAnswer<Body>[] = []
    await Promise.all(
      asked.map(async (worker) => {
        const { number, pid } = worker
        try {
          heard.push({ number, pid, body: (await worker.ask(subject, what)) as Body })
        } catch (error) {
          const why = String((error as Error).message)
          const message = `Worker ${number} did not answer: ${why}.`
          this.#log.event('warn', 'worker', message, { worker: number })
          if (worker.pid === pid && worker.canBeAsked) silent.push(number)
        }
      }),
    )
    return { heard: heard.sort((a, b) => a.number - b.number), silent }
  }

  list() {
    return this.#workers.map(({ number, pid, state, starts }) => ({ number, pid, state, starts }))
  }

  /** Each finishes its requests as this process does. Resolves once all have ended. */
  async end(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.end()))
  }

  /** Cuts what still runs. */
  hurry(): void {
    for (const worker of this.#workers) worker.hurry()
  }
}
