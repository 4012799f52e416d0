/** One worker as the first process sees it: a process with a channel, started again whenever it ends. */
import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { HURRY, PING, START, type WorkerMessage, type WorkerQuestion } from './desk.ts'
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
/** Interval of the questions whether a worker still answers. */
const WATCH_MS = 5_000
/** A worker that leaves this many in a row unanswered hangs. One may also pass while the whole machine sleeps. */
const SILENCES_MAX = 3
/** A worker that has to cut its requests gets this long for it. */
const HURRY_MS = 3_000
/** The wait before a start doubles until this, unless the worker had lived for so long. */
const WAIT_MS = { first: 250, most: 30_000 }

export type Ask = (subject: string, what: unknown) => Promise<unknown>

interface Pending {
  resolve(answer: unknown): void
  reject(error: Error): void
}

export class Worker {
  readonly number: number
  readonly onReady: ((ask: Ask) => Promise<unknown>)[] = []
  state: 'starting' | 'serving' | 'ended' = 'ended'
  canBeAsked = false
  starts = 0
  /** Its last answers, from its end until it starts again. */
  readonly last = new Map<string, unknown>()
  readonly #home: WorkerOptions
  readonly #of: number
  readonly #pending = new Map<number, Pending>()
  #seat: Omit<Seat, 'number' | 'of'> = { port: 0, bound: {} }
  #child: ChildProcess | undefined
  #startedAt = 0
  #waitMs = WAIT_MS.first
  #timer: NodeJS.Timeout | undefined
  #isEnding = false
  /** SIGHUP has come before it could take it. */
  #isToReload = false
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
  start(seat: Omit<Seat, 'number' | 'of'>): Promise<void> {
    this.#seat = seat
    this.#fork()
    setTimeout(() => this.#settle(), START_MS).unref()
    return new Promise((resolve) => this.#settled.push(resolve))
  }

  /** Rejects if it ends, does not answer in time, or cannot answer. */
  ask = (subject: string, what: unknown, ms = ANSWER_MS): Promise<unknown> => {
    const id = ++this.#asked
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#refuse(id, new Error('it is too busy')), ms).unref()
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

  /** Reads its files again: now, or once it can. */
  reload(): void {
    if (this.canBeAsked) this.#child?.kill('SIGHUP')
    else this.#isToReload = true
  }

  /** Cuts its requests. */
  hurry(): void {
    if (this.state === 'ended') return
    this.ask(HURRY, undefined).catch(() => undefined)
    const child = this.#child
    setTimeout(() => child?.kill('SIGKILL'), HURRY_MS).unref()
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
    this.#isToReload = false
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
      if (said.state === 'ready') return void this.#begin()
      this.state = 'serving'
      this.#settle()
    } else if ('last' in said) this.last.set(said.last.subject, said.last.answer)
    else if ('fault' in said) this.#refuse(said.id, new Error(said.fault))
    else {
      this.#pending.get(said.id)?.resolve(said.answer)
      this.#pending.delete(said.id)
    }
  }

  /** It waits for the end of this before it serves. Without what it has to know it must not serve, and starts again. */
  async #begin(): Promise<void> {
    const child = this.#child
    if (this.#isToReload) child?.kill('SIGHUP')
    void this.#watch()
    try {
      const ask: Ask = (subject, what) => this.ask(subject, what, START_MS)
      for (const tell of this.onReady) await tell(ask)
      await ask(START, undefined)
    } catch {
      child?.kill('SIGKILL')
    }
  }

  /** Ends a worker that hangs: the kernel would go on giving it connections. */
  async #watch(): Promise<void> {
    const child = this.#child
    let silences = 0
    while (this.#child === child && this.state !== 'ended') {
      const isHeard = await this.ask(PING, undefined).then(
        () => true,
        () => false,
      )
      silences = isHeard ? 0 : silences + 1
      if (silences === SILENCES_MAX) child?.kill('SIGKILL')
      if (isHeard) await delay(WATCH_MS, undefined, { ref: false })
    }
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
