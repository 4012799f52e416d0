/** Completion as a shell does it: bash runs the script. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { COMMANDS } from '../../cli/commands/index.ts'
import { gw } from '../helpers/gw-here.ts'

const ROOT = join(import.meta.dirname, '../..')
const { stdout: script } = await gw('completion', 'bash')

/** The offers for the last word. */
function offered(...words: readonly string[]): string[] {
  const list = ['gw', ...words].map((word) => `'${word}'`).join(' ')
  const ask = `${script}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length}; _gw; printf '%s\\n' "\${COMPREPLY[@]}"`
  const run = spawnSync('bash', ['--norc', '-c', ask], { encoding: 'utf8', cwd: ROOT })
  assert.equal(run.stderr, '')
  return run.stdout.split('\n').filter((line) => line !== '')
}

test('bash offers the commands, their commands and their options', () => {
  for (const command of COMMANDS) assert.ok(offered('').includes(command.name()), command.name())
  assert.deepEqual(offered('ke'), ['keys'])
  assert.ok(offered('keys', '').includes('revoke'))
  assert.deepEqual(offered('keys', 'revoke', '--rea'), ['--reason'])
  assert.deepEqual(offered('status', '--wa'), ['--watch'])
})

test('bash offers the values of a choice, files after --file, and nothing for an option without a list', () => {
  assert.deepEqual(offered('status', '-o', ''), ['table', 'wide', 'json', 'yaml', 'name'])
  assert.deepEqual(offered('apply', '--file', 'package-lo'), ['package-lock.json'])
  assert.deepEqual(offered('keys', 'revoke', '--id', ''), [])
})

test('the scripts of the other shells know every command', async () => {
  const fish = await gw('completion', 'fish')
  const zsh = await gw('completion', 'zsh')
  assert.match(zsh.stdout, /bashcompinit/)
  for (const command of COMMANDS) {
    const name = command.name()
    assert.match(fish.stdout, new RegExp(`-n '__fish_use_subcommand' -a '${name}' -d '`))
    assert.ok(zsh.stdout.includes(`'${name}')`), name)
  }
  const unknown = await gw('completion', 'tcsh')
  assert.equal(unknown.code, 64)
})
