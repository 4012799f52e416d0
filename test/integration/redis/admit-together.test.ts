/**
 * Requests of one turn of the event loop: one call decides on all of them, each as if it were
 * alone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AdmitRequest, Rules } from '../../../dataplane/accounts/store.ts'
import { MemoryStore } from '../../../dataplane/store/memory/memory.ts'
import { type Link, StoreAway } from '../../../dataplane/store/redis/link.ts'
import { aBudget, aRule, tokens, verdict } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'
import { aStore } from './store-world.ts'

const bench = aStoreBench()

const TENANT = 'acme'

/** Ten requests; the seventh is sent twice. */
function requests(rules: Rules): AdmitRequest[] {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'g', 'h', 'i', 'j']
  return ids.map((id, index) => ({
    tenant: TENANT,
    id,
    rules,
    estimate: tokens(10 + index),
    downgradeEstimate: tokens(1),
  }))
}

const CASES: Readonly<Record<string, Rules>> = {
  'no limit reached': aRule({ budget: aBudget({ tokensPerDay: 1e6, nanosPerMonth: 1e9 }) }),
  'no budget': aRule(),
  'a rate that admits four': aRule({ requestsPerMinute: 60, burst: 4 }),
  'tokens for three': aRule({ tokensPerMinute: 40 }),
  'slots for five': aRule({ concurrentRequests: 5 }),
  'a daily budget for six': aRule({ budget: aBudget({ tokensPerDay: 60 }) }),
  'a spent day': aRule({ budget: aBudget({ tokensPerDay: 0 }) }),
  'a spent day that downgrades': aRule({
    concurrentRequests: 7,
    budget: aBudget({ tokensPerDay: 0, nanosPerMonth: 5, onExceeded: 'downgrade' }),
  }),
}

for (const [name, rules] of Object.entries(CASES)) {
  test(`with ${name} each gets the answer of a single request, by one call`, async () => {
    const alone = new MemoryStore({ clock: bench.clock })
    const store = bench.replica('one')
    const before = bench.link.calls
    const together = await Promise.all(requests(rules).map((request) => store.admit(request)))
    assert.equal(bench.link.calls - before, 1)
    assert.deepEqual(
      together,
      requests(rules).map((request) => alone.admit(request)),
    )
    assert.deepEqual(await store.read(TENANT, rules), alone.read(TENANT, rules))
  })
}

test('requests with other rules, or of another tenant, are decided separately', async () => {
  const [one, other] = [aRule({ burst: 1 }), aRule({ concurrentRequests: 2 })]
  const store = bench.replica('one')
  const before = bench.link.calls
  const admit = (tenant: string, id: string, rules: Rules) =>
    store.admit({ tenant, id, rules, estimate: tokens(1) })
  const answers = await Promise.all([
    admit('acme', 'a', one),
    admit('acme', 'b', other),
    admit('umbrella', 'c', one),
    admit('acme', 'd', other),
  ])
  assert.deepEqual(answers.map(verdict), ['admitted', 'admitted', 'admitted', 'concurrency'])
  assert.equal(bench.link.calls - before, 3)
})

test('if the answer about all of them is lost, each is taken back', async () => {
  let isLost = true
  const link: Link = {
    async run(...call) {
      const reply = await bench.link.run(...call)
      if (isLost) throw new StoreAway('timeout', true)
      return reply
    },
  }
  const store = aStore(link, { clock: bench.clock })
  const rules = aRule()
  const answers = await Promise.allSettled(requests(rules).map((request) => store.admit(request)))
  assert.ok(answers.every(({ status }) => status === 'rejected'))
  isLost = false
  await Promise.all(
    requests(rules).map(({ id }) =>
      store.settle({ tenant: TENANT, id, used: tokens(5), budget: undefined }),
    ),
  )
  const { concurrency } = await store.read(TENANT, rules)
  assert.equal(concurrency.used, 0)
})
