/**
 * Runs the integration tests and then prints their measurements beside the promised values. With
 * `--write` it runs every test that measures something, of this tier and of the simulation, and
 * writes the table to results.md.
 */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { RESULTS_FILE, resultsTable } from '../helpers/results.ts'
import { runTests } from '../helpers/runner/run-tests.ts'

const TESTS = 'test/integration/**/*.test.ts'
const MEASURING = 'test/**/*.test.ts'
const RESULTS = join(import.meta.dirname, 'results.md')
/** One more than cores: files wait for timers and connections for a third of their time. */
const FILES_AT_ONCE = 1 + Math.max(2, availableParallelism())

async function main(): Promise<number> {
  const keeps = process.argv.includes('--write')
  const folder = mkdtempSync(join(tmpdir(), 'gw-results-'))
  const rows = join(folder, 'rows')
  writeFileSync(rows, '')
  // One file after another if results are kept: they share the machine with nothing else.
  const together = `--test-concurrency=${keeps ? 1 : FILES_AT_ONCE}`
  const args = [together, ...(keeps ? measuringFiles() : [TESTS])]
  // Kept results use the full durations: the run takes about ten minutes.
  const { GW_LONG = keeps ? '1' : '' } = process.env
  const env = { ...process.env, GW_LONG, [RESULTS_FILE]: rows }
  const status = await runTests(args, env)
  const table = resultsTable(rows)
  rmSync(folder, { recursive: true })
  process.stdout.write(`\n${table}\n`)
  if (keeps && status === 0) writeFileSync(RESULTS, `${HEAD}\n${table}\n`)
  return status
}

const HEAD = `# What is promised, and what was measured

By \`make results\`, on ${availableParallelism()} cores that the test, the gateways, Redis and the upstreams share. \`make test-integration\`
prints the same table for its own run.
`

function measuringFiles(): string[] {
  return globSync(MEASURING).filter((file) => readFileSync(file, 'utf8').includes('recordResult('))
}

process.exit(await main())
