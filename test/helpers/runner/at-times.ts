/**
 * Runs test files at 24 hours of a day and in the unusual minutes of a calendar, and names the times at which a file
 * fails: `node test/helpers/runner/at-times.ts [--few] FILE...`. A test of forecasts, today, this month or "in 3 h"
 * passes at all of them. Each file runs alone, so that its first seconds are at that time; `--few` uses six hours of
 * the 24.
 */
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { aheadOf, clockAhead } from '../wall-clock.ts'

const HOURS = Array.from(
  { length: 24 },
  (_, hour) => `2026-11-18T${`${hour}`.padStart(2, '0')}:20:00Z`,
)
const FEW_HOURS = ['00:01:00', '01:20:00', '04:00:00', '12:00:00', '23:58:00', '23:59:50'].map(
  (time) => `2026-11-18T${time}Z`,
)
const ODD = [
  '2026-11-30T23:50:00Z', // a month's last hour
  '2027-01-31T12:00:00Z', // a month's last day
  '2026-12-31T23:58:00Z', // a year's end
  '2027-01-01T00:00:10Z', // a year's, a month's, a day's and an hour's first minute
  '2028-02-29T00:00:30Z', // 29 February
]

interface Run {
  readonly file: string
  readonly moment: string
}

const [first, ...rest] = process.argv.slice(2)
const files = first === '--few' ? rest : [first ?? '', ...rest]
const moments = [...(first === '--few' ? [] : HOURS), ...FEW_HOURS, ...ODD]
const runs = files.flatMap((file) => moments.map((moment) => ({ file, moment })))
const waiting = runs.values()
const failed: Run[] = []
await Promise.all(Array.from({ length: availableParallelism() }, work))
process.stdout.write(
  `${runs.length - failed.length} of ${runs.length} runs pass: ${files.length} files at ${moments.length} moments\n`,
)
process.exit(failed.length === 0 ? 0 : 1)

/** Workers share the waiting runs. */
async function work(): Promise<void> {
  for (const run of waiting) {
    const names = await failuresOf(run)
    if (names === undefined) continue
    failed.push(run)
    process.stdout.write(
      `${run.moment} ${run.file}:\n${names.map((name) => `  ${name}\n`).join('')}`,
    )
  }
}

/** The names of the failing tests; undefined: there are none. */
async function failuresOf({ file, moment }: Run): Promise<readonly string[] | undefined> {
  const env = { ...process.env, ...clockAhead(aheadOf(Date.parse(moment))) }
  const stdio = ['ignore', 'pipe', 'ignore'] as const
  const child = spawn(process.execPath, ['--test-reporter=tap', file], { env, stdio: [...stdio] })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const printed = await text(child.stdout)
  if ((await ended) === 0) return undefined
  return (printed.match(/^ *not ok .*/gm) ?? []).map((line) => line.trim())
}
