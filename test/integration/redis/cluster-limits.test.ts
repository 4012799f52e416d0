/** Counters over several tenants in a Redis cluster, where they are on other nodes than those of the tenants. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Front, type Heard, startUpstream } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import {
  ANSWER_TOKENS,
  keysOf,
  type Limited,
  standing,
  startLimited,
  untilStoreAnswers,
} from '../limits/limited-gateway.ts'
import { startRedisCluster } from './a-redis-cluster.ts'
import { PLENTY } from './shared-gateways.ts'

const cluster = await startRedisCluster()
after(() => cluster.stop())

const redis = { url: cluster.url, timeout_ms: 10_000 }

/** Pairs of tenants, each with a shared counter; the tenants of a pair are on different nodes more often than not. */
const PAIRS = ['rate', 'slots', 'tokens', 'tight'] as const
const tenantsOf = (pair: string) => ['a', 'b', 'c', 'd'].map((one) => `${pair}-${one}`)

const SERVED = 20
const BUDGET = 5 * ANSWER_TOKENS
/** Less than the shared counter has. */
const OWN = 3

const upstream = await startUpstream()
const keys = keysOf(PAIRS.flatMap(tenantsOf))
const document = {
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up', max_tokens_default: 3 }],
  rate_limits: {
    backend: 'redis',
    redis,
    default: PLENTY,
    tenants: tenantsOf('tight').map((tenant) => ({
      tenant,
      requests_per_minute: 1,
      burst: OWN,
    })),
  },
  budgets: [{ tenants: tenantsOf('tokens'), name: 'all', tokens_per_day: BUDGET }],
  limits: [
    { name: 'rate', for: { tenants: tenantsOf('rate') }, requests_per_minute: 1, burst: SERVED },
    { name: 'slots', for: { tenants: tenantsOf('slots') }, concurrent_requests: 2 },
    { name: 'wide', for: { tenants: tenantsOf('tight') }, requests_per_minute: 1, burst: 100 },
  ],
}
const gateways: readonly Limited[] = await Promise.all([
  startLimited(document, keys),
  startLimited(document, keys),
])
after(() => Promise.all([...gateways.map((one) => one.stop()), upstream.close()]))

for (const gateway of gateways) await untilStoreAnswers(gateway.as('rate-a'))

const frontsOf = (pair: string): Front[] =>
  tenantsOf(pair).flatMap((tenant) => gateways.map((one) => one.as(tenant)))

/** All at once, by turns as each tenant at each gateway. */
async function race(pair: string, requests: number): Promise<Heard[]> {
  const fronts = frontsOf(pair)
  const asked = Array.from({ length: requests }, (_, at) =>
    (fronts[at % fronts.length] as Front).chat(),
  )
  return await Promise.all(asked)
}

const served = (heard: readonly Heard[]) => heard.filter(({ status }) => status === 200).length

async function counter(limit: string): Promise<{ used: number }> {
  const [front] = frontsOf('rate')
  const counters = await front?.admin(`/limit-counters?limit=${limit}`)
  return Object.values(counters)[0] as { used: number }
}

test('of a race of several tenants exactly as many requests are served as their counter has', async () => {
  const heard = await race('rate', 3 * SERVED)
  assert.equal(served(heard), SERVED)
  // A refusal by the shared counter gives back what the node of the tenant has charged.
  const used = await Promise.all(
    tenantsOf('rate').map(async (tenant) => {
      const { requests_per_minute } = await standing(frontsOf('rate')[0] as Front, tenant)
      return requests_per_minute.used
    }),
  )
  assert.ok(used.reduce((sum, one) => sum + one, 0) <= SERVED, used.join())
})

test('a refusal by the node of a tenant gives back what the shared counter has charged', async () => {
  const heard = await race('tight', 60)
  assert.equal(served(heard), 4 * OWN)
  // A request that leaked in the meantime is given back in part.
  assert.ok((await counter('wide')).used <= 4 * OWN + 1)
})

test('a refused request holds no slot on another node', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { reply } = upstream
  const before = upstream.asked.length
  for (let one = 0; one < 2; one++)
    upstream.script.push(async (outgoing, asked) => {
      await released
      await reply(outgoing, asked)
    })
  const [first, ...others] = frontsOf('slots') as [Front, ...Front[]]
  const running = [first.ask(), (others[3] as Front).ask()]
  await until('both run', () => upstream.asked.length === before + 2)
  for (const front of others) assert.equal((await front.chat()).status, 429)
  release()
  for (const one of running) assert.equal((await one.over).status, 200)
  await until('nothing is held', async () => (await counter('slots')).used === 0)
  for (const tenant of tenantsOf('slots')) {
    const { concurrent_requests } = await standing(first, tenant)
    assert.equal(concurrent_requests.used, 0)
  }
})

test('a budget of several tenants is exceeded by one request at most', async () => {
  let all = 0
  await until('the budget is spent', async () => {
    const heard = await race('tokens', 8)
    all += served(heard)
    return heard.every(({ status }) => status === 402)
  })
  assert.ok(all * ANSWER_TOKENS <= BUDGET + ANSWER_TOKENS, String(all))
  assert.ok(all * ANSWER_TOKENS >= BUDGET, String(all))
})
