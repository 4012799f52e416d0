/** The order in which requests that wait at a full upstream go: shares of output tokens by weight. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cases } from '../../../helpers/cases.ts'
import { aRandom } from '../../../helpers/random.ts'
import { type Crowd, FullUpstream } from './a-full-upstream.ts'

const SPAN_MS = 10_000
const MINUTE_MS = 60_000
/** Until each tenant has had its first answers. */
const WARM_MS = 5000
const PLACES = 32
const PACE = 100

function assertParts(upstream: FullUpstream, tenant: string, due: number, fromMs = WARM_MS) {
  for (const [index, part] of upstream.partsOf(tenant, SPAN_MS, fromMs).entries())
    assert.ok(
      Math.abs(part - due) <= 0.05 * due,
      `${tenant} had ${part} instead of ${due} in 10 s from ${fromMs + index * 10} ms`,
    )
}

const flood = (tenant: string, more: Partial<Crowd> = {}): Crowd => ({
  ...{ tenant, depth: 10, tokens: [40, 80] },
  ...more,
})

test('in any ten seconds of full load each tenant has its weight in output tokens within a twentieth', () => {
  const random = aRandom(7)
  for (let seed = 1; seed <= cases(20, 1000); seed++) {
    const weights = { gold: 1 + random(5), silver: 1 + random(3), bronze: 1 }
    const sum = weights.gold + weights.silver + weights.bronze
    const crowds = Object.keys(weights).map((tenant) => {
      const most = 20 + random(80)
      return flood(tenant, { tokens: [Math.ceil(most / 2), most + 1] })
    })
    const scene = { fairness: { weights }, crowds, forMs: MINUTE_MS, seed }
    const upstream = new FullUpstream(scene).play()
    for (const [tenant, weight] of Object.entries(weights))
      assertParts(upstream, tenant, weight / sum)
  }
})

test('no request waits longer than twice the time of its share, and one answer', () => {
  const weights = { gold: 4, silver: 2, bronze: 1 }
  const crowds = Object.keys(weights).map((tenant) => flood(tenant, { depth: 30 }))
  const upstream = new FullUpstream({ fairness: { weights }, crowds, forMs: MINUTE_MS }).play()
  for (const { tenant, cameMs, ms, tokens } of upstream.waits) {
    if (cameMs < WARM_MS) continue
    const pace = (PLACES * PACE * weights[tenant as keyof typeof weights]) / 7
    const due = (tokens / pace) * 1000
    assert.ok(ms <= 2 * due + 800, `${tenant} waited ${ms} ms, and its share takes ${due} ms`)
  }
})

test('long and short answers have the same share, once answers have been seen', () => {
  const crowds = [flood('brief', { tokens: [10, 30] }), flood('wordy', { tokens: [300, 500] })]
  const upstream = new FullUpstream({ fairness: {}, crowds, places: 64, forMs: 120_000 }).play()
  for (const part of upstream.partsOf('wordy', MINUTE_MS, 30_000))
    assert.ok(Math.abs(part - 0.5) <= 0.025, `wordy had ${part}`)
})

test('a tenant alone has the whole upstream, and owes nothing for it when another comes', () => {
  const crowds = [flood('early'), flood('late', { fromMs: 30_000 })]
  const upstream = new FullUpstream({ fairness: {}, crowds, forMs: MINUTE_MS }).play()
  assert.equal(upstream.partsOf('early', SPAN_MS, 0)[0], 1)
  assertParts(upstream, 'early', 0.5, 32_000)
})

test('a tenant that was idle has no more than its share when it comes back', () => {
  const pause = [flood('other'), flood('back', { untilMs: 10_000 })]
  const crowds = [...pause, flood('back', { fromMs: 40_000 })]
  const upstream = new FullUpstream({ fairness: {}, crowds, forMs: MINUTE_MS }).play()
  assertParts(upstream, 'back', 0.5, 41_000)
})

test('the request of a quiet tenant is the next to go, however many requests of others wait', () => {
  const fairness = { weights: { loud: 4 }, max_waiting: 500 }
  const loud = ['loud', 'louder'].map((tenant) => flood(tenant, { depth: 200 }))
  const crowds = [...loud, flood('quiet', { depth: 1, everyMs: 1000, fromMs: 1000 })]
  const upstream = new FullUpstream({ fairness, crowds, forMs: MINUTE_MS }).play()
  const waits = upstream.waitsOf('quiet').map(({ ms }) => ms)
  assert.equal(waits.length, 59)
  // 32 places with answers of 0.4 to 0.8 s: one is free every 19 ms.
  assert.ok(Math.max(...waits) <= 100, `it waited ${Math.max(...waits)} ms`)
})

test('a guarantee holds against many tenants, and is lent while it is not used', () => {
  const others = Array.from({ length: 20 }, (_, index) => flood(`t${index}`, { depth: 3 }))
  const crowds = [...others, flood('gold', { fromMs: 20_000 })]
  const fairness = { guarantee: { gold: 0.3 } }
  const upstream = new FullUpstream({ fairness, crowds, forMs: MINUTE_MS }).play()
  assert.equal(upstream.partsOf('gold', SPAN_MS, 0)[0], 0)
  assertParts(upstream, 'gold', 0.3, 22_000)
})

test('low priority gets little for an hour and is never starved', () => {
  const crowds = [flood('human'), flood('batch', { isLow: true })]
  const upstream = new FullUpstream({ fairness: {}, crowds, places: 8, forMs: 3_600_000 }).play()
  for (const part of upstream.partsOf('batch', MINUTE_MS, MINUTE_MS)) {
    assert.ok(part > 0, 'a minute without any')
    assert.ok(part <= 0.04, `${part} is no small part`)
  }
})

test('low priority has the whole upstream while it is alone', () => {
  const crowds = [flood('batch', { isLow: true })]
  const upstream = new FullUpstream({ fairness: {}, crowds, forMs: 20_000 }).play()
  assert.equal(upstream.partsOf('batch', SPAN_MS)[0], 1)
})

test('where too many wait, the tenant with the most for its weight loses its newest request', () => {
  const fairness = { max_waiting: 20, weights: { gold: 4 } }
  const crowds = [
    flood('loud', { depth: 1, everyMs: 10 }),
    flood('gold', { depth: 1, everyMs: 50 }),
    flood('quiet', { depth: 1, everyMs: 1000 }),
  ]
  const upstream = new FullUpstream({ fairness, crowds, forMs: MINUTE_MS }).play()
  const later = upstream.refused.filter(({ cameMs }) => cameMs >= WARM_MS)
  assert.ok(later.length > 1000)
  assert.deepEqual(new Set(later.map(({ tenant }) => tenant)), new Set(['loud']))
  assert.ok(upstream.shares.size <= 20)
})

test('a refused tenant finds its requests gone after the seconds that it is given', () => {
  const crowds = [flood('loud', { depth: 90, untilMs: 30_000 }), flood('other')]
  const upstream = new FullUpstream({ fairness: {}, crowds, forMs: 30_000 }).play()
  const account = upstream.shares.account('loud', false)
  const seconds = upstream.shares.retryAfterSeconds(account, 30_000, 1)
  // 90 answers of 60 tokens at half of 3,200 tokens a second.
  assert.ok(seconds >= 3 && seconds <= 5, `${seconds} s`)
})

test('a tenant that is refused before any answer is given the time of a wait', () => {
  const { shares } = new FullUpstream({ fairness: {}, crowds: [], forMs: 0 })
  assert.equal(shares.retryAfterSeconds(shares.account('loud', false), 0, 10), 10)
})
