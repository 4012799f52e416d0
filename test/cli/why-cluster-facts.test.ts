/** Objects of a cluster as facts for `gw why`: rolls and releases of the pods, the leader of the operators. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaderFacts } from '../../cli/why/leader-facts.ts'
import { rollEvents } from '../../cli/why/roll-events.ts'

const NOW = Date.parse('2026-11-26T14:30:00Z')

function aSet(name: string, creationTimestamp: string, image: string) {
  const spec = { template: { spec: { containers: [{ name: 'gateway', image }] } } }
  return { metadata: { name, creationTimestamp }, spec }
}

test('the ReplicaSets of a gateway tell each roll, and which of them changed the release', () => {
  const events = rollEvents([
    aSet('gw-3', '2026-11-26T14:20:00Z', 'gw:1.6.0'),
    aSet('gw-1', '2026-11-26T14:00:00Z', 'gw:1.5.0'),
    aSet('gw-2', '2026-11-26T14:10:00Z', 'gw:1.5.0'),
  ])
  assert.deepEqual(
    events.map(({ event, message }) => [event, message]),
    [
      ['roll', 'The pods are made with gw:1.5.0 (gw-1).'],
      ['roll', 'The pods are replaced with gw:1.5.0 (gw-2).'],
      ['release', 'The pods get release gw:1.6.0 instead of gw:1.5.0 (gw-3).'],
    ],
  )
})

function aLease(spec: object) {
  return { metadata: { name: 'gw-operator', namespace: 'gw-system' }, spec }
}

test('the lease of the operators tells who leads since when', () => {
  const spec = {
    holderIdentity: 'gw-5c-a',
    acquireTime: '2026-11-26T14:12:00.000000Z',
    renewTime: '2026-11-26T14:29:58.000000Z',
    leaseDurationSeconds: 15,
    leaseTransitions: 4,
  }
  const { events, conditions } = leaderFacts([aLease(spec)], NOW)
  const [event] = events
  assert.equal(event?.at, Date.parse('2026-11-26T14:12:00Z'))
  assert.equal(event?.message, 'Operator gw-5c-a leads (change 4 of the leader).')
  assert.deepEqual(conditions, [])
})

test('a lease that is not renewed, held or released, tells that no operator leads', () => {
  for (const holderIdentity of ['gw-5c-a', '']) {
    const renewTime = '2026-11-26T14:20:00.000000Z'
    const { conditions } = leaderFacts([aLease({ holderIdentity, renewTime })], NOW)
    assert.match(conditions[0]?.message ?? '', /^No operator leads in namespace gw-system/)
    assert.equal(conditions[0]?.since, Date.parse(renewTime))
  }
})
