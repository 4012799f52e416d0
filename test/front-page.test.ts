/** What a newcomer meets first: the README's commands exist, and make says how to mend what a bare machine lacks. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gw } from './cli/gw.ts'

const ROOT = join(import.meta.dirname, '..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const MAKEFILE = readFileSync(join(ROOT, 'Makefile'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'gw-front-page-'))
after(() => rmSync(folder, { recursive: true }))

test('the configuration of the README is valid once the key is in it', async () => {
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(README) ?? []
  const file = join(folder, 'gw.yaml')
  writeFileSync(file, yaml.replace('sha256:...', `sha256:${'0'.repeat(64)}`))
  const { code, stderr } = await gw('config', 'validate', '--file', file)
  assert.equal(code, 0, stderr)
})

test('every command of the README is one, with these options', async () => {
  const lines = README.match(/(?<=^npx gw ).*?(?= *(#|$))/gm) ?? []
  assert.ok(lines.length >= 6)
  for (const line of lines) {
    const words = line.split(' ')
    const options = words.filter((word) => word.startsWith('-'))
    const command = options[0] === undefined ? words : words.slice(0, words.indexOf(options[0]))
    const { code, stdout } = await gw(...command, '--help')
    assert.equal(code, 0, line)
    assert.ok(stdout.startsWith(`Usage: gw ${command.join(' ')} `), line)
    for (const option of options) assert.ok(stdout.includes(option), `${line}: ${option}`)
  }
})

test('every target of the README is in the Makefile and explained there', () => {
  const targets = README.match(/(?<=(^|`)make )[a-z0-9-]+/gm) ?? []
  assert.ok(targets.length >= 6)
  for (const target of targets) {
    assert.match(MAKEFILE, new RegExp(`^${target}: .*## `, 'm'), target)
    assert.match(MAKEFILE, new RegExp(`^\\.PHONY:(.*\\\\\n)?.*\\b${target}\\b`, 'm'), target)
  }
})

test('make says what to install where Node cannot start, and starts nothing', () => {
  const programs = join(folder, 'node_modules/.bin')
  mkdirSync(programs, { recursive: true })
  copyFileSync(join(ROOT, 'Makefile'), join(folder, 'Makefile'))
  writeFileSync(join(folder, 'package-lock.json'), '{}')
  writeFileSync(join(programs, 'node'), '#!/bin/sh\nexit 127\n', { mode: 0o755 })
  // Newer than the list of what is wanted, so that nothing is installed.
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{}')
  // Nothing of the make that may have started this test.
  const env = { PATH: process.env.PATH }
  const { status, stdout, stderr } = spawnSync('make', ['run'], {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  assert.notEqual(status, 0)
  assert.match(stderr, /^error: Node 26 cannot start here.*apt-get install libatomic1/m)
  assert.equal(stdout, '')
})
