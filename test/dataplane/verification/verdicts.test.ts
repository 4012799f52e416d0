/** Verdicts on verified routes: an old one never counts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Verdicts } from '../../../dataplane/gateway/verdicts.ts'

const PACE = { answersMs: 60_000, failsMs: 5000 }
const OK = { ok: true, why: '200 by up', ms: 4 }
const BAD = { ok: false, why: '503 no', ms: 4 }

function someVerdicts(...routes: string[]) {
  const verdicts = new Verdicts(PACE)
  verdicts.follow('h1', routes, 0)
  const states = (now: number) =>
    verdicts.report(now)?.routes.map(({ route, state }) => `${route} ${state}`)
  return { verdicts, states }
}

test('without a verified route there is no report', () => {
  assert.equal(someVerdicts().verdicts.report(0), undefined)
})

test('a route is pending until its probe ends, and the worst route comes first', () => {
  const { verdicts, states } = someVerdicts('chat', 'embed', 'rank')
  assert.deepEqual(states(0), ['chat pending', 'embed pending', 'rank pending'])
  const [chat, embed] = verdicts.begin(0, 2)
  assert.ok(chat && embed)
  assert.deepEqual(verdicts.begin(0, 2), [], 'two run')
  verdicts.ended(chat, OK, 10, 0)
  verdicts.ended(embed, BAD, 10, 0)
  assert.deepEqual(states(10), ['embed fails', 'rank pending', 'chat answers'])
})

test('a new configuration, or the same one with another Secret, makes every verdict pending', () => {
  const { verdicts, states } = someVerdicts('chat')
  const [first] = verdicts.begin(0, 4)
  assert.ok(first)
  verdicts.ended(first, OK, 1, 0)
  assert.deepEqual(states(1), ['chat answers'])
  verdicts.follow('h1', ['chat'], 2)
  assert.deepEqual(states(2), ['chat pending'])
})

test('a probe that began under the earlier configuration proves nothing about the new one', () => {
  const { verdicts, states } = someVerdicts('chat')
  const [late] = verdicts.begin(0, 4)
  assert.ok(late)
  verdicts.follow('h2', ['chat'], 5)
  verdicts.ended(late, OK, 6, 0)
  assert.deepEqual(states(6), ['chat pending'])
  assert.equal(verdicts.begin(6, 4).length, 1)
})

test('an answer counts for two minutes, so that a prober that hangs is noticed', () => {
  const { verdicts, states } = someVerdicts('chat')
  const [first] = verdicts.begin(0, 4)
  assert.ok(first)
  verdicts.ended(first, OK, 0, 0)
  assert.deepEqual(verdicts.begin(59_999, 4), [])
  assert.equal(verdicts.begin(60_000, 4).length, 1, 'again after a minute')
  assert.deepEqual(states(120_000), ['chat answers'])
  assert.deepEqual(states(120_001), ['chat pending'])
})

test('a route that fails is probed again after five seconds', () => {
  const { verdicts } = someVerdicts('chat')
  const [first] = verdicts.begin(0, 4)
  assert.ok(first)
  verdicts.ended(first, BAD, 0, 0)
  assert.deepEqual(verdicts.begin(4999, 4), [])
  assert.equal(verdicts.begin(5000, 4).length, 1)
})

test('a doubt during a probe leads to another probe right after it', () => {
  const { verdicts } = someVerdicts('chat')
  const [first] = verdicts.begin(0, 4)
  assert.ok(first)
  verdicts.doubt(1)
  verdicts.ended(first, OK, 2, 0)
  assert.equal(verdicts.begin(2, 4).length, 1)
})

test('an upstream that is busy with clients changes no verdict', () => {
  const { verdicts, states } = someVerdicts('chat')
  const [first] = verdicts.begin(0, 4)
  assert.ok(first)
  verdicts.ended(first, OK, 0, 0)
  const [busy] = verdicts.begin(60_000, 4)
  assert.ok(busy)
  verdicts.ended(busy, { ok: undefined, why: '503 busy', ms: 1 }, 60_001, 0)
  assert.deepEqual(states(60_001), ['chat answers'])
  assert.deepEqual(states(120_001), ['chat pending'], 'it does not count as an answer')
})
