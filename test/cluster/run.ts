/**
 * Runs the tests with a real API server, one file after another, and prints their measurements:
 * `node test/cluster/run.ts [FILE...]`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CONTROL_PLANE, providePrograms } from '../helpers/kubernetes/programs.ts'
import { RESULTS_FILE } from '../helpers/results.ts'
import { runTests } from '../helpers/runner/run-tests.ts'
import { figuresTable } from './figures.ts'

/** A test that takes longer hangs; the limit shows which one. */
const TEST_MS_MAX = process.env.GW_LONG === '1' ? 3_600_000 : 1_200_000

async function main(): Promise<number> {
  await providePrograms(CONTROL_PLANE)
  const folder = mkdtempSync(join(tmpdir(), 'gw-figures-'))
  const rows = join(folder, 'rows')
  writeFileSync(rows, '')
  const given = process.argv.slice(2)
  const files = given.length === 0 ? ['test/cluster/**/*.test.ts'] : given
  // Remains of a failed test must not delay the end of its file.
  const flags = ['--test-concurrency=1', '--test-force-exit', `--test-timeout=${TEST_MS_MAX}`]
  const status = await runTests([...flags, ...files], { ...process.env, [RESULTS_FILE]: rows })
  process.stdout.write(`\n${figuresTable(rows)}\n`)
  rmSync(folder, { recursive: true })
  return status
}

process.exit(await main())
