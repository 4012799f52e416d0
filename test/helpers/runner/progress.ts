/**
 * The progress of a run of test files: twice a minute a line with the finished and running files, and an estimate of
 * the rest. It remembers the duration of each file; on a busy machine all take longer by the same factor.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** An event of Node's test runner. */
export interface Reported {
  readonly type: string
  /** A file is a test with its name, without `entryFile`. */
  readonly data: {
    readonly name?: string
    readonly file?: string
    readonly entryFile?: string
    readonly details?: { readonly error?: { readonly message?: string; readonly cause?: Error } }
  }
}

type Seconds = Record<string, number>

const EVERY_MS = 30_000
/** A file that never ran here. */
const UNKNOWN_SECONDS = 5
const REMEMBERED = join(import.meta.dirname, '../../../.cache/test-seconds.json')

export class Progress {
  readonly #known: Readonly<Seconds>
  readonly #now: () => number
  readonly #beganAt: number
  readonly #waiting = new Set<string>()
  readonly #running = new Map<string, number>()
  readonly took: Seconds = {}

  /** `now` in seconds. */
  constructor(known: Readonly<Seconds>, now: () => number) {
    this.#known = known
    this.#now = now
    this.#beganAt = now()
  }

  hear({ type, data: { name, entryFile } }: Reported): void {
    if (name === undefined || entryFile !== undefined || !name.endsWith('.test.ts')) return
    if (type === 'test:enqueue') this.#waiting.add(name)
    if (type === 'test:dequeue' && this.#waiting.delete(name)) this.#running.set(name, this.#now())
    const began = this.#running.get(name)
    if (type !== 'test:complete' || began === undefined) return
    this.#running.delete(name)
    this.took[name] = this.#now() - began
  }

  line(): string {
    const done = Object.keys(this.took).length
    const all = done + this.#running.size + this.#waiting.size
    const running = [...this.#running].map(([name, since]) => {
      return `${relative('test', name).replace('.test.ts', '')} ${Math.round(this.#now() - since)} s`
    })
    const minutes = (this.#now() - this.#beganAt) / 60
    const left = `about ${Math.ceil(this.#secondsLeft() / 60)} min left`
    return `${done} of ${all} files after ${minutes.toFixed(1)} min, ${left}; running: ${running.join(', ')}`
  }

  #usual(name: string): number {
    return this.#known[name] ?? UNKNOWN_SECONDS
  }

  /** For files that run at the same time as they did so far. */
  #secondsLeft(): number {
    const done = Object.keys(this.took)
    const sum = (names: readonly string[]) =>
      names.reduce((all, name) => all + this.#usual(name), 0)
    const running = [...this.#running].map(([name, since]) => {
      return Math.max(0, this.#usual(name) - (this.#now() - since))
    })
    const left = sum([...this.#waiting]) + running.reduce((all, one) => all + one, 0)
    const passed = this.#now() - this.#beganAt
    return done.length === 0 ? left : (left * passed) / sum(done)
  }
}

/** Prints the line while a run lasts; `end` keeps the duration of each file. */
export function startProgress(): { hear(event: Reported): void; end(): void } {
  const known = remembered()
  const seen = new Progress(known, () => performance.now() / 1000)
  const timer = setInterval(() => process.stderr.write(`${seen.line()}\n`), EVERY_MS)
  return {
    hear: (event) => seen.hear(event),
    end() {
      clearInterval(timer)
      mkdirSync(dirname(REMEMBERED), { recursive: true })
      writeFileSync(REMEMBERED, JSON.stringify({ ...known, ...seen.took }))
    },
  }
}

function remembered(): Seconds {
  try {
    return JSON.parse(readFileSync(REMEMBERED, 'utf8'))
  } catch {
    return {}
  }
}
