/**
 * A monotonic clock that a test advances, in its process and in the programs that it starts with its environment: an
 * hour passes at once, and a delay of the machine is not mistaken for it. Loaded before a program (`node --import`) it
 * reads the changes.
 */
import { mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { GW_CLOCK_TURNS, NODE_OPTIONS = '' } = process.env
const real = performance.now.bind(performance)
let turnedMs = 0
performance.now =
  GW_CLOCK_TURNS === undefined
    ? () => real() + turnedMs
    : () => real() + Number(readFileSync(GW_CLOCK_TURNS, 'utf8'))

/** In the process of the test. */
export interface TurnedTime {
  /** The environment of programs with this clock. */
  readonly env: Readonly<Record<string, string>>
  turn(seconds: number): void
}

export function turnedTime(): TurnedTime {
  const file = join(mkdtempSync(join(tmpdir(), 'gw-turns-')), 'milliseconds')
  const turn = (seconds: number) => {
    turnedMs += seconds * 1000
    // A reader finds the old number or the new one.
    writeFileSync(`${file}.next`, String(turnedMs))
    renameSync(`${file}.next`, file)
  }
  turn(0)
  const preload = `${NODE_OPTIONS} --import=${import.meta.url}`.trim()
  return { env: { GW_CLOCK_TURNS: file, NODE_OPTIONS: preload }, turn }
}
