/**
 * Runs test files at 24 hours of a day and in the odd minutes of a calendar, and names the moments at which a file fails:
 * `node test/helpers/runner/at-times.ts FILE...`. A test of forecasts, today, this month or "in 3 h" passes at all of them.
 */
import { spawnSync } from 'node:child_process'
import { aheadOf, clockAhead } from '../wall-clock.ts'

const HOURS = Array.from(
  { length: 24 },
  (_, hour) => `2026-11-18T${`${hour}`.padStart(2, '0')}:20:00Z`,
)
const ODD = [
  '2026-11-30T23:50:00Z', // a month's last hour
  '2027-01-31T12:00:00Z', // a month's last day
  '2026-12-31T23:58:00Z', // a year's end
  '2027-01-01T00:00:10Z', // a year's, a month's, a day's and an hour's first minute
  '2028-02-29T00:00:30Z', // 29 February
]

let failed = 0
for (const moment of [...HOURS, ...ODD]) {
  const env = { ...process.env, ...clockAhead(aheadOf(Date.parse(moment))) }
  const args = ['--test', '--test-reporter=tap', ...process.argv.slice(2)]
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  if (status === 0) continue
  failed++
  const names = stdout.match(/^ *not ok .*/gm) ?? []
  process.stdout.write(`${moment}:\n${names.map((name) => `  ${name.trim()}\n`).join('')}`)
}
process.stdout.write(
  `${HOURS.length + ODD.length - failed} of ${HOURS.length + ODD.length} moments pass\n`,
)
process.exit(failed === 0 ? 0 : 1)
