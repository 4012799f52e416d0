/** Room for bodies: its size, its owner, and that all of it is returned. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Bodies, bodyBytesMax } from '../../../dataplane/body/bodies.ts'

const MEBIBYTE = 1_048_576

test('an eighth of the memory is for bodies, but at least four of the largest', () => {
  assert.equal(bodyBytesMax(1024 * MEBIBYTE, 8 * MEBIBYTE), 128 * MEBIBYTE)
  assert.equal(bodyBytesMax(128 * MEBIBYTE, 8 * MEBIBYTE), 32 * MEBIBYTE)
})

test('a tenant has half of the room, others have the rest, and then nothing is left', () => {
  const bodies = new Bodies(800)
  const [one, two, three] = ['a', 'b', 'c'].map((tenant) => bodies.enter(tenant))
  assert.equal(one?.grow(50, 8), undefined)
  assert.equal(one?.grow(1, 8), 'tenant')
  assert.equal(bodies.enter('a').obstacle(8), 'tenant')
  assert.equal(two?.grow(49, 8), undefined)
  assert.equal(three?.grow(2, 8), 'process')
  assert.equal(three?.grow(1, 8), undefined)
  assert.equal(three?.obstacle(8), 'process')
  one?.leave()
  assert.equal(three?.grow(40, 8), undefined)
})

test('a request that leaves, even twice, returns its room, and a tenant without requests is removed', () => {
  const bodies = new Bodies(800)
  const [one, two] = [bodies.enter('a'), bodies.enter('a')]
  one.grow(10, 8)
  two.grow(20, 8)
  assert.deepEqual([bodies.bytes, two.neighbours], [30, 2])
  one.leave()
  one.leave()
  assert.deepEqual([bodies.bytes, two.neighbours], [20, 1])
  // A request that runs no model is no neighbour of those that do.
  const free = bodies.enter('a', true)
  assert.deepEqual([free.neighbours, two.neighbours], [1, 1])
  free.leave()
  // A piece that comes after the end is not held.
  one.grow(5, 8)
  two.leave()
  assert.deepEqual([bodies.bytes, bodies.tenants], [0, 0])
})
