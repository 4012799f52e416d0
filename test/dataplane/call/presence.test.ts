/** Work ends when its client leaves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Presence } from '../../../dataplane/call/presence.ts'

function aWork() {
  const work = { ended: 0, leave: () => void work.ended++ }
  return work
}

test('a client that leaves ends the running work, once', () => {
  const presence = new Presence()
  const work = aWork()
  assert.equal(presence.state, 'idle')
  presence.begin(work)
  assert.deepEqual([presence.state, work.ended], ['busy', 0])
  presence.end()
  presence.end()
  assert.deepEqual([presence.state, work.ended], ['over', 1])
})

test('finished work is not notified, nor is work that other work has replaced', () => {
  const presence = new Presence()
  const [first, second, third] = [aWork(), aWork(), aWork()]
  presence.begin(first)
  presence.done()
  assert.equal(presence.state, 'idle')
  presence.begin(second)
  presence.begin(third)
  presence.end()
  assert.deepEqual([first.ended, second.ended, third.ended], [0, 0, 1])
})

test('work for a client that has left ends at its start, and the client does not come back', () => {
  const presence = new Presence()
  presence.end()
  const work = aWork()
  presence.begin(work)
  assert.equal(work.ended, 1)
  presence.done()
  assert.equal(presence.state, 'over')
})

test('work that starts other work at its end does not keep the client', () => {
  const presence = new Presence()
  const other = aWork()
  presence.begin({ leave: () => presence.begin(other) })
  presence.end()
  assert.deepEqual([presence.state, other.ended], ['over', 1])
})
