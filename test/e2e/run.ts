/**
 * Runs the end-to-end tests, one file after another, and then prints their results. They run in the
 * cluster of E2E_KUBECONFIG with the image E2E_IMAGE, else in a node that is started here and
 * removed afterwards if it did not exist.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeKubectl } from '../helpers/kubernetes/kubectl.ts'
import { providePrograms } from '../helpers/kubernetes/programs.ts'
import { provideImages, providePrometheusImage, provideRedisImage } from './image.ts'
import { provideModelImage } from './model-image.ts'
import { inNetwork, KUBECONFIG } from './node/layout.ts'
import { ensureNode, isNodeReady } from './node/node.ts'
import { removeNode } from './node/remove.ts'
import { MONITORING, SPACE, SYSTEM } from './spaces.ts'
import { resultTable, TABLE_FILE } from './table.ts'

/** Each installs what it needs; the last one removes everything. */
const FILES = [
  'install',
  'model',
  'metrics',
  'egress',
  'rollout',
  'scale',
  'endpoints',
  'front',
  'limits',
  'faults',
  'changes',
  'why',
  'runbooks',
  'safe-change',
  'upgrade',
  'uninstall',
].map((name) => `test/e2e/${name}.test.ts`)

/** The number of files that may fail once in CI: a larger number is no accident. */
const UNSTEADY_MAX = 3

/** A file that takes longer hangs. */
const FILE_MS_MAX = 1_800_000

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'gw-e2e-'))
  const table = join(folder, 'rows')
  const chosen = process.argv.slice(2)
  const files = chosen.length > 0 ? chosen : FILES
  try {
    const theirs = process.env.E2E_KUBECONFIG
    if (theirs) await refuseWhereOthersAre(theirs)
    const status = theirs
      ? runTests(files, table, process.execPath, [])
      : await runInOurNode(files, table)
    process.stdout.write(`\n${resultTable(table)}\n`)
    return status
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runInOurNode(files: readonly string[], table: string): Promise<number> {
  const isTheirs = await isNodeReady()
  try {
    const ofNode = files === FILES ? testNode() : 0
    await ensureNode()
    const isUsed = (name: string) => files.some((file) => file.endsWith(`/${name}.test.ts`))
    const { image, former } = await provideImages(isUsed('upgrade'))
    process.env.E2E_IMAGE = image
    if (former !== undefined) process.env.E2E_FORMER_IMAGE = former
    process.env.E2E_REDIS_IMAGE = await provideRedisImage()
    process.env.E2E_PROMETHEUS_IMAGE = await providePrometheusImage()
    // It is larger than all others together.
    if (isUsed('model')) process.env.E2E_MODEL_IMAGE = await provideModelImage()
    process.env.E2E_KUBECONFIG = KUBECONFIG
    process.env.E2E_OUR_NODE = 'true'
    const [program, args] = inNetwork(process.execPath, [])
    return runTests(files, table, program, args) || ofNode
  } finally {
    if (!isTheirs) await removeNode()
  }
}

/** First, because it removes the node and starts it again. */
function testNode(): number {
  const args = ['--test', '--test-concurrency=1', 'test/e2e/node/*.test.ts']
  return spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
}

/** The tests delete these namespaces, so they must not exist in another cluster before. */
async function refuseWhereOthersAre(kubeconfig: string): Promise<void> {
  const { kubectl = '' } = await providePrograms(['kubectl'])
  const get = ['get', 'namespace', SPACE, SYSTEM, MONITORING, '--ignore-not-found', '-o', 'name']
  const found = (await makeKubectl(kubectl, kubeconfig)(get)).trim()
  if (found === '') return
  throw new Error(
    `This cluster has ${found.replaceAll('\n', ' and ')}, which the tests would delete.`,
  )
}

/** One at a time and in this order, even after a failure. */
function runTests(
  files: readonly string[],
  table: string,
  program: string,
  before: readonly string[],
): number {
  const env = { ...process.env, [TABLE_FILE]: table }
  const passes = (file: string) => {
    // Remains of a failed test must not delay the end of its file.
    const args = [...before, '--test', '--test-force-exit', `--test-timeout=${FILE_MS_MAX}`, file]
    return spawnSync(program, args, { stdio: 'inherit', env }).status === 0
  }
  let again = process.env.CI === 'true' ? UNSTEADY_MAX : 0
  const failed = files.filter((file) => {
    if (passes(file)) return false
    if (again === 0) return true
    again -= 1
    process.stdout.write(`\n${file} failed, once more:\n`)
    if (!passes(file)) return true
    process.stdout.write(`\nunsteady, mend it: ${file}\n`)
    return false
  })
  for (const file of failed) process.stdout.write(`${file} failed\n`)
  return failed.length > 0 ? 1 : 0
}

process.exit(await main())
