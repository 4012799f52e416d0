/** The facts of several pods as one account. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joined } from '../../cli/why/facts.ts'
import type { PodFacts } from '../../cli/why/pod-facts.ts'

const NOTHING = { conditions: [], events: [], missing: [] }

function aPod(pod: string, more: Partial<PodFacts> = {}): PodFacts {
  const minute = { at: 60_000, requests: 10, client: 1, limit: 2, upstream: 3, gateway: 0 }
  return {
    pod,
    isShared: false,
    missing: undefined,
    flows: [{ by: 'route', name: 'chat', minutes: [minute] }],
    events: [{ at: pod === 'a' ? 5 : 3, event: 'start', message: pod, fields: {}, pod }],
    requests: [],
    upstreams: [{ name: 'llama', pod, eligible: true }],
    store: { pod, backend: 'memory' },
    aliases: {},
    aheadMs: 1,
    ...more,
  }
}

function account(...pods: readonly PodFacts[]) {
  const span = { since: 0, until: 100_000 }
  return joined(pods, { asked: {}, span, silent: [], cluster: NOTHING })
}

test('counts that each pod keeps are added, and events are in order', () => {
  const { flows, events } = account(aPod('a'), aPod('b'))
  const [flow] = flows
  assert.deepEqual(flow?.minutes, [
    { at: 60_000, requests: 20, client: 2, limit: 4, upstream: 6, gateway: 0 },
  ])
  assert.deepEqual(
    events.map(({ pod }) => pod),
    ['b', 'a'],
  )
})

test('counts that all pods share are taken once', () => {
  const { flows, events } = account(aPod('a', { isShared: true }), aPod('b', { isShared: true }))
  assert.equal(flows[0]?.minutes[0]?.requests, 10)
  assert.equal(events.length, 1)
})

test('a pod that cannot read what the others keep is named', () => {
  const { missing } = account(aPod('a', { missing: 'Redis is away' }))
  assert.deepEqual(missing, ['a: Redis is away'])
})

test('events before the span are left out', () => {
  const early = { at: -5, event: 'store', message: 'The store is away.', fields: {} }
  const { events } = account(aPod('a', { events: [early] }))
  assert.deepEqual(events, [])
})
