/**
 * Runs the end-to-end tests, one file after the other, and prints at their end what they showed. In the cluster of
 * E2E_KUBECONFIG with the image E2E_IMAGE, else in a node that is started here and removed afterwards if it was not there.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeKubectl } from '../cluster/kubectl.ts'
import { providePrograms } from '../cluster/programs.ts'
import { inNetwork, KUBECONFIG } from '../node/layout.ts'
import { ensureNode, isNodeReady } from '../node/node.ts'
import { removeNode } from '../node/remove.ts'
import { provideImage, provideRedisImage } from './image.ts'
import { provideModelImage } from './model-image.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { resultTable, TABLE_FILE } from './table.ts'

/** Each installs what it needs; the last one takes everything away. */
const FILES = [
  'install',
  'model',
  'rollout',
  'scale',
  'limits',
  'faults',
  'changes',
  'upgrade',
  'uninstall',
].map((name) => `test/e2e/${name}.test.ts`)

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
    const ofNode = spawnSync(process.execPath, ['--test', 'test/node/node.test.ts'], {
      stdio: 'inherit',
    })
    await ensureNode()
    process.env.E2E_IMAGE = await provideImage()
    process.env.E2E_MODEL_IMAGE = await provideModelImage()
    process.env.E2E_REDIS_IMAGE = await provideRedisImage()
    process.env.E2E_KUBECONFIG = KUBECONFIG
    process.env.E2E_OUR_NODE = 'true'
    const [program, args] = inNetwork(process.execPath, [])
    return runTests(files, table, program, args) || (ofNode.status ?? 1)
  } finally {
    if (!isTheirs) await removeNode()
  }
}

/** The tests delete these namespaces: in a cluster of somebody else nobody may have made them before. */
async function refuseWhereOthersAre(kubeconfig: string): Promise<void> {
  const { kubectl = '' } = await providePrograms(['kubectl'])
  const get = ['get', 'namespace', SPACE, SYSTEM, '--ignore-not-found', '-o', 'name']
  const found = (await makeKubectl(kubectl, kubeconfig)(get)).trim()
  if (found === '') return
  throw new Error(`This cluster has ${found.replace('\n', ' and ')}, which the tests would delete.`)
}

/** One at a time and in this order, whatever becomes of each. */
function runTests(
  files: readonly string[],
  table: string,
  program: string,
  before: readonly string[],
): number {
  const env = { ...process.env, [TABLE_FILE]: table }
  const failed = files.filter((file) => {
    const { status } = spawnSync(program, [...before, '--test', file], { stdio: 'inherit', env })
    return status !== 0
  })
  for (const file of failed) process.stdout.write(`${file} failed\n`)
  return failed.length > 0 ? 1 : 0
}

process.exit(await main())
