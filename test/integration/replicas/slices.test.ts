/** Counters that are set aside in slices, over several real processes and one real Redis: exact, and mostly without calls. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { ANSWER_TOKENS, keysOf, standing } from '../limits/limited-gateway.ts'
import { Replicas } from './rig.ts'

const PROCESSES = 3
const TOKENS = 15_000
/** Each request may use 5 for its answer and as many as it has bytes for its prompt. */
const LARGEST = 60

const upstream = await startUpstream()
const replicas = await Replicas.start(
  PROCESSES,
  {
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    rate_limits: {
      tenants: ['rate', 'frozen', 'flushed'].map((tenant) => ({
        ...{ tenant, requests_per_minute: 1, burst: 1000, concurrent_requests: 500 },
      })),
    },
    budgets: [
      { tenant: 'budget', tokens_per_day: TOKENS },
      { tenant: 'away', tokens_per_day: 10 * TOKENS },
    ],
  },
  keysOf(['rate', 'frozen', 'flushed', 'budget', 'away']),
)
after(() => Promise.all([replicas.stop(), upstream.close()]))

/** Sends that many requests over all processes, 30 at a time; returns how many were answered with each status. */
async function storm(tenant: string, count: number, before = (_: number) => {}) {
  const statuses = new Map<number, number>()
  let asked = 0
  const client = async () => {
    while (asked < count) {
      before(asked)
      const { status } = await replicas.ask(asked++, tenant, { max_tokens: 5 })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 30 }, client))
  return statuses
}

async function scriptCalls(): Promise<number> {
  const stats = await replicas.redis.ask('INFO', 'commandstats')
  const counts = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

test('1,000 of 1,200 requests are admitted by a bucket of 1,000, to one', async () => {
  const began = performance.now()
  const statuses = await storm('rate', 1200)
  const leaked = Math.ceil((performance.now() - began) / 60_000)
  const admitted = statuses.get(200) ?? 0
  assert.ok(admitted >= 999 && admitted <= 1000 + leaked, `${admitted} of 1000`)
  assert.equal(statuses.get(429), 1200 - admitted)
})

test('a budget is passed by one request at most, and what is settled is what was used', async () => {
  const statuses = await storm('budget', 2000)
  const used = (statuses.get(200) ?? 0) * ANSWER_TOKENS
  await until(
    'the store has all that was used',
    async () => {
      const { tokens_per_day: day } = await standing(replicas.front(1, 'budget'), 'budget')
      return day.used === used
    },
    10,
  )
  assert.ok(used >= TOKENS - LARGEST && used <= TOKENS + LARGEST, `${used} of ${TOKENS}`)
})

test('most requests of a busy tenant cost no call', async () => {
  await storm('away', 300)
  const before = await scriptCalls()
  await storm('away', 1000)
  const calls = ((await scriptCalls()) - before) / 1000
  assert.ok(calls < 1, `${calls} calls for a request`)
})

test('a store that is frozen for some moments refuses no request of a slice, and admits none beyond', async () => {
  let isFrozen = false
  const statuses = await storm('frozen', 1200, (asked) => {
    if (asked < 400 || isFrozen) return
    isFrozen = true
    replicas.redis.signal('SIGSTOP')
    setTimeout(() => replicas.redis.signal('SIGCONT'), 1000)
  })
  const admitted = statuses.get(200) ?? 0
  assert.ok(admitted <= 1001, `${admitted} of 1000`)
  assert.ok(admitted >= 999, `${admitted} of 1000`)
})

test('a store that is flushed knows the usage of budgets again', async () => {
  const first = await storm('away', 100)
  await replicas.redis.ask('FLUSHALL')
  const second = await storm('away', 100)
  assert.equal(first.get(200), 100)
  assert.equal(second.get(200), 100)
  const used = (1300 + 200) * ANSWER_TOKENS
  await until(
    'the store has all that was used',
    async () => {
      const { tokens_per_day: day } = await standing(replicas.front(2, 'away'), 'away')
      return day.used === used
    },
    10,
  )
})
