/** The clock of a test and of its gateways stays clear of midnight, and everything that the test starts has the same clock. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { aheadOf, clockAhead } from './helpers/wall-clock.ts'

const HELPERS = join(import.meta.dirname, 'helpers')

/** The minute that a file sees in itself, in a program that inherits its environment, and in a program that does not. */
function minutesAt(moment: string): string[] {
  const show = 'process.stdout.write(new Date().toISOString().slice(0, 16))'
  const code = `
    import ${JSON.stringify(join(HELPERS, 'gateway-process.ts'))}
    import { withClock } from ${JSON.stringify(join(HELPERS, 'wall-clock.ts'))}
    import { execFileSync } from 'node:child_process'
    const shown = (env) => execFileSync(process.execPath, ['-e', ${JSON.stringify(show)}], { env })
    const own = new Date().toISOString().slice(0, 16)
    process.stdout.write([own, shown(process.env), shown(withClock({}))].join(' '))`
  const env = { ...process.env, ...clockAhead(aheadOf(Date.parse(moment))) }
  const args = ['--input-type=module', '-e', code]
  return execFileSync(process.execPath, args, { env, encoding: 'utf8' }).split(' ')
}

test('a file that starts gateways just before midnight begins on the next day, and all that it starts', () => {
  assert.deepEqual(minutesAt('2026-12-31T23:59:20Z'), Array(3).fill('2027-01-01T00:00'))
})

test('a file that starts gateways at another hour keeps its clock', () => {
  assert.deepEqual(minutesAt('2028-02-29T12:30:10Z'), Array(3).fill('2028-02-29T12:30'))
})
