/** The workers of a gateway as the first process sees them: it starts them, asks them, and ends them. */
import type { Log } from '../telemetry/log.ts'
import { type Home, Worker } from './worker.ts'

export interface CrewOptions extends Home {
  /** All processes, the first one included. */
  readonly of: number
  readonly log: Log
}

/** One answer of a worker. */
export interface WorkerAnswer<Body> {
  readonly number: number
  /** Another one after each start. */
  readonly pid: number
  readonly body: Body
}

export class Crew {
  readonly #workers: readonly Worker[]
  readonly #log: Log

  constructor({ of, log, ...home }: CrewOptions) {
    this.#log = log
    const onEnd = (number: number, how: string) =>
      log.event('error', 'worker', `Worker ${number} ended with ${how}; it starts again.`, {
        worker: number,
      })
    const numbers = Array.from({ length: of - 1 }, (_, index) => index + 2)
    this.#workers = numbers.map((number) => new Worker({ ...home, onEnd }, { number, of }))
  }

  /** Called for each worker that starts, before it serves; `ask` reaches this one alone. */
  onReady(tell: (ask: Worker['ask']) => Promise<unknown>): void {
    for (const worker of this.#workers) worker.onReady.push(() => tell(worker.ask))
  }

  /** Resolves once each worker serves, or has failed once. */
  async start(port: number, storeSocket: string | undefined): Promise<void> {
    process.on('SIGHUP', () => this.#signal('SIGHUP'))
    const seat = { port, ...(storeSocket !== undefined && { storeSocket }) }
    await Promise.all(this.#workers.map((worker) => worker.start(seat)))
  }

  /** The answers of those that answer in time, and the last ones of those that have ended. */
  async ask<Body>(subject: string, what: unknown): Promise<WorkerAnswer<Body>[]> {
    const ended = this.#workers.flatMap(({ number, pid, last }) =>
      last.has(subject) ? [{ number, pid, body: last.get(subject) as Body }] : [],
    )
    const asked = this.#workers.filter(({ canBeAsked, last }) => canBeAsked && !last.has(subject))
    const answers = await Promise.allSettled(
      asked.map(async ({ number, pid, ask }) => ({
        number,
        pid,
        body: (await ask(subject, what)) as Body,
      })),
    )
    const heard = answers.flatMap((answer, index) => {
      if (answer.status === 'fulfilled') return [answer.value]
      const worker = asked[index]?.number
      const why = String((answer.reason as Error).message)
      this.#log.event('warn', 'worker', `Worker ${worker} did not answer: ${why}.`, { worker })
      return []
    })
    return [...heard, ...ended]
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
    this.#signal('SIGTERM')
  }

  #signal(name: NodeJS.Signals): void {
    for (const worker of this.#workers) worker.signal(name)
  }
}
