/**
 * The image's program starts a gateway once, with all flags for which a gateway would otherwise
 * restart itself.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { flagsOnlyIn, SMALL } from '../../dataplane/main.ts'

const CONTAINER = join(import.meta.dirname, '../../cli/container.ts')
/** Each start of the process writes one line, before its program begins. */
const NOTE = `
  const { argv, execArgv, env } = process
  const { MALLOC_ARENA_MAX: arenas, NODE_COMPILE_CACHE: cache } = env
  const note = { program: argv[1], given: argv.slice(2), execArgv, arenas, cache }
  process.stdout.write('start ' + JSON.stringify(note) + '\\n')`

test('a gateway of the image is the second start of its process, and has its flags', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'gw-container-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const options = `--import=data:text/javascript,${encodeURIComponent(NOTE)}`
  const output = execFileSync(process.execPath, [CONTAINER, 'gateway', '--version'], {
    env: { PATH: process.env.PATH, HOME: folder, NODE_OPTIONS: options },
    encoding: 'utf8',
  })
  const starts = output
    .split('\n')
    .filter((line) => line.startsWith('start '))
    .map((line) => JSON.parse(line.slice('start '.length)))
  const [, second] = starts
  assert.equal(starts.length, 2)
  assert.match(second.program, /dataplane\/main\.ts$/)
  assert.deepEqual(second.given, ['--version'])
  assert.deepEqual(second.execArgv, SMALL.flags)
  assert.ok(second.execArgv.includes('--managed-zone-memory'))
  assert.equal(second.arenas, '1')
  assert.equal(second.cache, join(folder, '.cache/gw/compiled'))
})

test('a Node whose V8 may lack a flag starts without it', () => {
  assert.deepEqual(flagsOnlyIn('26.0.0'), ['--managed-zone-memory'])
  for (const version of ['24.11.0', '25.1.0', '27.0.0', '2.6.0'])
    assert.deepEqual(flagsOnlyIn(version), [], version)
})
