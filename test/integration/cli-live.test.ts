/** The commands for the daily work at a running gateway: `gw models`. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

const [one, two] = await Promise.all([startUpstream(), startUpstream()])
const probed = { health_check: { path: '/health', interval_seconds: 1, timeout_seconds: 1 } }
const front = await startFront({
  upstreams: [
    { name: 'one', endpoint: one.url, context_window: 8000 },
    { name: 'two', endpoint: two.url, context_window: 32_000, ...probed },
  ],
  routes: [
    { name: 'chat', strategy: 'primary_with_fallback', primary: 'one', fallback: ['two'] },
    { name: 'other', strategy: 'single', primary: 'two' },
  ],
  aliases: { 'gpt-4o': 'chat', 'claude-*': 'other' },
})
after(() => Promise.all([front.process.stop(), one.close(), two.close()]))
const { adminUrl } = front.process
const ask = (...args: readonly string[]) => gw(...args, '--admin', adminUrl)

/** Rows of a table, each as its cells. */
function cellsOf(text: string): string[][] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
}

test('gw models lists routes, aliases and patterns with their strategy, window and upstreams', async () => {
  const { code, stdout, stderr } = await ask('models')
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^NAME +KIND +ROUTE +STRATEGY +WINDOW +UPSTREAMS +ELIGIBLE$/m)
  assert.match(stdout, /^other +route +- +single +32000 +two +yes$/m)
  assert.match(stdout, /^claude-\* +pattern +other +single +32000 +two +yes$/m)
  const names = await ask('models', '-o', 'name')
  assert.equal(names.stdout, 'chat\nother\ngpt-4o\nclaude-*\n')
})

test('gw models says the same to programs, and which upstream is out', async () => {
  two.healthy = false
  const isOut = async () => {
    const { models } = JSON.parse((await ask('models', '-o', 'json')).stdout)
    return models.at(-1).upstreams[0].eligible === false
  }
  await until('the probes have failed', isOut)
  const { stdout } = await ask('models', '-o', 'yaml')
  assert.deepEqual(parse(stdout).models[2], {
    name: 'gpt-4o',
    kind: 'alias',
    route: 'chat',
    strategy: 'primary_with_fallback',
    context_window: 32_000,
    upstreams: [
      { name: 'one', eligible: true },
      { name: 'two', eligible: false },
    ],
  })
  const table = cellsOf((await ask('models')).stdout)
  assert.equal(table.find(([name]) => name === 'other')?.at(-1), 'no')
  two.healthy = true
  await until('the probes succeed', async () => !(await isOut()))
})
