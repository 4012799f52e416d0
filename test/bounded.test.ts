/** A tier of tests that hangs is ended with all its children. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { runBounded } from './helpers/runner/bounded.ts'
import { FAILED_TESTS } from './helpers/runner/run-tests.ts'
import { until } from './helpers/until.ts'

const RUN_TESTS = join(import.meta.dirname, 'helpers/runner/run-tests.ts')

const folder = mkdtempSync(join(tmpdir(), 'gw-bounded-'))
const failedTests = join(folder, 'failed')
after(() => rmSync(folder, { recursive: true }))

test('a program that ends in time has passed or failed by its code', async () => {
  assert.equal(await runBounded('sh', ['-c', 'exit 0'], { msMax: 60_000 }), 'passed')
  assert.equal(await runBounded('sh', ['-c', 'exit 3']), 'failed')
})

test('one that takes too long is ended with its children, even if it ignores the signal', async () => {
  const file = join(folder, 'pids')
  // Neither listens, and the test does not wait for the second one.
  const script = `trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $! $$ > ${file}; wait; while :; do sleep 1; done`
  // On a busy machine it may be ended before its first output; then it runs again with more time.
  for (let msMax = 500; !existsSync(file) || readFileSync(file, 'utf8') === ''; msMax *= 2) {
    const outcome = await runBounded('sh', ['-c', script], { msMax, graceMs: 500 })
    assert.equal(outcome, 'took too long')
  }
  const pids = readFileSync(file, 'utf8').trim().split(' ').map(Number)
  assert.equal(pids.length, 2)
  await until('both are gone', () => pids.every((pid) => !isAlive(pid)))
})

test('a file of tests that hangs is ended with its children, is reported, and has failed', async () => {
  const pids = join(folder, 'pids-of-file')
  const file = join(folder, 'hangs.test.ts')
  // Its event loop does not even turn.
  writeFileSync(
    file,
    `import { spawn } from 'node:child_process'
    import { writeFileSync } from 'node:fs'
    const { pid } = spawn('sleep', ['600'])
    writeFileSync('${pids}', pid + ' ' + process.pid)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`,
  )
  for (let seconds = 1; !existsSync(pids) || readFileSync(pids, 'utf8') === ''; seconds *= 2) {
    const { code, printed } = await runFile(file, seconds)
    assert.equal(code, 1)
    assert.match(printed, /^ended, because it ran for \d+ s: .*hangs\.test\.ts$/m)
  }
  const ended = readFileSync(pids, 'utf8').split(' ').map(Number)
  await until('both are gone', () => ended.every((pid) => !isAlive(pid)))
})

test('a test that failed is kept with its file and error for the end of the run', async () => {
  const file = join(folder, 'fails.test.ts')
  writeFileSync(
    file,
    `import { test } from 'node:test'
    test('two is three', () => { throw new Error('2 is not 3\\nand more') })`,
  )
  writeFileSync(failedTests, '')
  const { code } = await runFile(file, 60)
  assert.equal(code, 1)
  assert.match(readFileSync(failedTests, 'utf8'), /fails\.test\.ts: two is three: 2 is not 3\n$/)
})

async function runFile(file: string, seconds: number) {
  const { NODE_TEST_CONTEXT: _, ...own } = process.env
  const env = {
    ...own,
    CI: 'false',
    [FAILED_TESTS]: failedTests,
    GW_FILE_SECONDS_MAX: String(seconds),
  }
  const child = spawn(process.execPath, [RUN_TESTS, file], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const printed = await text(child.stdout)
  const [code] = await ended
  return { code, printed }
}

test('an interrupted program passes the signal on and ends by it', async () => {
  const file = join(folder, 'pid')
  const script = `echo $$ > ${file}; exec sleep 600`
  const code = `import { runBounded } from '${join(import.meta.dirname, 'helpers/runner/bounded.ts')}'
    await runBounded('sh', ['-c', ${JSON.stringify(script)}])
    process.exit(0)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: 'inherit' })
  const ended = once(child, 'close')
  await until('it runs', () => existsSync(file) && readFileSync(file, 'utf8') !== '')
  child.kill('SIGINT')
  assert.deepEqual(await ended, [null, 'SIGINT'])
  await until('so has what it ran', () => !isAlive(Number(readFileSync(file, 'utf8'))))
})

/** A process that has ended counts as gone, even if its parent has not collected its exit yet. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
