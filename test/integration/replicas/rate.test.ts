/**
 * One rate over several real processes and one real Redis, also when the rate changes meanwhile.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { recordResult } from '../../helpers/results.ts'
import { assertLimited, keysOf } from '../limits/limited-gateway.ts'
import { type Answer, Replicas, type Sections } from './rig.ts'

const PROCESSES = 3
const PER_MINUTE = 1200
const BURST = 30
/** Over all of them, as a multiple of the rate. */
const PRESSURE = 5
const SECONDS = process.env.GW_LONG ? 20 : 8

const upstream = await startUpstream()

function sections(...tenants: readonly Readonly<Record<string, unknown>>[]): Sections {
  const hammered = { tenant: 'hammered', requests_per_minute: PER_MINUTE, burst: BURST }
  // Too small for slices: each request asks the store, which knows it before the rule changes.
  const small = { requests_per_minute: 1_000_000, burst: 190, concurrent_requests: 100 }
  const changed = ['lowered', 'raised'].filter(
    (name) => !tenants.some((one) => one.tenant === name),
  )
  return {
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    rate_limits: {
      tenants: [
        { ...hammered, concurrent_requests: 1000 },
        ...changed.map((tenant) => ({ tenant, ...small })),
        ...tenants,
      ],
    },
  }
}

const replicas = await Replicas.start(
  PROCESSES,
  sections(),
  keysOf(['hammered', 'raised', 'lowered', 'slots', 'refused']),
)
after(() => Promise.all([replicas.stop(), upstream.close()]))

test(`${PROCESSES} processes at ${PRESSURE} times the rate admit burst + rate x time in every window`, async () => {
  const everyMs = 60_000 / PER_MINUTE / PRESSURE
  const asked: Promise<Answer>[] = []
  const began = performance.now()
  while (performance.now() - began < SECONDS * 1000) {
    // Late timers are compensated: the pressure is an average.
    const due = (performance.now() - began) / everyMs
    while (asked.length < due) asked.push(replicas.ask(asked.length, 'hammered', {}))
    await delay(5)
  }
  const answers = await Promise.all(asked)
  for (const answer of answers) if (answer.status !== 200) assertLimited(heard(answer), 'rpm')
  const admitted = answers.filter(({ status }) => status === 200)
  const worst = worstWindow(admitted)
  const bound = Math.floor(BURST + (PER_MINUTE / 60) * SECONDS + 1)
  const figures = `${admitted.length} of ${answers.length} admitted, ${bound} may`
  recordResult('rate', `${figures}; worst window ${worst.toFixed(1)} below`, `${SECONDS} s`)
  assert.ok(worst >= 0, `a window has ${-worst} more than burst + rate x time + 1`)
  assert.ok(admitted.length > 0.8 * (PER_MINUTE / 60) * SECONDS, 'the rate is used')
})

/**
 * The distance of the fullest window from its bound. A request was decided between question and
 * answer, so it counts in the windows that contain both.
 */
function worstWindow(admitted: readonly Answer[]): number {
  const byEnd = admitted.toSorted((one, other) => one.answeredAt - other.answeredAt)
  let worst = Number.POSITIVE_INFINITY
  for (const { askedAt: from } of admitted) {
    let count = 0
    for (const { askedAt, answeredAt } of byEnd) {
      if (askedAt < from) continue
      count++
      const bound = BURST + (PER_MINUTE / 60_000) * (answeredAt - from) + 1
      worst = Math.min(worst, bound - count)
    }
  }
  return worst
}

function heard({ status, headers, text }: Answer) {
  return { status, headers, text, cut: false }
}

const SLOW = { requests_per_minute: 1, concurrent_requests: 100 }

test('a lowered rate applies from the next request, in every process', async () => {
  for (let index = 0; index < 6; index++) {
    assert.equal((await replicas.ask(index, 'lowered', {})).status, 200)
  }
  await replicas.apply(sections({ tenant: 'lowered', ...SLOW, burst: 2 }))
  const statuses = []
  for (let index = 0; index < 4; index++) {
    statuses.push((await replicas.ask(index, 'lowered', {})).status)
  }
  // At the old rate everything used before has leaked, except the last request.
  assert.deepEqual(statuses, [200, 429, 429, 429])
})

test('a raised rate does not refill, nor does changing it back and forth', async () => {
  const rule = (burst: number) => sections({ tenant: 'raised', ...SLOW, burst })
  await replicas.apply(rule(4))
  for (let index = 0; index < 4; index++) {
    assert.equal((await replicas.ask(index, 'raised', {})).status, 200)
  }
  for (let turns = 0; turns < 3; turns++) {
    await replicas.apply(rule(2))
    assertLimited(heard(await replicas.ask(turns, 'raised', {})), 'rpm')
    await replicas.apply(rule(4))
  }
  await replicas.apply(rule(6))
  const statuses = []
  for (let index = 0; index < 5; index++) {
    statuses.push((await replicas.ask(index, 'raised', {})).status)
  }
  // The smaller bucket was just full, so the larger one has this much room left.
  assert.deepEqual(statuses, [200, 200, 200, 200, 429])
  recordResult('live_limits', 'obeyed at once, nothing refilled', '3 processes')
})

test('a client that waits for Retry-After is admitted by any process', async () => {
  const rule = { tenant: 'refused', requests_per_minute: 60, burst: 1, concurrent_requests: 5 }
  await replicas.apply(sections(rule))
  let asked = 0
  let last = await replicas.ask(asked++, 'refused', {})
  // Two within a second, regardless of the machine's speed.
  while (last.status === 200 && asked < 100) last = await replicas.ask(asked++, 'refused', {})
  const refused = heard(last)
  assertLimited(refused, 'rpm')
  await delay(Number(refused.headers['retry-after']) * 1000)
  assert.equal((await replicas.ask(asked, 'refused', {})).status, 200)
})
