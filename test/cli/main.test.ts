import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { COMMANDS } from '../../cli/commands/index.ts'
import { VERSION } from '../../dataplane/base/version.ts'
import { gw, node, TOOL } from '../helpers/gw.ts'

/** Writes each module that is loaded on a line of standard error. */
const LIST_MODULES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      process.stderr.write(found.url + '\\n')
      return found
    },
  })
`)}`

/** Simulates any failure: a package that cannot be loaded. */
const WITHOUT_YAML = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === 'yaml') throw new Error('it is gone\\n  for good')
      return next(specifier, context)
    },
  })
`)}`

const misuses = [
  ['an unknown command', ['confg'], /unknown command 'confg'\n\(Did you mean config\?\)/],
  ['an unknown command of a command', ['keys', 'creat'], /\(Did you mean create\?\)/],
  ['a command that stands elsewhere', ['validate'], /\(Did you mean gw config validate\?\)/],
  ['a command that stands twice', ['test'], /gw keys test, or gw auth test, or gw limits test/],
  [
    'a misspelt option that is required',
    ['config', 'validate', '--fil', 'x'],
    /unknown option '--fil'\n\(Did you mean --file\?\)\n$/,
  ],
  ['an unknown option', ['simulate', '--prt', '1'], /'--prt'\n\(Did you mean --port\?\)/],
  ['a missing option', ['diff'], /required option '-f, --file <path>' not specified/],
  ['an option without its value', ['run', '--file'], /argument missing/],
  ['a word too many', ['run', 'a', 'b'], /too many arguments/],
  ['a value of the wrong kind', ['simulate', '--port', 'x'], /whole number from 0 to 65535/],
  ['an unknown format', ['simulate', '-o', 'xml'], /table, wide, json, yaml, name/],
  [
    'a key that cannot be looked up',
    ['limits', 'test', '--tenant', 'a', '--rate', '60', '--duration', '1s'],
    /a key of tenant "a" in GW_KEY/,
  ],
  ['no command at all', [], /^Usage: gw /],
] as const

for (const [what, args, message] of misuses) {
  test(`${what} exits with 64 and prints the correct form`, async () => {
    const { code, stdout, stderr } = await gw(...args)
    assert.equal(code, 64)
    assert.match(stderr, message)
    assert.doesNotMatch(stderr, /\n {4}at /)
    assert.equal(stdout, '')
  })
}

test('the help lists every command', async () => {
  const { code, stdout } = await gw('--help')
  assert.equal(code, 0)
  for (const command of COMMANDS) assert.match(stdout, new RegExp(`^  ${command.name()} `, 'm'))
})

test('every command and option has a description', () => {
  const all = COMMANDS.flatMap((command) => [command, ...command.commands])
  for (const command of all) {
    assert.notEqual(command.description(), '', command.name())
    for (const { flags, description } of command.options) assert.notEqual(description, '', flags)
  }
})

test('the help comes before anything heavy is loaded', async () => {
  const { stderr } = await node('--import', LIST_MODULES, TOOL, '--help')
  assert.match(stderr, /node_modules\/commander\//)
  assert.deepEqual(stderr.match(/node_modules\/(?!commander\/)[^/\n]+/g), null)
  assert.doesNotMatch(stderr, /dataplane\/(main|config)/)
})

test('the status of a gateway on this machine comes without the packages of clusters', async () => {
  const args = ['status', '--admin', 'http://127.0.0.1:1']
  const { code, stderr } = await node('--import', LIST_MODULES, TOOL, ...args)
  assert.equal(code, 2)
  assert.match(stderr, /cli\/status\/stand-alone/)
  const packages = stderr.match(/(?<=node_modules\/)(?!commander\/|zod\/)[^/\n]+/g)
  assert.deepEqual(packages, null)
  assert.doesNotMatch(stderr, /\/(operator\/(kube|workload|compile)|crds)\//)
})

/** Milliseconds of a processor that Node takes for this, at best; what a busy machine does besides does not count. */
function costOf(...args: readonly string[]): number {
  const command = [process.execPath, ...args].map((word) => `'${word}'`).join(' ')
  const timed = `TIMEFORMAT='%U %S'; time ${command} >/dev/null`
  const milliseconds = Array.from({ length: 8 }, () => {
    const { stderr } = spawnSync('bash', ['--norc', '-c', timed], { encoding: 'utf8' })
    const [user = Number.NaN, system = Number.NaN] = stderr.trim().split(' ').map(Number)
    return (user + system) * 1000
  })
  return Math.min(...milliseconds)
}

test('the help costs less than 150 ms, or on a slow machine less than eight empty programs', (t) => {
  const help = costOf(TOOL, '--help')
  const empty = costOf('--eval', '')
  t.diagnostic(`${help.toFixed(0)} ms, an empty program ${empty.toFixed(0)} ms`)
  assert.ok(help < Math.max(150, 8 * empty), `${help} ms, and ${empty} ms for nothing`)
})

test('an unexpected error is one sentence and ends with 2', async () => {
  const command = ['keys', 'create', '--tenant', 'a', '--routes', 'b']
  const { code, stderr } = await node('--import', WITHOUT_YAML, TOOL, ...command)
  assert.deepEqual({ code, stderr }, { code: 2, stderr: 'error: it is gone for good\n' })
})

test('the version is that of the release', async () => {
  assert.deepEqual(await gw('--version'), { code: 0, stdout: `${VERSION}\n`, stderr: '' })
})

test('under the name of a kubectl plugin the usage shows what was typed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
  await symlink(TOOL, join(folder, 'kubectl-gw'))
  const { code, stdout } = await node(join(folder, 'kubectl-gw'), 'run', '--help')
  await rm(folder, { recursive: true })
  assert.equal(code, 0)
  assert.match(stdout, /^Usage: kubectl gw run \[options\]/)
})
