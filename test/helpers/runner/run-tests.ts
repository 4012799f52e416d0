/**
 * Runs test files: `node test/helpers/runner/run-tests.ts [flags of the runner] PATTERN...`. Where `CI=true`, a few files that failed beside
 * the others, which share the machine with them, are run once more by themselves, and named in what is printed. A file that
 * hangs is ended and has failed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { endLongFiles } from './long-files.ts'

const REPORTER = join(import.meta.dirname, 'failed-files.ts')

/**
 * Test files take compiled modules from the last run, which saves a third of the processor time of many small ones. By a flag
 * and not by the environment, so that programs that tests start keep to their own ways.
 */
const COMPILED = join(import.meta.dirname, '../../../.cache/compiled')
const KEEP_COMPILED = `--import=data:text/javascript,${encodeURIComponent(
  `import { enableCompileCache } from 'node:module'; enableCompileCache(${JSON.stringify(COMPILED)})`,
)}`

/** The runner itself would leave one core idle, though tests wait more than they work. */
const FILES_AT_ONCE = Math.max(2, availableParallelism())

/** More than that is no accident. */
const UNSTEADY_MAX = 3

/** A file that takes longer hangs: most take seconds, and one that builds programs takes minutes. */
const FILE_SECONDS_MAX = 1200
const LONG_FILE_SECONDS_MAX = 7200

/** Answers the exit code. */
export async function runTests(args: readonly string[], env = process.env): Promise<number> {
  const { status, failed } = await runOnce(args, env)
  const isAccident = failed.length > 0 && failed.length <= UNSTEADY_MAX
  if (status === 0 || env.CI !== 'true' || !isAccident) return status
  process.stdout.write(`\nonce more, one after the other: ${failed.join(' ')}\n`)
  const again = await runOnce(['--test-concurrency=1', ...failed], env)
  if (again.status === 0) process.stdout.write(`\nunsteady, mend them: ${failed.join(' ')}\n`)
  return again.status
}

async function runOnce(args: readonly string[], env: NodeJS.ProcessEnv) {
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
  const files = readFileSync(list, 'utf8').split('\n').filter(Boolean)
  rmSync(folder, { recursive: true })
  const failed = [...new Set(files)].map((file) => relative(process.cwd(), file))
  return { status: status ?? 1, failed }
}

function usualSecondsMax({ CI, GW_LONG, GW_SEEDS }: NodeJS.ProcessEnv): number {
  const isShort = CI === 'true' && GW_LONG !== '1' && GW_SEEDS === undefined
  return isShort ? FILE_SECONDS_MAX : LONG_FILE_SECONDS_MAX
}

if (import.meta.main) process.exit(await runTests(process.argv.slice(2)))
