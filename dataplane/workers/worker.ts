/** One worker as the first process sees it: a process with a channel, started again whenever it ends. */
import { type ChildProcess, fork } from 'node:child_process'
import { START, type WorkerMessage, type WorkerQuestion } from './desk.ts'
import { SEAT, type Seat } from './seat.ts'

export interface Home {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Gets whole lines of the worker's log. */
  readonly output: (lines: string) => void
  /** That of this process, because a worker has no terminal. */
  readonly logFormat: 'text' | 'json'
}

interface WorkerOptions extends Home {
  onEnd(number: number, how: string): void
}

/** A worker that is busy for longer is left out of an answer. */
const ANSWER_MS = 5_000
const START_MS = 30_000
/** The wait before a start doubles until this, unless the worker had lived for so long. */
const WAIT_MS = { first: 250, most: 30_000 }

interface Pending {
  resolve(answer: unknown): void
  reject(error: Error): void
}

export class Worker {
  readonly number: number
  readonly onReady: (() => Promise<unknown>)[] = []
  state: 'starting' | 'serving' | 'ended' = 'ended'
  canBeAsked = false
  starts = 0
  /** Its last answers, from its end until it starts again. */
  readonly last = new Map<string, unknown>()
  readonly #home: WorkerOptions
  readonly #of: number
  readonly #pending = new Map<number, Pending>()
  #seat: Pick<Seat, 'port' | 'storeSocket'> = { port: 0 }
  #child: ChildProcess | undefined
  #startedAt = 0
  #waitMs = WAIT_MS.first
  #timer: NodeJS.Timeout | undefined
  #isEnding = false
  #asked = 0
  #settled: (() => void)[] = []

  constructor(home: WorkerOptions, { number, of }: Pick<Seat, 'number' | 'of'>) {
    this.#home = home
    this.number = number
    this.#of = of
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Resolves once it serves, or has ended, or after a while: the gateway serves without it meanwhile. */
  start(seat: Pick<Seat, 'port' | 'storeSocket'>): Promise<void> {
    this.#seat = seat
    this.#fork()
    setTimeout(() => this.#settle(), START_MS).unref()
    return new Promise((resolve) => this.#settled.push(resolve))
  }

  /** Rejects if it ends, does not answer in time, or cannot answer. */
  ask = (subject: string, what: unknown): Promise<unknown> => {
    const id = ++this.#asked
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.#refuse(id, new Error('it is too busy')),
        ANSWER_MS,
      ).unref()
      const ended = (end: () => void) => {
        clearTimeout(timer)
        end()
      }
      this.#pending.set(id, {
        resolve: (answer) => ended(() => resolve(answer)),
        reject: (error) => ended(() => reject(error)),
      })
      const asked: WorkerQuestion = { id, subject, what }
      this.#child?.send(asked, (error) => {
        if (error !== null) this.#refuse(id, error)
      })
    })
  }

  signal(name: NodeJS.Signals): void {
    if (this.state !== 'ended') this.#child?.kill(name)
  }

  async end(): Promise<void> {
    this.#isEnding = true
    clearTimeout(this.#timer)
    const child = this.#child
    if (child === undefined || this.state === 'ended') return
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
    child.kill('SIGTERM')
    await ended
  }

  #fork(): void {
    const { env, output, logFormat } = this.#home
    const seat: Seat = { number: this.number, of: this.#of, ...this.#seat }
    const [program = '', ...args] = process.argv.slice(1)
    const child = fork(program, args, {
      env: { ...env, GW_LOG_FORMAT: logFormat, [SEAT]: JSON.stringify(seat) },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    this.#child = child
    this.last.clear()
    this.state = 'starting'
    this.starts++
    this.#startedAt = performance.now()
    child.on('message', (said: WorkerMessage) => this.#hear(said))
    child.on('error', () => undefined)
    // After its last output.
    child.on('close', (code, signal) => this.#ended(signal ?? `code ${code}`))
    let rest = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const end = text.lastIndexOf('\n') + 1
      if (end > 0) output(rest + text.slice(0, end))
      rest = end > 0 ? text.slice(end) : rest + text
    })
  }

  #hear(said: WorkerMessage): void {
    if ('state' in said) {
      this.canBeAsked = true
      if (said.state === 'ready') return void this.#tell()
      this.state = 'serving'
      this.#settle()
    } else if ('last' in said) this.last.set(said.last.subject, said.last.answer)
    else if ('fault' in said) this.#refuse(said.id, new Error(said.fault))
    else {
      this.#pending.get(said.id)?.resolve(said.answer)
      this.#pending.delete(said.id)
    }
  }

  /** It waits for the end of this before it serves. */
  async #tell(): Promise<void> {
    for (const tell of this.onReady) await tell().catch(() => undefined)
    await this.ask(START, undefined).catch(() => undefined)
  }

  #refuse(id: number, error: Error): void {
    this.#pending.get(id)?.reject(error)
    this.#pending.delete(id)
  }

  #ended(how: string): void {
    this.state = 'ended'
    this.canBeAsked = false
    for (const id of [...this.#pending.keys()]) this.#refuse(id, new Error('it has ended'))
    this.#settle()
    if (this.#isEnding) return
    this.#home.onEnd(this.number, how)
    if (performance.now() - this.#startedAt > WAIT_MS.most) this.#waitMs = WAIT_MS.first
    this.#timer = setTimeout(() => this.#fork(), this.#waitMs)
    this.#waitMs = Math.min(WAIT_MS.most, 2 * this.#waitMs)
  }

  #settle(): void {
    for (const settle of this.#settled.splice(0)) settle()
  }
}
