import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { retryDelayMs } from '../../../dataplane/upstream/attempt/backoff.ts'

const FAILED = {
  attempt: 1,
  initialDelayMs: 100,
  random: () => 0.5,
  retryAfterMs: undefined,
  respectRetryAfter: true,
}

const wait = (delayMs: number) => ({ kind: 'wait', delayMs })
const moveOn = (coolMs: number) => ({ kind: 'move_on', coolMs })

const delays = [
  ['the first wait is drawn up to the initial delay', {}, wait(50)],
  ['the bound doubles with each attempt', { attempt: 4 }, wait(400)],
  ['the bound ends at two seconds', { attempt: 10 }, wait(1000)],
  ['an initial delay of zero does not wait', { initialDelayMs: 0, attempt: 5 }, wait(0)],
  ['a short Retry-After is waited for', { retryAfterMs: 1500 }, wait(1500)],
  ['a longer backoff wins over a Retry-After', { attempt: 4, retryAfterMs: 100 }, wait(400)],
  ['two seconds are still waited for', { retryAfterMs: 2000 }, wait(2000)],
  ['more than two seconds move on and cool', { retryAfterMs: 2001 }, moveOn(2001)],
  ['cooling ends after a minute', { retryAfterMs: 3_600_000 }, moveOn(60_000)],
  ['an endless Retry-After cools for a minute', { retryAfterMs: Infinity }, moveOn(60_000)],
  ['a Retry-After in the past is ignored', { retryAfterMs: -5 }, wait(50)],
  [
    'without respect for it nothing waits or cools',
    { retryAfterMs: 30_000, respectRetryAfter: false },
    wait(50),
  ],
] as const

for (const [sentence, given, expected] of delays) {
  test(sentence, () => {
    assert.deepEqual(retryDelayMs({ ...FAILED, ...given }), expected)
  })
}

test('no wait is longer than two seconds or shorter than a Retry-After', () => {
  const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  const asked = fc.option(fc.nat(5000), { nil: undefined })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10 }), fc.nat(60_000), share, asked, (...given) => {
      const [attempt, initialDelayMs, random, retryAfterMs] = given
      const failed = { ...FAILED, attempt, initialDelayMs, retryAfterMs, random: () => random }
      const delay = retryDelayMs(failed)
      if (delay.kind === 'move_on') return assert.ok((retryAfterMs ?? 0) > 2000)
      return assert.ok(delay.delayMs >= (retryAfterMs ?? 0) && delay.delayMs <= 2000)
    }),
  )
})
