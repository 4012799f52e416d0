/**
 * One budget, several real processes and one real Redis: an overshoot of at most one request, and
 * the whole budget is used.
 */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { errorOf, type Reply, startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { aRandom } from '../../helpers/random.ts'
import { recordResult } from '../../helpers/results.ts'
import { until } from '../../helpers/until.ts'
import { keysOf, standing, untilIdle } from '../limits/limited-gateway.ts'
import { Replicas } from './rig.ts'

const PROCESSES = [1, 2, 3]
const IN_FLIGHT = [16, 64, 256]
const ANSWER_MAX = 1000
const PROMPT = 7
/** About four hundred requests: more than are ever in flight. */
const CAP = 200_000

const TENANTS = [
  ...PROCESSES.flatMap((processes) => IN_FLIGHT.map((inFlight) => tenantOf(processes, inFlight))),
  'scraped',
]

function tenantOf(processes: number, inFlight: number): string {
  return `p${processes}x${inFlight}`
}

const random = aRandom(20_261_121)

/** The tokens that each tenant requested and used at the upstream. */
const used = new Map<string, number>()

/** Uses all requested tokens, so that estimates are exact. */
const reply: Reply = async (outgoing, asked) => {
  const completion = Number(asked.body.max_tokens)
  await new Promise((resolve) => setTimeout(resolve, random(30)))
  const [, tenant = ''] = /tenant-(\w+)/.exec(JSON.stringify(asked.body.messages)) ?? []
  used.set(tenant, (used.get(tenant) ?? 0) + PROMPT + completion)
  await whole('x', { prompt_tokens: PROMPT, completion_tokens: completion })(outgoing, asked)
}

const upstream = await startUpstream(reply)
const replicas = await Replicas.start(
  Math.max(...PROCESSES),
  {
    upstreams: [{ name: 'up', endpoint: upstream.url, timeout_seconds: 100 }],
    budgets: TENANTS.map((tenant) => ({ tenant, tokens_per_day: CAP })),
  },
  keysOf(TENANTS),
)
after(() => Promise.all([replicas.stop(), upstream.close()]))

/**
 * Keeps this many in flight until the budget is spent; a client refused because of reservations
 * sends again after a request has ended.
 */
async function storm(tenant: string, processes: number, inFlight: number): Promise<void> {
  let ended = Promise.withResolvers<void>()
  const messages = [{ role: 'user', content: `tenant-${tenant}` }]
  const client = async (index: number) => {
    for (;;) {
      const next = ended.promise
      const fields = { messages, max_tokens: 1 + random(ANSWER_MAX) }
      const answer = await replicas.ask(index % processes, tenant, fields)
      if (answer.status === 402) return
      if (answer.status === 429) {
        assert.equal(errorOf(answer).reason, 'budget_reserved')
        await next
        if (ended.promise === next) ended = Promise.withResolvers()
        continue
      }
      assert.equal(answer.status, 200, answer.text)
      ended.resolve()
      ended = Promise.withResolvers()
    }
  }
  // A refusal may cross the last end on the network: a client that waits for no end sends again.
  const released = setInterval(() => ended.resolve(), 100)
  await Promise.all(Array.from({ length: inFlight }, (_, index) => client(index)))
  clearInterval(released)
}

describe('the overshoot over all processes is at most one request, the utilisation above 95 %', () => {
  for (const processes of PROCESSES) {
    for (const inFlight of IN_FLIGHT) {
      test(`${inFlight} in flight over ${processes} processes`, async () => {
        const tenant = tenantOf(processes, inFlight)
        await storm(tenant, processes, inFlight)
        await untilIdle(replicas.front(0, tenant), tenant)
        // The store gets what slices covered within a quarter of a second.
        const usedNow = async () =>
          (await standing(replicas.front(0, tenant), tenant)).tokens_per_day
        await until(
          'the store has all that was used',
          async () => (await usedNow()).used === used.get(tenant),
        )
        const day = await usedNow()
        const over = Math.max(0, day.used - CAP)
        const where = `${inFlight} in flight, ${processes} processes`
        const requests = (over / (PROMPT + ANSWER_MAX)).toFixed(2)
        const share = ((100 * day.used) / CAP).toFixed(1)
        recordResult('overshoot', `${requests} requests, ${share} % used`, where)
        assert.equal(
          day.used,
          used.get(tenant),
          'settled usage equals the usage that the upstream served',
        )
        assert.ok(over <= PROMPT + ANSWER_MAX, `${day.used} of ${CAP}`)
        assert.ok(day.used >= 0.95 * CAP, `${day.used} of ${CAP}`)
      })
    }
  }
})

test('one scrape of any process shows what the tenant has used in all of them', async () => {
  const gauge = 'gw_budget_tokens_used{tenant="scraped",window="day"}'
  const tell = () => Promise.all(replicas.fronts.map((front) => front.value(gauge)))
  const ask = async () => {
    const messages = [{ role: 'user', content: 'tenant-scraped' }]
    const answer = await replicas.ask(0, 'scraped', { messages, max_tokens: 5 })
    assert.equal(answer.status, 200, answer.text)
    await untilIdle(replicas.front(0, 'scraped'), 'scraped')
  }
  await ask()
  assert.deepEqual(await tell(), [12, 12, 12])
  await ask()
  assert.deepEqual(await tell(), [24, 24, 24])
})
