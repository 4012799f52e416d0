/** Completion as a shell does it: bash runs the script. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { COMMANDS } from '../../cli/commands/index.ts'
import { startGateway } from '../helpers/gateway-process.ts'
import { gw } from '../helpers/gw-here.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(() => rm(folder, { recursive: true }))
/** No gateway of this machine is found. */
const env = { ...process.env, XDG_RUNTIME_DIR: folder, GW_ADMIN: 'http://127.0.0.1:1' }
const { stdout: script } = await gw('completion', 'bash')

const GW = `gw() { '${process.execPath}' '${join(ROOT, 'cli/gw.js')}' "$@"; }`

/** The offers for the last word. */
function offered(...words: readonly string[]): string[] {
  return offeredIn(ROOT, ...words)
}

function offeredIn(cwd: string, ...words: readonly string[]): string[] {
  const list = ['gw', ...words].map((word) => `'${word}'`).join(' ')
  const ask = `${GW}\n${script}\nCOMP_WORDS=(${list}); COMP_CWORD=${words.length}; _gw; printf '%s\\n' "\${COMPREPLY[@]}"`
  const run = spawnSync('bash', ['--norc', '-c', ask], { encoding: 'utf8', cwd, env })
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

const CONFIG = `apiVersion: inference.gw/v1
kind: GatewayConfig
gw:
  upstreams: [{name: gpu-a, provider: vllm, endpoint: "http://127.0.0.1:1", model: m}]
  routes: [{name: chat, strategy: single, upstreams: [gpu-a]}]
  aliases: {gpt-4o: chat, "*": chat}
  api_keys: [{id: laptop, tenant: acme, hash: "sha256:${'0'.repeat(64)}", routes: ["*"]}]
  budgets: [{tenant: search, tokens_per_day: 5}]
  limits: [{name: fair, for: {tenant: acme}, tokens_per_minute: 5}]
`

test('bash offers names of the file at hand: after an option, as the argument, and of the file that the line names', async () => {
  const steering = CONFIG.replace('limits: [', 'limits: [{name: "$(touch pwned)"}, ')
  await writeFile(join(folder, 'gw.yaml'), steering)
  await writeFile(join(folder, 'other.yaml'), CONFIG.replaceAll('laptop', 'desktop'))
  const names = (...words: readonly string[]) => offeredIn(folder, ...words)
  assert.deepEqual(names('limits', 'show', '--tenant', ''), ['acme', 'search'])
  assert.deepEqual(names('limits', 'show', 'se'), ['search'])
  assert.deepEqual(names('limits', 'show', '--limit', ''), ['fair'])
  assert.deepEqual(names('explain', '--route', ''), ['chat', 'gpt-4o'])
  assert.deepEqual(names('upstream', 'test', ''), ['gpu-a'])
  assert.deepEqual(names('keys', 'revoke', '--id', ''), ['laptop'])
  assert.deepEqual(names('keys', 'revoke', '-f', 'other.yaml', '--id', ''), ['desktop'])
  assert.deepEqual(names('keys', 'create', '--id', ''), [])
  assert.ok(names('limits', 'show', 'acme', '--out').includes('--output'))
  assert.deepEqual(await readdir(folder), ['gw.yaml', 'other.yaml'])
})

test('names of a gateway that runs come before those of the file', async () => {
  const gateway = await startGateway({ config: CONFIG.replaceAll('gpu-a', 'gpu-b') })
  const { GW_ADMIN } = process.env
  process.env.GW_ADMIN = gateway.adminUrl
  try {
    const { code, stdout } = await gw('completion', '--names', 'upstreams')
    assert.deepEqual([code, stdout], [0, 'gpu-b\n'])
    assert.equal((await gw('completion', '--names', 'keys')).stdout, 'laptop\n')
  } finally {
    if (GW_ADMIN === undefined) delete process.env.GW_ADMIN
    else process.env.GW_ADMIN = GW_ADMIN
    await gateway.stop()
  }
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
