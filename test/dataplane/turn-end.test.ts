/** Writes that are held until the turn of the event loop ends. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { TurnGroups, turnEnd } from '../../dataplane/base/turn-end.ts'

test('held writes of one turn are flushed at its end, once, in their order', async () => {
  const flushed: number[] = []
  for (const number of [1, 2, 3]) turnEnd.hold({ flush: () => flushed.push(number) })
  await Promise.resolve()
  assert.deepEqual(flushed, [])
  await turn()
  assert.deepEqual(flushed, [1, 2, 3])
  await turn()
  assert.deepEqual(flushed, [1, 2, 3])
})

test('many do not wait for the end', () => {
  let flushed = 0
  for (let held = 0; held < 1000; held++) turnEnd.hold({ flush: () => flushed++ })
  assert.ok(flushed > 900)
})

test('writes held during a flush are flushed in the same turn', async () => {
  const flushed: string[] = []
  const later = { flush: () => flushed.push('later') }
  turnEnd.hold({
    flush: () => {
      flushed.push('first')
      turnEnd.hold(later)
    },
  })
  await turn()
  assert.deepEqual(flushed, ['first', 'later'])
})

test('a group is sent in its turn, however many writes are held before it', async () => {
  for (let others = 0; others < 70; others++) {
    const sent: number[] = []
    const groups = new TurnGroups<string, number, readonly number[]>(
      100,
      () => true,
      (items) => {
        sent.push(...items)
        return Promise.resolve(items)
      },
    )
    for (let held = 0; held < others; held++) turnEnd.hold({ flush() {} })
    groups.add('a', 1)
    groups.add('a', 2)
    await turn()
    assert.deepEqual(sent, [1, 2], `after ${others} writes`)
  }
})
