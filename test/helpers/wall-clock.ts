/**
 * Another wall clock for the programs and pages of a test. A process that loads this file (`node --import`) with
 * GW_CLOCK_AHEAD_MS has a clock that many milliseconds ahead; monotonic clocks stay.
 */
const PRELOAD = `--import=${import.meta.url}`
/** Longer than a test file that reads the usage of a day or an hour. */
const FILE_MS_MAX = 300_000

let ahead = Number(process.env.GW_CLOCK_AHEAD_MS ?? 0)
if (ahead !== 0) moveClock(ahead)

/** How far the clock of this process is ahead. */
export function aheadHere(): number {
  return ahead
}

/** How far a clock that shows this time now is ahead; negative if it is behind. */
export function aheadOf(moment: number): number {
  return moment - Date.now() + ahead
}

/** The environment of a program in Node, and of its children, whose clock is that far ahead. */
export function clockAhead(ms: number): Readonly<Record<string, string>> {
  return { GW_CLOCK_AHEAD_MS: String(ms), NODE_OPTIONS: preloading(process.env.NODE_OPTIONS) }
}

/**
 * The environment of a program in Node with these variables, and with the clock of this process if they name no other.
 */
export function withClock(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (ahead === 0) return env
  return { GW_CLOCK_AHEAD_MS: String(ahead), ...env, NODE_OPTIONS: preloading(env.NODE_OPTIONS) }
}

/**
 * A file that starts shortly before such a period ends has the clock of the next one, like its children: otherwise its
 * usage would be gone in between.
 */
export function beginClearOf(periodMs: number): void {
  const left = periodMs - (Date.now() % periodMs)
  if (left > FILE_MS_MAX) return
  moveClock(left + 1000)
  ahead += left + 1000
  Object.assign(process.env, clockAhead(ahead))
}

function preloading(options = ''): string {
  return options.includes(PRELOAD) ? options : `${options} ${PRELOAD}`.trim()
}

/** A page runs its text, so it uses nothing else of this file. */
export function moveClock(aheadMs: number): void {
  const Real = globalThis.Date
  globalThis.Date = class MovedDate extends Real {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(Real.now() + aheadMs)
      else super(...(given as [string]))
    }

    static override now(): number {
      return Real.now() + aheadMs
    }
  } as DateConstructor
}
