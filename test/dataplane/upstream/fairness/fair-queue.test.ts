/** The queue of an upstream gives its places, no more than there are, to those whose turn it is. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fairness } from '../../../../dataplane/schema/fairness.ts'
import { createMetrics } from '../../../../dataplane/telemetry/metrics.ts'
import { freeAt, freeIn } from '../../../../dataplane/upstream/endpoints/places.ts'
import { FairQueue } from '../../../../dataplane/upstream/fairness/fair-queue.ts'
import type { Place } from '../../../../dataplane/upstream/fairness/place.ts'
import { type Parting, Waiter } from '../../../../dataplane/upstream/fairness/waiter.ts'
import { aClock } from '../../../helpers/clock.ts'

const NEVER = Number.POSITIVE_INFINITY
const one = (tenant: string) => ({ tenant, isLow: false, tokensMax: NEVER })

function anUpstream(places: number, settings: object = {}) {
  const metrics = createMetrics()
  const upstream = { places, inFlight: 0, isOut: false }
  const ticks: (() => void)[] = []
  const queue = new FairQueue('busy', Fairness.parse(settings), {
    clock: aClock(),
    metrics,
    schedule(_, call) {
      ticks.push(call)
      return () => ticks.splice(ticks.indexOf(call), 1)
    },
    free: () => Math.max(0, upstream.places - upstream.inFlight),
    inFlight: () => upstream.inFlight,
    isOut: () => upstream.isOut,
  })
  return {
    ...{ queue, upstream },
    shown: () => metrics.fairnessWaiting.at('busy').value,
    tick: () => ticks.shift()?.(),
    wait(tenant: string) {
      const waiter = new Waiter(NEVER, NEVER)
      queue.join(waiter, one(tenant))
      return waiter
    },
  }
}

async function partingOf({ over }: Waiter): Promise<Parting> {
  return await over
}

test('places that are given count before their requests are in flight', () => {
  const { queue } = anUpstream(2)
  assert.ok(queue.take(one('a')) !== undefined)
  assert.ok(queue.take(one('b')) !== undefined)
  assert.equal(queue.take(one('c')), undefined)
})

test('a newcomer does not overtake those that wait', async () => {
  const { queue, wait, shown } = anUpstream(1)
  const first = queue.take(one('a'))
  const waiter = wait('b')
  assert.equal(shown(), 1)
  first?.release()
  assert.equal(await partingOf(waiter), 'granted')
  assert.equal(queue.isOpen, false)
  waiter.granted?.place.release()
  assert.equal(queue.isOpen, true)
  assert.equal(shown(), 0)
})

test('a place is released once', () => {
  const { queue } = anUpstream(1)
  const place = queue.take(one('a')) as Place<Waiter>
  place.release()
  place.release()
  assert.ok(queue.take(one('b')) !== undefined)
  assert.equal(queue.isOpen, false)
})

test('a request that waits at two upstreams goes to the first that has a place', async () => {
  const [some, other] = [anUpstream(1), anUpstream(1)]
  const [place] = [some.queue.take(one('a')), other.queue.take(one('a'))]
  const waiter = some.wait('b')
  other.queue.join(waiter, one('b'))
  place?.release()
  assert.equal(await partingOf(waiter), 'granted')
  assert.equal(waiter.granted?.line, some.queue)
  assert.equal(other.queue.waiting, 0)
})

test('places that appear without an event are given at the next tick', async () => {
  const { queue, upstream, wait, tick } = anUpstream(1)
  queue.take(one('a'))
  const waiter = wait('b')
  upstream.places = 2
  tick()
  assert.equal(await partingOf(waiter), 'granted')
})

test('requests that wait look elsewhere when the upstream is out', async () => {
  const { queue, upstream, wait, tick } = anUpstream(1)
  queue.take(one('a'))
  const waiter = wait('b')
  upstream.isOut = true
  tick()
  assert.equal(await partingOf(waiter), 'changed')
  assert.equal(queue.waiting, 0)
})

test('requests that wait look elsewhere when fairness ends', async () => {
  const { queue, wait } = anUpstream(1)
  queue.take(one('a'))
  const waiter = wait('b')
  queue.end()
  assert.equal(await partingOf(waiter), 'changed')
})

test('more places in a new configuration are given at once', async () => {
  const { queue, wait } = anUpstream(1)
  queue.take(one('a'))
  const waiter = wait('b')
  queue.configure(Fairness.parse({}), () => 2)
  assert.equal(await partingOf(waiter), 'granted')
})

test('the queue that a runtime reports bounds the places, and own requests since then count', () => {
  const bounds = { places: 8, reported: 10 }
  const loaded = (inFlight: number, load: number) => ({ inFlight, load: () => load })
  assert.equal(freeAt(loaded(2, 2), bounds, 0), 6)
  assert.equal(freeAt(loaded(2, 9), bounds, 0), 1)
  assert.equal(freeAt(loaded(2, 30), bounds, 0), 0)
  assert.equal(freeIn([loaded(2, 9), loaded(8, 8), loaded(7, 7)], bounds, 0), 2)
})
