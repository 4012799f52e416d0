/** The history of a real gateway: counted by whose fault requests failed, with events, and kept over a restart. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Front, failing, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { startGateway } from '../helpers/gateway-process.ts'

const upstream = await startUpstream()
const folder = await mkdtemp(join(tmpdir(), 'gw-history-'))
after(async () => {
  await upstream.close()
  await rm(folder, { recursive: true })
})

interface History {
  readonly kept_in: string
  readonly series: readonly (Readonly<Record<string, readonly number[]>> & {
    readonly by: string
    readonly name: string
  })[]
  readonly events: readonly { readonly event: string; readonly message: string }[]
}

async function historyOf({ adminUrl, adminHeaders }: Front['process']): Promise<History> {
  const answer = await fetch(`${adminUrl}/history?since=-24h&step=5m`, { headers: adminHeaders })
  assert.equal(answer.status, 200)
  // The gateway's own answer.
  return JSON.parse(await answer.text())
}

function sum({ series }: History, name: string, column: string): number {
  const found = series.find((one) => one.by === 'route' && one.name === name)
  return (found?.[column] ?? []).reduce((total, count) => total + count, 0)
}

test('a restart keeps the history in state_dir: requests, failures by fault, tokens, and events', async (t) => {
  const front = await startFront({
    gateway: { drain_timeout_seconds: 1 },
    upstreams: [
      {
        name: 'up',
        endpoint: upstream.url,
        circuit_breaker: { failure_threshold: 2, open_duration_seconds: 300 },
      },
    ],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up', retry: { max_attempts: 1 } }],
    state_dir: folder,
  })
  t.after(() => front.process.stop())
  upstream.reply = whole()
  for (let times = 0; times < 3; times++) await front.ask({ model: 'chat' }).over
  await front.ask({ model: 'no-such-model' }).over
  upstream.reply = failing(503)
  for (let times = 0; times < 2; times++) await front.ask({ model: 'chat' }).over
  const first = await historyOf(front.process)
  const counted = (history: History) =>
    ['requests', 'client', 'upstream', 'limit'].map(
      (column) =>
        sum(history, 'chat', column) + (column === 'client' ? sum(history, 'none', column) : 0),
    )
  assert.deepEqual(counted(first).slice(1), [1, 2, 0])
  assert.ok(sum(first, 'chat', 'input_tokens') > 0)
  const config = await readFile(front.process.configFile, 'utf8')
  await front.process.stop()
  const again = await startGateway({ config, env: { UPSTREAM_KEY: 'k' } })
  t.after(() => again.stop())
  const second = await historyOf(again)
  assert.equal(second.kept_in, 'state_dir')
  assert.deepEqual(counted(second), counted(first))
  const events = second.events.map(({ event }) => event)
  for (const event of ['start', 'breaker', 'drain'])
    assert.ok(events.includes(event), `${event}: ${events}`)
  assert.equal(events.filter((event) => event === 'start').length, 2)
})
