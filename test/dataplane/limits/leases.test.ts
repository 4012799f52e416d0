/** The holds of running requests grow with their answers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Extension, Store } from '../../../dataplane/accounts/store.ts'
import { Lease, Leases } from '../../../dataplane/limits/leases.ts'

const clock = { now: () => 0, wall: () => 0 }

/** A store that answers the raises of holds as scripted. */
function aStore(answers: boolean[]) {
  const asked: Extension['estimate'][] = []
  const store = {
    extend: ({ estimate }: Extension) => {
      asked.push(estimate)
      return answers.shift() ?? true
    },
    renew: () => [],
  } as unknown as Store
  return { store, asked }
}

test('an exceeded hold is raised to one and a half times the usage', () => {
  const { store, asked } = aStore([])
  const leases = new Leases(store, clock)
  let tokens = 100
  const hold = { tenant: 't', id: 'a', budget: undefined }
  leases.add(new Lease(hold, { tokens: 100, nanos: 0 }, () => ({ tokens, nanos: 0 })))
  leases.expire()
  assert.deepEqual(asked, [], 'it is not exceeded yet')
  tokens = 200
  leases.expire()
  leases.expire()
  assert.deepEqual(asked, [{ tokens: 300, nanos: 0 }], 'once is enough')
})

test('a refused raise is tried again, because others may have returned room', () => {
  const { store, asked } = aStore([false, true])
  const leases = new Leases(store, clock)
  const hold = { tenant: 't', id: 'a', budget: undefined }
  leases.add(new Lease(hold, { tokens: 100, nanos: 0 }, () => ({ tokens: 200, nanos: 0 })))
  for (let beats = 0; beats < 3; beats++) leases.expire()
  assert.deepEqual(asked, [
    { tokens: 300, nanos: 0 },
    { tokens: 300, nanos: 0 },
  ])
})
