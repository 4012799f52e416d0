/**
 * Another wall clock for the programs and pages of a test. A process that loads this file (`node --import`) with
 * GW_CLOCK_AHEAD_MS has a clock that many milliseconds ahead; monotonic clocks stay.
 */
const { GW_CLOCK_AHEAD_MS, NODE_OPTIONS = '' } = process.env
if (GW_CLOCK_AHEAD_MS !== undefined) moveClock(Number(GW_CLOCK_AHEAD_MS))

/** How far the clock of this process is ahead. */
export const CLOCK_AHEAD_MS = Number(GW_CLOCK_AHEAD_MS ?? 0)

/** How far a clock that shows this moment now is ahead; negative if it is behind. */
export function aheadOf(moment: number): number {
  return moment - Date.now() + CLOCK_AHEAD_MS
}

/** The environment of a program in Node, and of those that it starts, whose clock is that far ahead. */
export function clockAhead(ms: number): Readonly<Record<string, string>> {
  const preload = `--import=${import.meta.url}`
  const options = NODE_OPTIONS.includes(preload) ? NODE_OPTIONS : `${NODE_OPTIONS} ${preload}`
  return { GW_CLOCK_AHEAD_MS: String(ms), NODE_OPTIONS: options.trim() }
}

/** The environment of a program in Node with these variables, and with the clock of this process if they name no other. */
export function withClock(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (GW_CLOCK_AHEAD_MS === undefined) return env
  const { NODE_OPTIONS: options = '' } = env
  const preload = `--import=${import.meta.url}`
  const all = options.includes(preload) ? options : `${options} ${preload}`.trim()
  return { GW_CLOCK_AHEAD_MS, ...env, NODE_OPTIONS: all }
}

/** A page runs its text, so that it uses nothing beside it. */
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
