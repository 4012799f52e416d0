/** A gateway with ten thousand keys whose clients tag each request differently: 3,000 requests, or 50,000 with GW_LONG=1. */
import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { cases } from '../helpers/cases.ts'
import { QUESTION, startFront, startUpstream, textOf, USAGE } from '../helpers/fake-upstream.ts'

const REQUESTS = cases(3_000, 50_000)
const KEYS = 10_000
const TENANTS = ['t0', 't1', 't2', 't3']
const AT_ONCE = 16
const NANOS = USAGE.total_tokens * 1000
const MEMORY_BYTES_MAX = 268_435_456

const upstream = await startUpstream()
const keys = Array.from({ length: KEYS }, (_, index) =>
  aKey({ id: `k${index}`, tenant: TENANTS[index % TENANTS.length] }),
)
const front = await startFront({
  upstreams: [{ name: 'one', endpoint: upstream.url, model: 'm' }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
  api_keys: keys.map(({ record }) => record),
  rate_limits: { default: { requests_per_minute: 1_000_000, concurrent_requests: 1000 } },
  pricing: [{ model: 'm', input: 1, output: 1 }],
  usage: { tags: ['run'] },
})
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
after(async () => {
  agent.destroy()
  await front.process.stop()
  await upstream.close()
})

function ask(index: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${keys[index % KEYS]?.key}`,
      'content-type': 'application/json',
      'x-gw-tags': `run=client-${index}`,
    }
    const { url } = front.process
    const outgoing = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers })
    outgoing.on('error', reject).on('response', (incoming) => {
      incoming.resume().on('end', () => resolve(incoming.statusCode))
    })
    outgoing.end(JSON.stringify(QUESTION))
  })
}

async function askUpTo(last: number, from: number): Promise<void> {
  let next = from
  const lane = async () => {
    while (next < last) assert.equal(await ask(next++), 200)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

/** Names and labels, without those of usage that is folded for the first time. */
async function labelSets(): Promise<string[]> {
  const names = [...(await front.series()).keys()]
  return names.filter((name) => !name.startsWith('gw_usage_folded_total')).sort()
}

async function residentBytes(): Promise<number> {
  const text = await textOf(`${front.process.metricsUrl}/metrics`)
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
}

interface Row {
  readonly by: Readonly<Record<string, string>>
  readonly requests: number
  readonly cost_nano_usd: number
}

const sumOf = (rows: readonly Row[], amount: 'requests' | 'cost_nano_usd') =>
  rows.reduce((sum, row) => sum + row[amount], 0)

test('rows, memory and label sets stay within bounds, totals are exact, and folding is counted', async () => {
  await askUpTo(200, 0)
  const [sets, before] = [await labelSets(), await residentBytes()]
  await askUpTo(REQUESTS, 200)
  assert.deepEqual(await labelSets(), sets)
  assert.ok(!sets.join().includes('client-'))
  const grown = (await residentBytes()) - before
  assert.ok(grown < MEMORY_BYTES_MAX, `${grown} bytes more`)

  const { rows: byTenant } = await front.admin('/usage?by=tenant')
  assert.deepEqual(sumOf(byTenant, 'requests'), REQUESTS)
  assert.deepEqual(sumOf(byTenant, 'cost_nano_usd'), REQUESTS * NANOS)
  const { rows } = await front.admin('/usage?by=hour,tenant,key,tags')
  assert.equal(await front.value('gw_usage_rows'), rows.length)
  for (const ofTenant of Map.groupBy(rows as Row[], ({ by }) => `${by.hour} ${by.tenant}`).values())
    assert.ok(ofTenant.length <= 501, String(ofTenant.length))
  assert.equal(sumOf(rows, 'requests'), REQUESTS)
  const folded = rows.filter(({ by }: Row) => by.tags === 'other')
  assert.ok(sumOf(folded, 'requests') > 0)
  for (const reason of ['tags', 'key']) {
    const counted = await front.value(`gw_usage_folded_total{reason="${reason}"}`)
    assert.equal(counted, sumOf(folded, 'requests'), reason)
  }
  let spent = 0
  for (const tenant of TENANTS)
    spent += await front.value(`gw_tenant_cost_usd_total{tenant="${tenant}"}`)
  assert.equal(Math.round(spent * 1e9), REQUESTS * NANOS)
})
