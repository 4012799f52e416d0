/**
 * The first steps of a new user: the README's commands exist, and make explains how to install what a bare machine
 * lacks.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { gw } from './helpers/gw-here.ts'

const ROOT = join(import.meta.dirname, '..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const MAKEFILE = readFileSync(join(ROOT, 'Makefile'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'gw-front-page-'))
after(() => rmSync(folder, { recursive: true }))

const [, CONFIGURATION = ''] = /```yaml\n(apiVersion[\s\S]*?)```/.exec(README) ?? []
const HOSTED = / {4}- name: hosted\n( {6}.*\n)*/

for (const [what, text] of [
  ['as it stands', CONFIGURATION],
  [
    'without `hosted` in both places',
    CONFIGURATION.replace(HOSTED, '').replace(/ +fallback: .*\n/, ''),
  ],
  ['with an empty fallback', CONFIGURATION.replace(HOSTED, '').replace('[hosted]', '[]')],
] as const) {
  test(`the configuration of the README is valid ${what}, after its command has added the key`, async () => {
    const file = join(folder, 'gw.yaml')
    writeFileSync(file, text)
    const [, words = ''] = /^npx gw (keys create .*?) +#/m.exec(README) ?? []
    const made = await gw(...words.replace('gw.yaml', file).split(' '))
    assert.equal(made.code, 0, made.stderr)
    const { code, stdout, stderr } = await gw('config', 'validate', '--file', file)
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^ok: .* 1 key/)
  })
}

test('every target of the README is in the Makefile with an explanation', () => {
  const targets = README.match(/(?<=(^|`)make )[a-z0-9-]+/gm) ?? []
  assert.ok(targets.length >= 6)
  for (const target of targets) {
    assert.match(MAKEFILE, new RegExp(`^${target}: .*## `, 'm'), target)
    assert.match(MAKEFILE, new RegExp(`^\\.PHONY:(.*\\\\\n)?.*\\b${target}\\b`, 'm'), target)
  }
})

test('make says what to install where Node cannot start, and starts nothing', () => {
  const at = aTree('bare')
  aProgram(join(at, 'node_modules/.bin/node'), 'exit 127')
  const said = spawnSync('cksum', { input: readFileSync(join(at, 'package-lock.json')) })
  writeFileSync(join(at, 'node_modules/.installed'), said.stdout)
  const { status, stdout, stderr } = make(at, 'run')
  assert.notEqual(status, 0)
  assert.match(stderr, /^error: Node 26 cannot start here.*apt-get install libatomic1/m)
  assert.equal(stdout, '')
})

for (const { is, answer, installs } of [
  { is: 'old', answer: 1, installs: ['host install', 'brought ci'] },
  { is: 'new enough', answer: 0, installs: ['host ci'] },
]) {
  test(`where the Node of the host is ${is}, these install: ${installs.join(', ')}`, () => {
    const at = aTree(is)
    const calls = join(at, 'calls')
    const installed = 'mkdir -p node_modules/.bin && cp brought-node node_modules/.bin/node'
    aProgram(join(at, 'brought-node'), 'exit 0')
    aProgram(join(at, 'brought-npm'), `echo "brought $1" >> ${calls}; ${installed}`)
    aProgram(join(at, 'host/node'), `case $1 in -p) echo 26;; -e) exit ${answer};; esac`)
    aProgram(
      join(at, 'host/npm'),
      `echo "host $1" >> ${calls}
      if [ "$1" = ci ]; then ${installed}; exit; fi
      mkdir -p .cache/npm/node_modules/.bin
      cp brought-node .cache/npm/node_modules/.bin/node
      cp brought-npm .cache/npm/node_modules/.bin/npm`,
    )
    const { status, stderr } = make(at, 'ready')
    assert.equal(status, 0, stderr)
    assert.deepEqual(readFileSync(calls, 'utf8').trim().split('\n'), installs)
  })
}

test('make installs again if the content of the lock file is another, not if its time is', () => {
  const at = aTree('locked')
  const calls = join(at, 'calls')
  const lock = join(at, 'package-lock.json')
  aProgram(join(at, 'brought-node'), 'exit 0')
  aProgram(join(at, 'host/node'), 'exit 0')
  const npm = (end: string) =>
    aProgram(
      join(at, 'host/npm'),
      `echo "$1" >> ${calls}; rm -rf node_modules; mkdir -p node_modules/.bin; ${end}
      cp brought-node node_modules/.bin/node`,
    )
  const installs = (status = 0) => {
    assert.equal(make(at, 'ready').status === 0, status === 0)
    return readFileSync(calls, 'utf8').trim().split('\n').length
  }
  npm('')
  assert.equal(installs(), 1)
  const later = new Date(Date.now() + 3_600_000)
  utimesSync(lock, later, later)
  assert.equal(installs(), 1, 'a newer time')
  writeFileSync(lock, '{"name":"gw"}')
  utimesSync(lock, new Date(0), new Date(0))
  assert.equal(installs(), 2, 'another content with an older time')
  assert.equal(installs(), 2)
  writeFileSync(lock, '{}')
  npm('exit 1')
  assert.equal(installs(1), 3)
  npm('')
  assert.equal(installs(), 4, 'after an installation that failed')
})

test('make image says in one line that the base image cannot be fetched', () => {
  const bin = join(folder, 'builder')
  const says = 'Error: initializing source docker://node:26-slim: pinging container registry'
  aProgram(
    join(bin, 'buildah'),
    `[ "$1" = version ] && exit; echo STEP 1; echo '${says}' >&2; exit 125`,
  )
  const env = { ...process.env, PATH: [bin, process.env.PATH].join(delimiter) }
  const args = [join(ROOT, 'test/helpers/image/build.ts'), '--tool', 'buildah']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  assert.deepEqual([status, stdout], [1, ''])
  assert.match(stderr, /^error: buildah ended with 125: .*registry.*BASE_IMAGE=NAME\n$/)
})

/** A clone without any installation. */
function aTree(name: string): string {
  const at = join(folder, name.replace(' ', '-'))
  mkdirSync(at)
  copyFileSync(join(ROOT, 'Makefile'), join(at, 'Makefile'))
  writeFileSync(join(at, 'package-lock.json'), '{}')
  return at
}

function aProgram(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
}

/** Without variables of the make that may have started this test. */
function make(at: string, target: string) {
  const env = { PATH: [join(at, 'host'), process.env.PATH].join(delimiter) }
  return spawnSync('make', [target], { cwd: at, env, encoding: 'utf8' })
}
