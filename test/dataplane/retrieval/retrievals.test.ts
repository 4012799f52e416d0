/** Stores follow the configuration: unchanged ones keep their connections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Retrievals } from '../../../dataplane/retrieval/retrievals.ts'
import { createMetrics } from '../../../dataplane/telemetry/metrics.ts'
import { aClock } from '../../helpers/clock.ts'
import { aSnapshotOf } from '../request/stages/snapshots.ts'

const STORE = {
  provider: 'qdrant',
  endpoint: 'http://127.0.0.1:1',
  collection: 'docs',
  embedding: { upstream: 'up' },
  shared: true,
}

const section = (stores: readonly object[], retrieval: readonly object[]) =>
  aSnapshotOf({ vector_stores: stores, retrieval }).section

function open() {
  return new Retrievals({ clock: aClock(), metrics: createMetrics(), readText: () => '' })
}

test('an unchanged store stays, a changed one is opened again, others are closed', () => {
  const retrievals = open()
  const [one, two] = ['one', 'two'].map((name) => ({ ...STORE, name }))
  retrievals.follow(section([{ ...one }, { ...two }], []))
  const before = ['one', 'two'].map((name) => retrievals.store(name))
  retrievals.follow(section([{ ...one }, { ...two, collection: 'other' }], []))
  assert.equal(retrievals.store('one'), before[0])
  assert.notEqual(retrievals.store('two'), before[1])
  retrievals.follow(section([{ ...one }], []))
  assert.equal(retrievals.store('two'), undefined)
  retrievals.close()
})

test('a retrieval uses the store that it names, the one with its name, or the only one', () => {
  const retrievals = open()
  const storesOf = (stores: readonly string[], entry: object) => {
    retrievals.follow(
      section(
        stores.map((name) => ({ ...STORE, name })),
        [{ name: 'a', ...entry }],
      ),
    )
    return retrievals.of({ retrieval: ['a', 'gone'] }).map(({ store }) => store.section.name)
  }
  assert.deepEqual(storesOf(['a', 'b'], { store: 'b' }), ['b'])
  assert.deepEqual(storesOf(['b', 'a'], {}), ['a'])
  assert.deepEqual(storesOf(['b'], {}), ['b'])
  retrievals.close()
})
