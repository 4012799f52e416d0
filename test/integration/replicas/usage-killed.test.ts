/**
 * A replica is killed before it has written its usage rows: budgets include the usage, and reports
 * show what no key has.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startUpstream, USAGE } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { keysOf } from '../limits/limited-gateway.ts'
import { Replicas } from './rig.ts'

const upstream = await startUpstream()
const replicas = await Replicas.start(
  3,
  {
    upstreams: [{ name: 'one', endpoint: upstream.url, model: 'm' }],
    pricing: [{ model: 'm', input: 1, output: 1 }],
    budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000, spend_per_month_usd: 100 }],
  },
  keysOf(['acme']),
)
after(async () => {
  await replicas.stop()
  await upstream.close()
})

const REQUESTS = 30
const NANOS = USAGE.total_tokens * 1000

interface Row {
  readonly by: { readonly model: string }
  readonly cost_nano_usd: number
  readonly requests: number
}

test('rows and (unattributed) add up to the charges of the budgets, although one of three replicas was killed', async () => {
  const asked = Array.from({ length: REQUESTS }, (_, index) => replicas.ask(index, 'acme', {}))
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
  const alive = replicas.front(0, 'acme')
  const settled = async () => (await alive.admin('/limits/acme')).tokens_per_day.used
  await until('all are settled', async () => (await settled()) === REQUESTS * USAGE.total_tokens)
  replicas.front(2, 'acme').process.signal('SIGKILL')
  await replicas.front(2, 'acme').process.exited
  const month = new Date().toISOString().slice(0, 7)
  const { rows, unattributed = [] } = await alive.admin(`/usage?by=model&from=${month}`)
  const sum = rows.reduce((all: number, { cost_nano_usd }: Row) => all + cost_nano_usd, 0)
  assert.equal(sum, REQUESTS * NANOS)
  const lost = rows.find(({ by }: Row) => by.model === '(unattributed)')?.cost_nano_usd ?? 0
  const counted = rows.reduce((all: number, { requests }: Row) => all + requests, 0)
  // Only the killed replica can have lost any.
  assert.ok(counted >= REQUESTS * (2 / 3), String(counted))
  assert.equal(lost, (REQUESTS - counted) * NANOS)
  const ofMonth = unattributed.find(({ window }: { window: string }) => window === 'month')
  assert.equal(ofMonth?.cost_nano_usd ?? 0, lost)
})
