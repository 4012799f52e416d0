/** Requests with a counter of `limits[]` beside slices of their tenant. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type Beat, LEASE_MS } from '../../../dataplane/accounts/store.ts'
import { type Link, StoreAway } from '../../../dataplane/store/redis/link.ts'
import { limitedRules } from '../../helpers/store/limited-rules.ts'
import { atTime } from '../../helpers/store/script-time.ts'
import { aBudget, aRule, tokens, verdict } from '../../helpers/store/world.ts'
import { aStoreBench } from './store-bench.ts'
import { aStore } from './store-world.ts'

/** Requests of which the store keeps leases. */
const ASKED = 3

const bench = aStoreBench()

/** A store, and what it needs to have slices for a tenant. */
function sliced(asking = PLAIN) {
  const due: (() => void)[] = []
  const waits: number[] = []
  const slices = {
    isTogether: true,
    hears: () => true,
    schedule(ms: number, call: () => void) {
      waits.push(ms)
      due.push(call)
      return () => undefined
    },
  }
  const network = { isAway: false }
  const timed = atTime(bench.link, bench.clock.wall)
  const claims: (() => Promise<unknown>)[] = []
  const link: Link = {
    async run(...call) {
      if (network.isAway) throw new StoreAway('open', false)
      const reply = await timed.run(...call)
      if (call[0].name === 'claim') claims.push(() => timed.run(...call))
      return reply
    },
  }
  const store = aStore(link, { replica: 'one', clock: bench.clock, slices })
  let ids = 0
  const ask = () => ({ ...asking, id: `r${ids++}` })
  const isCovered = () => store.admitHere(ask()) !== undefined
  const untilCovered = async () => {
    for (let asked = 0; asked < ASKED; asked++) await store.admit(ask())
    while (!isCovered()) {
      // Replies take no time, however many turns they need: later the tenant would not count as busy.
      if (due.length > 0) bench.clock.pass(100)
      for (const call of due.splice(0)) call()
      await turn()
    }
  }
  /** Its last claim once more, as a store executes it that was reached late. */
  const claimAgain = async () => {
    const before = claims.length
    for (const call of due.splice(0)) call()
    while (claims.length === before) await turn()
    return () => claims.at(-1)?.()
  }
  /** The ids of its requests, also of those that no slice covered. */
  const asked = () => Array.from({ length: ids }, (_, at) => `r${at}`)
  return { store, due, waits, network, isCovered, untilCovered, claimAgain, asked }
}

const PLAIN = { tenant: 'acme', rules: aRule(), estimate: tokens(1) }

test('slices cover requests with large counters of limits[], and one with a small counter asks the store', async () => {
  const LARGE = { name: 'many', for: { tenant: 'acme' }, requests_per_minute: 6000, burst: 3000 }
  const rules = limitedRules([LARGE])()
  const { store, untilCovered, isCovered } = sliced({ ...PLAIN, rules })
  await untilCovered()
  assert.ok(isCovered())
  const few = limitedRules([
    LARGE,
    { name: 'few', for: { tenant: 'acme' }, requests_per_minute: 1, burst: 2 },
  ])()
  const asking = { ...PLAIN, rules: few }
  assert.equal(store.admitHere({ ...asking, id: 'e' }), undefined)
  const verdicts: string[] = []
  for (const id of ['e', 'f', 'g']) verdicts.push(verdict(await store.admit({ ...asking, id })))
  assert.deepEqual(verdicts, ['admitted', 'admitted', 'rpm'])
})

test('what slices covered of limits[] is counted as by the store, each limit by its tokens', async () => {
  const A_SECOND = 400
  const PAUSE_S = 0.25
  const rules = limitedRules([
    { name: 'rate', for: { tenant: 'acme' }, tokens_per_minute: 60 * A_SECOND },
    { name: 'out', for: { tenant: 'acme' }, output_tokens_per_minute: 60 * A_SECOND },
    { name: 'day', for: { tenant: 'acme' }, budget: { tokens: 1_000_000, per: 'day' } },
    { name: 'slots', for: { tenant: 'acme' }, concurrent_requests: 1000 },
  ])()
  const estimate = { tokens: 100, nanos: 0, input: 10 }
  const { store, untilCovered, claimAgain } = sliced({ ...PLAIN, rules, estimate })
  await untilCovered()
  const asking = { ...PLAIN, rules, estimate, id: 'here' }
  const shown = async () => {
    const { scoped = [] } = await bench.replica('two').read('acme', rules)
    const [rate, out, day, slots] = scoped
    const { tokens: { settled = 0, reserved = 0 } = {} } = day ?? {}
    const left = [rate, out].map((one) => one?.tokenRate?.remaining ?? 0)
    return [...left, settled, reserved, slots?.concurrency?.used ?? 0]
  }
  assert.ok(store.admitHere(asking))
  const claimed = async () => {
    bench.clock.pass(PAUSE_S * 1000)
    await claimAgain()
    return await shown()
  }
  const before = await claimed()
  const used = { tokens: 70, nanos: 0, input: 10 }
  void store.settle({ ...asking, used, budget: undefined, scoped: rules.scoped })
  const now = await claimed()
  const leaked = PAUSE_S * A_SECOND
  assert.deepEqual(
    now.map((one, at) => one - (before[at] ?? 0)),
    [30 + leaked, 30 + leaked, 70, -100, -1],
  )
})

test('a beat leaves slices as they are, and voids them if the store has lost its data', async () => {
  const { store, isCovered, untilCovered } = sliced()
  await store.admit({ ...PLAIN, id: 'first' })
  await store.settle({ tenant: 'acme', id: 'first', used: tokens(1), budget: undefined })
  await untilCovered()
  await store.renew([])
  assert.ok(isCovered())
  await bench.link.client.flushall()
  await store.renew([])
  assert.ok(!isCovered())
})

test('a claim that comes a second time, when leases have expired, leaves no slot behind', async () => {
  const { untilCovered, claimAgain } = sliced()
  await untilCovered()
  const rules = aRule()
  const running = async () => (await bench.replica('two').read('acme', rules)).concurrency.used
  bench.clock.pass(LEASE_MS - 1000)
  const again = await claimAgain()
  bench.clock.pass(1000)
  await again()
  // The request that the slice covers.
  assert.equal(await running(), 1)
})

test('the requests of a replica that ended are charged with their last beat, or else with what they held', async () => {
  const HELD = 1000
  const USED = 10
  const rules = aRule({ budget: aBudget({ tokensPerDay: 1e9 }) })
  const asking = { ...PLAIN, rules, estimate: tokens(HELD) }
  const { store, untilCovered, claimAgain } = sliced(asking)
  await untilCovered()
  const settled = async () => (await bench.replica('two').read('acme', rules)).tokens?.settled ?? 0
  const beats: Beat[] = Array.from({ length: ASKED }, (_, at) => {
    return { tenant: 'acme', id: `r${at}`, used: tokens(0) }
  })
  // Those that the slice covers have the next numbers.
  const here = Array.from({ length: 2 }, (_, at) => ({ ...asking, id: `here${at}` }))
  for (const one of here) assert.ok(store.admitHere(one))
  // After this time nothing is idle.
  bench.clock.pass(10_000)
  await store.renew([...beats, { tenant: 'acme', id: 'here0', used: tokens(USED) }])
  await claimAgain()
  bench.clock.pass(LEASE_MS)
  // And the one that found the slice.
  assert.equal(await settled(), USED + HELD + HELD)
})

test('what an older copy has set aside again is not charged for a replica that has given it back', async () => {
  const rules = aRule({ budget: aBudget({ tokensPerDay: 1e9 }) })
  const { store, untilCovered, claimAgain, asked } = sliced({ ...PLAIN, rules })
  await untilCovered()
  const { client } = bench.link
  const [state = ''] = await client.keys('*:state')
  const copy = await client.dumpBuffer(state)
  for (const id of asked()) {
    const settling = { tenant: 'acme', id, used: tokens(1), budget: rules.budget }
    await store.settle(settling)
  }
  // After this time nothing is idle, and the slice is over.
  bench.clock.pass(10_000)
  await claimAgain()
  await client.restore(state, 0, copy as Buffer, 'REPLACE')
  await store.renew([])
  bench.clock.pass(LEASE_MS)
  const { tokens: day } = await bench.replica('two').read('acme', rules)
  // One request found the slice.
  assert.equal(day?.settled, ASKED + 1)
})

test('a claim whose windows cannot be read is not sent again at once', async () => {
  const { store, due, waits, network } = sliced()
  for (let asked = 0; asked < ASKED; asked++) await store.admit({ ...PLAIN, id: `r${asked}` })
  network.isAway = true
  // Now this process has usage in windows that it has not read.
  const settling = { tenant: 'acme', id: 'r0', used: tokens(1), budget: undefined }
  await assert.rejects(async () => await store.settle(settling), StoreAway)
  waits.length = 0
  bench.clock.pass(100)
  for (const call of due.splice(0)) call()
  while (waits.length === 0) await turn()
  assert.ok(Math.min(...waits) >= 100, `${waits}`)
})
