/**
 * Runs test files: `node test/helpers/runner/run-tests.ts [flags of the runner] PATTERN...`. With `CI=true`, a few
 * files that failed next to others, which share the machine with them, are run again alone, and named in the output. A
 * file that hangs is ended and has failed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import type { FailedTest } from './failed-files.ts'
import { endLongFiles } from './long-files.ts'

/** Names a file that gets a line for each test that failed for good, so that a run of several tiers can repeat them at its end. */
export const FAILED_TESTS = 'GW_FAILED_TESTS'

const REPORTER = join(import.meta.dirname, 'failed-files.ts')

/**
 * Test files use compiled modules of the last run, which saves a third of the processor time of many small ones. By a
 * flag and not by the environment, so that programs of tests do not inherit it.
 */
const COMPILED = join(import.meta.dirname, '../../../.cache/compiled')
const KEEP_COMPILED = `--import=data:text/javascript,${encodeURIComponent(
  `import { enableCompileCache } from 'node:module'; enableCompileCache(${JSON.stringify(COMPILED)})`,
)}`

/** The runner itself would leave one core idle, although tests wait more than they work. */
const FILES_AT_ONCE = Math.max(2, availableParallelism())

/** More than that is not an accident. */
const UNSTEADY_MAX = 3

/** A longer file hangs: most take seconds, and one that builds programs takes minutes. */
const FILE_SECONDS_MAX = 1200
const LONG_FILE_SECONDS_MAX = 7200

/** Answers the exit code. */
export async function runTests(args: readonly string[], env = process.env): Promise<number> {
  const first = await runOnce(args, env)
  const files = [...new Set(first.failed.map(({ file }) => file))]
  const isAccident = files.length > 0 && files.length <= UNSTEADY_MAX
  if (first.status === 0 || env.CI !== 'true' || !isAccident) return concluded(first, env)
  process.stdout.write(`\nonce more, one after the other: ${files.join(' ')}\n`)
  const again = await runOnce(['--test-concurrency=1', ...files], env)
  if (again.status === 0) process.stdout.write(`\nunsteady, mend them: ${files.join(' ')}\n`)
  return concluded(again, env)
}

interface Run {
  readonly status: number
  readonly failed: readonly FailedTest[]
}

function concluded({ status, failed }: Run, { [FAILED_TESTS]: list }: NodeJS.ProcessEnv): number {
  if (status === 0 || list === undefined) return status
  const lines = failed.map(({ file, name, error }) => `${file}: ${name}: ${error}\n`)
  appendFileSync(list, lines.join(''))
  return status
}

async function runOnce(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-tests-'))
  const list = join(folder, 'failed')
  const reporters = ['spec', 'stdout', REPORTER, list]
  const flags = reporters.map((value, index) =>
    index % 2 === 0 ? `--test-reporter=${value}` : `--test-reporter-destination=${value}`,
  )
  const concurrency = `--test-concurrency=${FILES_AT_ONCE}`
  const own = ['--test', KEEP_COMPILED, concurrency, ...flags]
  const runner = spawn(process.execPath, [...own, ...args], { stdio: 'inherit', env })
  const secondsMax = Number(env.GW_FILE_SECONDS_MAX ?? usualSecondsMax(env))
  const watch = endLongFiles(runner.pid ?? 0, secondsMax)
  const [status] = await once(runner, 'close')
  clearInterval(watch)
  const lines = readFileSync(list, 'utf8').split('\n').filter(Boolean)
  rmSync(folder, { recursive: true })
  const failed = lines.map((line): FailedTest => {
    const test = JSON.parse(line)
    return { ...test, file: relative(process.cwd(), test.file) }
  })
  return { status: status ?? 1, failed }
}

function usualSecondsMax({ CI, GW_LONG, GW_SEEDS }: NodeJS.ProcessEnv): number {
  const isShort = CI === 'true' && GW_LONG !== '1' && GW_SEEDS === undefined
  return isShort ? FILE_SECONDS_MAX : LONG_FILE_SECONDS_MAX
}

if (import.meta.main) process.exit(await runTests(process.argv.slice(2)))
