/** The tool under a Node that is too old for its program. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { TOOL } from '../helpers/gw.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'gw-old-'))
after(() => rmSync(folder, { recursive: true }))

/** Claims to be an old Node, regardless of the Node that runs the test. */
const OLD = join(folder, 'old.mjs')
writeFileSync(
  OLD,
  `const versions = { ...process.versions, node: '20.20.2' }
  Object.defineProperty(process, 'versions', { value: versions })
  Object.defineProperty(process, 'version', { value: 'v20.20.2' })
  delete process.env.NODE_OPTIONS`,
)

function oldNode(tool: string, ...args: readonly string[]) {
  const env = { ...process.env, NODE_OPTIONS: `--import=${OLD}` }
  return spawnSync(process.execPath, [tool, ...args], { encoding: 'utf8', env, timeout: 120_000 })
}

/** An installation with this at the place of the Node that comes with the packages. */
function anInstallation(name: string, node: string | undefined): string {
  const at = join(folder, name)
  mkdirSync(join(at, 'cli'), { recursive: true })
  copyFileSync(TOOL, join(at, 'cli/gw.js'))
  writeFileSync(join(at, 'package.json'), '{"type":"module"}')
  if (node === undefined) return join(at, 'cli/gw.js')
  const installed = join(at, 'node_modules/node/bin/node')
  mkdirSync(dirname(installed), { recursive: true })
  writeFileSync(installed, `#!/bin/sh\n${node}\n`, { mode: 0o755 })
  return join(at, 'cli/gw.js')
}

test('the tool runs in the Node of its packages, with the same arguments and exit code', () => {
  const tool = anInstallation('beside', 'shift; echo "$@"; exit 7')
  const { status, stdout, stderr } = oldNode(tool, 'keys', 'list', '--tenant', 'a b')
  assert.deepEqual([status, stdout, stderr], [7, 'keys list --tenant a b\n', ''])
})

test('without one a single line says which Node it needs and how to get it', () => {
  const tool = anInstallation('bare', undefined)
  writeFileSync(join(dirname(tool), 'program.ts'), '')
  const { status, stdout, stderr } = oldNode(tool, 'status')
  assert.deepEqual([status, stdout], [2, ''])
  assert.match(stderr, /^error: gw needs Node 24 or newer, and this is v20\.20\.2; .*`npm ci`.*\n$/)
})

test('a package cannot contain a Node, and names the version that it needs', () => {
  const { status, stdout, stderr } = oldNode(anInstallation('package', undefined), 'status')
  assert.deepEqual([status, stdout], [2, ''])
  const words = 'gw needs Node 24 or newer, and this is v20.20.2; install a newer one'
  assert.equal(stderr, `error: ${words}\n`)
})

test('a link with another name keeps its name in messages', () => {
  const link = join(folder, 'kubectl-gw')
  symlinkSync(TOOL, link)
  const installed = existsSync(join(ROOT, 'node_modules/node/bin/node'))
  const { stdout } = installed
    ? oldNode(link, '--help')
    : spawnSync(process.execPath, [link, '--help'], { encoding: 'utf8' })
  assert.match(stdout, /^Usage: kubectl gw /)
})

test('npm prints no engine warning if an old Node starts the tool', () => {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  assert.deepEqual([engines, lock.packages[''].engines], [{ node: '>=18' }, { node: '>=18' }])
})
