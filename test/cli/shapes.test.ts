/** JSON output has the shapes of cli/docs/json.md, and that page lists every command with data. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { COMMANDS } from '../../cli/commands/index.ts'
import { SHAPES, variantsOf } from '../../cli/shapes/index.ts'
import { aKey } from '../helpers/a-key.ts'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'

function leavesOf(command: Command, above = ''): [name: string, command: Command][] {
  const name = `${above}${command.name()}`
  if (command.commands.length === 0) return [[name, command]]
  return command.commands.flatMap((one) => leavesOf(one, `${name} `))
}

test('every command with data has a shape on the page, and no other', () => {
  const withData = COMMANDS.flatMap((command) => leavesOf(command))
    .filter(([, { options }]) => options.some(({ long }) => long === '--output'))
    .map(([name]) => name)
  assert.deepEqual(Object.keys(SHAPES).toSorted(), withData.toSorted())
})

const upstream = await startUpstream()
const client = aKey({ id: 'client', prefix: 'gw_test_client_abcd' })
const document = {
  api_keys: [client.record],
  upstreams: [{ name: 'up', endpoint: upstream.url, context_window: 8000 }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
  aliases: { 'gpt-4o': 'chat' },
  rate_limits: { default: { requests_per_minute: 600, burst: 150, concurrent_requests: 10 } },
  budgets: [{ tenant: 'acme', tokens_per_day: 100_000, on_exceeded: 'reject' }],
  pricing: { models: [{ model: 'served', input: 1, output: 2 }] },
  slo: { ttft_p95_ms: 500 },
}
const front = await startFront(document)
const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
after(async () => {
  await Promise.all([front.process.stop(), upstream.close()])
  await rm(folder, { recursive: true })
})
const { adminUrl, url, configFile } = front.process
const keysFile = join(folder, 'keys.yaml')
await writeFile(keysFile, stringify([client.record]))
const [listFile, pricedFile] = [join(folder, 'prices.json'), join(folder, 'priced.yaml')]
await writeFile(
  listFile,
  '{"served": {"input_cost_per_token": 2e-6, "output_cost_per_token": 4e-6}}',
)
await writeFile(
  pricedFile,
  stringify({ gw: { upstreams: [{ name: 'up', model: 'served', provider: 'openai' }] } }),
)

const answer = await fetch(`${url}/v1/chat/completions`, {
  method: 'POST',
  headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
  body: '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}',
})
await answer.text()
const id = answer.headers.get('x-request-id') ?? ''
const logFile = join(folder, 'gw.log')
await writeFile(logFile, front.process.output())

const admin = ['--admin', adminUrl]
const load = ['--rate', '600', '--duration', '100ms', '--route', 'chat', '--key', client.key]
const asked: readonly (readonly [command: string, args: readonly string[], variant?: string])[] = [
  ['config validate', ['--file', configFile, '--explain']],
  ['config show', ['--resolved', ...admin]],
  ['config show', ['--resolved', '--file', configFile]],
  ['diff', ['--file', configFile, ...admin]],
  ['apply', ['--file', configFile, ...admin], 'on this machine'],
  ['doctor', ['--file', configFile, ...admin]],
  ['expose', ['--for', 'istio']],
  ['status', admin, 'on this machine'],
  ['wait', admin],
  ['models', admin],
  ['top', ['--once', '--interval', '100ms', ...admin]],
  ['logs', ['--file', logFile, '--tail', '1'], 'of each line'],
  ['keys create', ['--tenant', 'blue', '--routes', 'chat', '--id', 'blue', '--file', keysFile]],
  ['keys list', admin],
  ['keys inspect', ['--prefix', 'gw_test_client', ...admin], 'of one key'],
  ['keys test', ['--id', 'client', '--route', 'chat', ...admin]],
  ['keys rotate', ['--id', 'blue', '--file', keysFile], 'of a key'],
  ['keys revoke', ['--id', 'client', '--reason', 'over', '--file', keysFile]],
  ['auth test', ['--route', 'chat', '--key', client.key, ...admin]],
  ['limits show', ['--tenant', 'acme', ...admin]],
  ['limits test', ['--tenant', 'acme', ...load, ...admin]],
  ['usage', ['--by', 'tenant,model', ...admin]],
  ['pricing import', [listFile, '--file', pricedFile]],
  ['pricing check', [listFile, '--file', pricedFile]],
  ['explain', ['--route', 'chat', '--tenant', 'acme', ...admin]],
  ['trace get', [id, ...admin]],
  ['trace list', admin],
  ['context inspect', ['--request-id', id, ...admin]],
  ['upstream test', admin],
  ['tokens verify', ['--upstream', 'up', '--sample', '1', ...admin]],
  ['gateway test', admin],
  ['version', admin],
]

for (const [command, args, variant = ''] of asked) {
  test(`gw ${command} ${args[0]} prints the JSON of its shape`, async () => {
    const { stdout, stderr } = await gw(...command.split(' '), ...args, '-o', 'json')
    assert.notEqual(stdout, '', stderr)
    const shape = SHAPES[command]
    assert.ok(shape)
    const [, schema] = variantsOf(shape).find(([name]) => name === variant) ?? []
    const { error } = schema?.safeParse(JSON.parse(stdout)) ?? {}
    assert.equal(error, undefined, stdout)
    const yaml = await gw(...command.split(' '), ...args, '-o', 'yaml')
    const makesKeys = /^keys (create|rotate|revoke)$/.test(command)
    if (!makesKeys) assert.notEqual(yaml.stdout, '', yaml.stderr)
    if (makesKeys) return
    const names = await gw(...command.split(' '), ...args, '-o', 'name')
    assert.deepEqual([names.stdout.includes('{'), names.code], [false, yaml.code], names.stderr)
  })
}
