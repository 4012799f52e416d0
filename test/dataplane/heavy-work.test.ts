/** Heavy work is done in turns, and rests while others are busy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awaitTurn, mustRest, spend } from '../../dataplane/base/heavy-work.ts'
import { flushAtTurnEnd } from '../../dataplane/base/turn-end.ts'

/** Resolves when its turn has come. */
function turn(costMs = 0): Promise<void> {
  return new Promise((resolve) => {
    awaitTurn({
      takeTurn() {
        spend(costMs)
        resolve()
      },
    })
  })
}

/** As if a client were served. */
function serveOthers(): void {
  flushAtTurnEnd({ flush: () => {} })
}

test('a turn never comes at once, and turns come in the order in which they were asked for', async () => {
  const seen: number[] = []
  const turns = [1, 2, 3].map((number) => turn().then(() => seen.push(number)))
  assert.deepEqual(seen, [])
  await Promise.all(turns)
  assert.deepEqual(seen, [1, 2, 3])
})

test('everything that is ready runs between two turns', async () => {
  const seen: string[] = []
  awaitTurn({
    takeTurn() {
      seen.push('turn')
      setImmediate(() => seen.push('other'))
    },
  })
  await turn().then(() => seen.push('turn'))
  assert.deepEqual(seen, ['turn', 'other', 'turn'])
})

test('who has spent much must ask for a turn', async () => {
  assert.equal(mustRest(), false)
  spend(5)
  assert.equal(mustRest(), true)
  await turn()
  assert.equal(mustRest(), false)
})

/** The time that ten turns of five milliseconds take. */
async function tenTurns(): Promise<number> {
  const began = performance.now()
  for (let count = 0; count < 10; count++) await turn(5)
  return performance.now() - began
}

test('what was spent is followed by many times as long for others, while there are any', async () => {
  const others = setInterval(serveOthers, 1)
  for (let count = 0; count < 20; count++) serveOthers()
  const busyMs = await tenTurns()
  clearInterval(others)
  assert.ok(busyMs > 10 * 5 * 5, `${busyMs} ms`)
  // It takes a moment until no other work is seen.
  let quietMs = await tenTurns()
  while (quietMs > busyMs / 3) quietMs = await tenTurns()
})
