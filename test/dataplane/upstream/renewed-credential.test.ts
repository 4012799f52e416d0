/** Credentials that are fetched, renewed before they expire, and kept while their service is unavailable. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anIdentity } from './identity-service.ts'

const HOUR = 3_600_000

test('a credential is fetched at once and renewed when half to 70 % of its life has passed', async () => {
  for (const [random, share] of [
    [0, 0.5],
    [0.5, 0.6],
    [1, 0.7],
  ] as const) {
    const rig = anIdentity(random)
    assert.deepEqual([rig.fetches.length, rig.renewed.state], [1, 'fetching'])
    await rig.last.give(rig.token('t1', 3600))
    assert.equal(rig.renewed.current?.value, 't1')
    await rig.pass(HOUR * share - 1)
    assert.equal(rig.fetches.length, 1)
    await rig.pass(1)
    assert.equal(rig.fetches.length, 2)
    assert.equal(
      rig.renewed.current?.value,
      't1',
      'the old one serves while the new one is fetched',
    )
    await rig.last.give(rig.token('t2', 3600))
    assert.equal(rig.renewed.current?.value, 't2')
    assert.deepEqual(rig.states, ['valid'], 'a renewal is no news')
  }
})

test('a service that returns the same credential again is called more often, and never in a loop', async () => {
  const rig = anIdentity()
  const token = rig.token('same', 3600)
  await rig.last.give(token)
  while (rig.renewed.current !== undefined) {
    const before = rig.fetches.length
    await rig.pass(1000)
    if (rig.fetches.length > before) await rig.last.give(token)
    assert.ok(rig.fetches.length - before <= 1, 'at most one fetch a second')
  }
  assert.ok(rig.fetches.length < 40, `${rig.fetches.length} fetches in an hour`)
  assert.equal(rig.renewed.state, 'missing')
})

test('while the service is unavailable a valid credential is kept, and fetched with growing pauses', async () => {
  const rig = anIdentity(1)
  await rig.last.give(rig.token('t1', 3600))
  await rig.pass(HOUR * 0.7)
  const from = rig.last.at
  await rig.last.refuse('connection refused')
  assert.deepEqual(rig.states, ['valid', 'kept'])
  assert.deepEqual([rig.renewed.current?.value, rig.renewed.state], ['t1', 'kept'])
  assert.equal(rig.renewed.pending(), undefined, 'no request waits')
  for (const pause of [1, 2, 4, 8, 16, 32, 60, 60]) {
    const { at } = rig.last
    await rig.pass(pause * 1000)
    assert.equal(rig.last.at - at, pause * 1000)
    await rig.last.refuse('connection refused')
  }
  assert.deepEqual(rig.states, ['valid', 'kept'], 'operators are notified once per change')
  while (rig.last.at < from + HOUR * 0.3) {
    await rig.pass(60_000)
    await rig.last.refuse('connection refused')
  }
  assert.deepEqual(rig.states, ['valid', 'kept', 'missing'])
  assert.deepEqual([rig.renewed.current, rig.renewed.fault], [undefined, 'connection refused'])
  await rig.pass(60_000)
  await rig.last.give(rig.token('t2', 3600))
  assert.deepEqual(rig.states, ['valid', 'kept', 'missing', 'valid'])
  assert.deepEqual([rig.renewed.current?.value, rig.renewed.fault], ['t2', undefined])
})

test('requests before the end of the first fetch wait for that one fetch', async () => {
  const rig = anIdentity()
  const waiting = [rig.renewed.pending(), rig.renewed.pending(), rig.renewed.pending()]
  assert.equal(new Set(waiting).size, 1)
  assert.equal(rig.fetches.length, 1)
  await rig.last.give(rig.token('t1', 60))
  await Promise.all(waiting)
  assert.equal(rig.renewed.pending(), undefined)
})

test('after a failure of the service no request waits for its next try', async () => {
  const rig = anIdentity()
  await rig.last.refuse('no identity\n  More:\tnone')
  assert.deepEqual([rig.renewed.state, rig.renewed.fault], ['missing', 'no identity More: none'])
  assert.equal(rig.renewed.pending(), undefined)
  await rig.pass(1000)
  assert.equal(rig.fetches.length, 2)
  assert.equal(rig.renewed.pending(), undefined)
})

test('a fetch that does not end is aborted after 15 s', async () => {
  const rig = anIdentity()
  await rig.pass(15_000)
  assert.equal(rig.fetches[0]?.signal.aborted, true)
  assert.equal(rig.renewed.fault, 'It sent no answer within 15 s.')
  assert.deepEqual(rig.outcomes, [false])
})

test('after a sleep of the machine the first request fetches, and waits', async () => {
  const rig = anIdentity()
  await rig.last.give(rig.token('t1', 3600))
  rig.clock.setWall(rig.clock.wall() + 2 * HOUR)
  const waiting = rig.renewed.pending()
  assert.ok(waiting)
  assert.equal(rig.fetches.length, 2)
  await rig.last.give(rig.token('t2', 3600))
  await waiting
  assert.equal(rig.renewed.current?.value, 't2')
})

test('a credential that an upstream refuses is renewed early, once, and the next request waits for it', async () => {
  const rig = anIdentity()
  await rig.last.give(rig.token('t1', 3600))
  rig.renewed.refused('an older one')
  assert.equal(rig.fetches.length, 1)
  rig.renewed.refused('t1')
  rig.renewed.refused('t1')
  assert.equal(rig.fetches.length, 2)
  const waiting = rig.renewed.pending()
  assert.ok(waiting)
  await rig.last.give(rig.token('t2', 3600))
  await waiting
  rig.renewed.refused('t2')
  assert.equal(rig.fetches.length, 2, 'a revoked identity does not turn every request into a fetch')
  assert.equal(rig.renewed.pending(), undefined)
  assert.equal(rig.timers, 1)
})

test('a refused credential stays in use if the service returns the same, or nothing', async () => {
  const rig = anIdentity()
  await rig.last.give(rig.token('t1', 3600))
  rig.renewed.refused('t1')
  await rig.last.refuse('away')
  assert.deepEqual([rig.renewed.pending(), rig.renewed.current?.value], [undefined, 't1'])
})

test('an expired or empty credential counts as a failure', async () => {
  const rig = anIdentity()
  await rig.last.give(rig.token('t1', -1))
  assert.equal(rig.renewed.fault, 'It returned a credential that has already expired.')
  await rig.pass(1000)
  await rig.last.give({ value: '' })
  assert.equal(rig.renewed.fault, 'It returned an empty credential.')
})

test('a credential without an expiry is fetched again every few minutes', async () => {
  const rig = anIdentity()
  await rig.last.give({ value: 'k' })
  await rig.pass(659_999)
  assert.equal(rig.fetches.length, 1)
  await rig.pass(1)
  assert.equal(rig.fetches.length, 2)
})

test('nothing is fetched after the end, and a running fetch is aborted', async () => {
  const rig = anIdentity()
  await rig.last.give(rig.token('t1', 3600))
  rig.renewed.stop()
  assert.equal(rig.timers, 0)
  assert.equal(rig.renewed.current?.value, 't1', 'running requests still have it')
  const other = anIdentity()
  other.renewed.end()
  assert.equal(other.last.signal.aborted, true)
  await other.pass(HOUR)
  assert.deepEqual([other.fetches.length, other.timers], [1, 0])
})
