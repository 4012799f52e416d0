/**
 * The trial distinguishes a machine that cannot run a node from one that can, and leaves no trace.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const PROGRAM = join(import.meta.dirname, 'ability.ts')

function ability(...before: readonly string[]) {
  const [program = '', ...args] = [...before, process.execPath, PROGRAM]
  return spawnSync(program, args, { encoding: 'utf8' })
}

test('on a machine that runs a node the trial finds nothing missing, and leaves nothing behind', () => {
  const { status, stdout, stderr } = ability()
  assert.equal(status, 0, stdout + stderr)
  const left = readdirSync(tmpdir()).filter((name) => name.startsWith('gw-probe-'))
  assert.deepEqual(left, [])
})

test('without the right to create namespaces or links, the reason names the missing right', () => {
  for (const [right, reason] of [
    ['sys_admin', /^the kernel grants no namespaces .*Operation not permitted/],
    ['net_admin', /^the kernel grants no links .*Operation not permitted/],
  ] as const) {
    const { status, stdout } = ability('setpriv', `--bounding-set=-${right}`, '--')
    assert.match(stdout, reason)
    assert.equal(status, 1)
  }
})
