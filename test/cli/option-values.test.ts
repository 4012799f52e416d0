/** Durations of options. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationMs, waitMs } from '../../cli/option-values.ts'

test('a duration for which the tool waits is not longer than a timer can be', () => {
  assert.equal(waitMs('250ms'), 250)
  assert.ok(waitMs('596h') < 2 ** 31)
  for (const long of ['597h', '700h', '999999h', '99999m'])
    assert.throws(() => waitMs(long), /Give at most 596h\./)
  assert.equal(durationMs('720h'), 2_592_000_000)
})
