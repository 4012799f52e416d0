/** When a rollout steps, waits or goes back, by the sums of both sides. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RolloutPlan } from '../../../dataplane/config/routes/rollout.ts'
import { NO_REQUESTS, type Sample, withSample } from '../../../dataplane/rollout/arm.ts'
import {
  acted,
  begun,
  judged,
  type RolloutState,
  readState,
} from '../../../dataplane/rollout/state.ts'
import { aRandom } from '../../helpers/random.ts'

const AT = '2026-01-01T00:00:00.000Z'
const plan: RolloutPlan = {
  route: 'chat',
  to: 'new',
  id: 'one',
  steps: [1, 5, 100],
  everyMs: 600_000,
  requestsMin: 100,
  isByTenant: false,
  margins: { errors: 1, ttftP95: 20, cost: 30, finishLength: 5 },
}

const GOOD: Sample = {
  isFailed: false,
  isStream: true,
  firstMs: 100,
  costNanos: 1_000_000,
  isCutByLength: false,
}

function samples(count: number, of: (index: number) => Partial<Sample> = () => ({})) {
  return Array.from({ length: count }, (_, index) => ({ ...GOOD, ...of(index) })).reduce(
    withSample,
    NO_REQUESTS,
  )
}

function after(state: Partial<RolloutState>): RolloutState {
  return judged({ ...begun(plan, AT), ...state }, plan, AT)
}

test('a new upstream that fails goes back after twenty requests, with both shares in the reason', () => {
  const newer = samples(20, () => ({ isFailed: true }))
  const { phase, share, reason, why } = after({ newer, others: samples(1000) })
  assert.deepEqual({ phase, share, why }, { phase: 'back', share: 0, why: 'errors' })
  assert.equal(
    reason,
    'failed requests 100 % instead of 0 %, with +1 % allowed, at 1 % and 20 requests',
  )
})

test('nineteen failed requests prove nothing yet', () => {
  const newer = samples(19, () => ({ isFailed: true }))
  assert.equal(after({ newer, others: samples(1000) }).phase, 'running')
})

test('a failure that the other upstreams have too sends nothing back', () => {
  const half = (index: number) => ({ isFailed: index % 2 === 0 })
  const state = after({ newer: samples(200, half), others: samples(2000, half) })
  assert.equal(state.phase, 'running')
})

test('a slower, dearer or shorter new upstream goes back by that measure', () => {
  const others = samples(1000)
  const why = (change: Partial<Sample>) => after({ newer: samples(200, () => change), others }).why
  assert.equal(why({ firstMs: 200 }), 'ttft_p95')
  assert.equal(why({ costNanos: 2_000_000 }), 'cost')
  assert.equal(why({ isCutByLength: true }), 'finish_length')
  assert.equal(why({ firstMs: 110, costNanos: 1_200_000 }), undefined)
})

test('a measure without a margin is not judged', () => {
  const margins = { errors: 1, ttftP95: undefined, cost: undefined, finishLength: undefined }
  const newer = samples(200, () => ({ firstMs: 900, costNanos: 9_000_000, isCutByLength: true }))
  const state = { ...begun(plan, AT), newer, others: samples(1000) }
  assert.equal(judged(state, { ...plan, margins }, AT).phase, 'running')
})

test('a step needs its time and its requests, and takes the counts of the others along', () => {
  const [newer, others] = [samples(100), samples(1000)]
  assert.equal(after({ newer, others, ranMs: 599_999 }).step, 0)
  assert.equal(after({ newer: samples(99), others, ranMs: 600_000 }).step, 0)
  const next = after({ newer, others, ranMs: 600_000 })
  assert.deepEqual([next.step, next.share, next.newer.requests, next.ranMs], [1, 5, 0, 0])
  assert.equal(next.before.requests, 1000)
})

test('a difference beyond the margin that chance may explain holds the step', () => {
  const newer = samples(100, (index) => ({ isFailed: index < 3 }))
  const state = after({ newer, others: samples(1000), ranMs: 600_000 })
  assert.deepEqual([state.phase, state.step], ['running', 0])
})

test('after the last step the rollout is complete, and is compared with the others of the step before', () => {
  const last = { step: 2, share: 100, others: NO_REQUESTS, before: samples(1000) }
  const good = after({ ...last, newer: samples(100), ranMs: 600_000 })
  assert.deepEqual([good.phase, good.share], ['complete', 100])
  const bad = after({ ...last, newer: samples(100, () => ({ isFailed: true })) })
  assert.deepEqual([bad.phase, bad.share], ['back', 0])
})

test('a paused rollout keeps its step, and still goes back', () => {
  const paused = acted({ ...begun(plan, AT) }, 'pause', plan, AT)
  const good = { ...paused, newer: samples(100), others: samples(1000), ranMs: 600_000 }
  assert.deepEqual([judged(good, plan, AT).step, good.phase], [0, 'paused'])
  const bad = { ...paused, newer: samples(50, () => ({ isFailed: true })), others: samples(100) }
  assert.equal(judged(bad, plan, AT).phase, 'back')
})

test('a person promotes at once, aborts at once, and begins again with the first step', () => {
  const promoted = acted(begun(plan, AT), 'promote', plan, AT)
  assert.deepEqual([promoted.phase, promoted.share], ['complete', 100])
  const aborted = acted(promoted, 'abort', plan, AT)
  assert.deepEqual([aborted.phase, aborted.share], ['aborted', 0])
  const again = acted(aborted, 'resume', plan, AT)
  assert.deepEqual([again.phase, again.share, again.step], ['running', 1, 0])
})

test('equal upstreams hardly ever go back, although they are compared after each request', () => {
  const random = aRandom(7)
  const of = (): Sample => ({
    isFailed: random(100) < 2,
    isStream: true,
    firstMs: 50 + random(100) ** 2 / 20,
    costNanos: 1_000 * (1 + random(1000)),
    isCutByLength: random(10) === 0,
  })
  let backs = 0
  for (let rollout = 0; rollout < 100; rollout++) {
    let [newer, others] = [NO_REQUESTS, NO_REQUESTS]
    let isBack = false
    for (let second = 0; second < 60 && !isBack; second++) {
      for (let index = 0; index < 5; index++) newer = withSample(newer, of())
      for (let index = 0; index < 20; index++) others = withSample(others, of())
      isBack = after({ newer, others }).phase === 'back'
    }
    if (isBack) backs++
  }
  assert.ok(backs <= 3, `${backs} of 100 rollouts of equal upstreams went back`)
})

test('a kept state is read again, and one of another rollout or with wrong values is not', () => {
  const state = { ...begun(plan, AT), newer: samples(30), others: samples(300) }
  const text = JSON.stringify(state)
  assert.deepEqual(readState(text, plan), { ...state, why: undefined })
  assert.equal(readState(text, { ...plan, id: 'two' }), undefined)
  for (const wrong of ['', '{', '[]', text.replace('"running"', '"flying"')])
    assert.equal(readState(wrong, plan), undefined)
  assert.equal(readState(text.replace('"failed":0', '"failed":-1'), plan), undefined)
})
