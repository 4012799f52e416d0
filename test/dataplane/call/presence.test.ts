/** Work ends when its client leaves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Presence } from '../../../dataplane/call/presence.ts'

function aWork() {
  const work = { ended: 0, leave: () => void work.ended++ }
  return work
}

test('the client that leaves ends what is under way, once', () => {
  const presence = new Presence()
  const work = aWork()
  assert.equal(presence.state, 'idle')
  presence.begin(work)
  assert.deepEqual([presence.state, work.ended], ['busy', 0])
  presence.end()
  presence.end()
  assert.deepEqual([presence.state, work.ended], ['over', 1])
})

test('work that has ended by itself hears nothing, nor does work that another has followed', () => {
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

test('work for a client that has left ends as it begins, and the client does not come back', () => {
  const presence = new Presence()
  presence.end()
  const work = aWork()
  presence.begin(work)
  assert.equal(work.ended, 1)
  presence.done()
  assert.equal(presence.state, 'over')
})

test('work that begins other work as it ends does not keep the client', () => {
  const presence = new Presence()
  const other = aWork()
  presence.begin({ leave: () => presence.begin(other) })
  presence.end()
  assert.deepEqual([presence.state, other.ended], ['over', 1])
})
