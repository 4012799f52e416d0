/** Several keys of an upstream: their turns, and the rest of those that are refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOfKey, UpstreamKeys } from '../../../dataplane/upstream/credentials/keys.ts'
import { aClock } from '../../helpers/clock.ts'

const REFUSED = { class: 'credential', status: 401, message: 'no' } as const
const SPENT = { class: 'rate_limited', status: 429, message: 'later', retryAfterMs: 5_000 } as const

function aRig(count: number) {
  const clock = aClock()
  const rests = new Map<number, boolean>()
  const keys = new UpstreamKeys(clock, { used() {}, resting: (key, is) => void rests.set(key, is) })
  keys.configure(count, 30_000, false)
  return {
    clock,
    keys,
    rests,
    take: (times: number) => Array.from({ length: times }, () => keys.take([])),
  }
}

test('requests take the keys in turn', () => {
  assert.deepEqual(aRig(3).take(7), [0, 1, 2, 0, 1, 2, 0])
})

test('a refused key rests, then serves one request, and returns after a success', () => {
  const { keys, clock, take, rests } = aRig(2)
  keys.take([])
  keys.failed(0, REFUSED)
  assert.deepEqual([take(3), rests.get(0)], [[1, 1, 1], true])
  clock.pass(30_000)
  assert.deepEqual(take(3), [0, 1, 1])
  keys.served(0)
  assert.deepEqual([take(2), rests.get(0)], [[0, 1], false])
})

test('a key that is out of quota rests as long as the upstream says', () => {
  const { keys, clock, take } = aRig(2)
  keys.failed(0, SPENT)
  clock.pass(4_999)
  assert.deepEqual(take(2), [1, 1])
  clock.pass(1)
  assert.equal(keys.take([]), 0)
})

test('a request tries no key twice while another is left', () => {
  const { keys } = aRig(3)
  assert.deepEqual([keys.take([]), keys.take([0]), keys.take([0, 1])], [0, 1, 2])
  keys.failed(2, REFUSED)
  assert.deepEqual([keys.hasOther([0]), keys.hasOther([0, 1])], [true, false])
})

test('if all keys rest, the one whose rest ends first is taken', () => {
  const { keys } = aRig(2)
  keys.failed(0, REFUSED)
  keys.failed(1, SPENT)
  assert.equal(keys.take([]), 1)
  assert.deepEqual([keys.areAllRefused, keys.refused], [false, [{ key: 0, status: 401 }]])
})

test('a change of another setting keeps the rests, and new keys begin without', () => {
  const { keys, take } = aRig(2)
  keys.failed(0, REFUSED)
  keys.configure(2, 30_000, true)
  assert.deepEqual(take(2), [1, 1])
  keys.configure(2, 30_000, false)
  assert.deepEqual(take(2), [0, 1])
})

test('operators see the index of a key, why it rests and until when', () => {
  const { keys, clock } = aRig(2)
  keys.failed(1, REFUSED)
  assert.deepEqual(keys.list(), [
    { key: 0, state: 'ready' },
    {
      key: 1,
      state: 'resting',
      why: 'refused',
      status: 401,
      rests_until: new Date(clock.wall() + 30_000).toISOString(),
    },
  ])
})

test('only refusals and quotas are about the key', () => {
  const failure = { message: '' }
  assert.equal(isOfKey({ ...failure, class: 'credential', status: 403 }), true)
  assert.equal(isOfKey({ ...failure, class: 'quota', status: 429 }), true)
  assert.equal(isOfKey({ ...failure, class: 'credential' }), false)
  assert.equal(isOfKey({ ...failure, class: 'rate_limited', status: 429 }), false)
  assert.equal(isOfKey({ ...failure, class: 'server', status: 500 }), false)
})
