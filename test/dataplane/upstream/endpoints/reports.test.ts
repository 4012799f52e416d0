/** How often the load of endpoints is read. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Reporter, Reports } from '../../../../dataplane/upstream/endpoints/reports.ts'

/** Reporters that answer at once; `pass` advances the clock in steps of a tick. */
function aRound(count: number) {
  let now = 0
  const asked: number[] = []
  const reports = new Reports({ now: () => now, wall: () => 0 })
  const reporters = Array.from(
    { length: count },
    (_, index): Reporter => ({
      intervalMs: 2000,
      isWanted: false,
      async ask(validMs) {
        asked.push(index)
        valid = validMs
      },
    }),
  )
  let valid = 0
  for (const one of reporters) reports.add(one)
  after(() => {
    for (const one of reporters) reports.remove(one)
  })
  const pass = async (seconds: number) => {
    for (const end = now + seconds * 1000; now < end; now += 100) {
      reports.tick()
      await Promise.resolve()
      await Promise.resolve()
    }
  }
  return { asked, reporters, pass, valid: () => valid }
}

test('few endpoints are read every interval, and a report is valid for two', async () => {
  const { asked, pass, valid } = aRound(3)
  await pass(10)
  assert.equal(asked.length, 15)
  assert.equal(valid(), 4000)
})

test('a hundred endpoints are read at most fifty times a second, each in its turn', async () => {
  const { asked, pass } = aRound(300)
  await pass(60)
  assert.ok(asked.length <= 50 * 60)
  const counts = Array.from(
    { length: 300 },
    (_, index) => asked.filter((one) => one === index).length,
  )
  assert.ok(Math.min(...counts) >= 8, `the least asked had ${Math.min(...counts)}`)
})

test('of very many endpoints only those are read that a request considers', async () => {
  const { asked, reporters, pass } = aRound(600)
  await pass(20)
  assert.equal(asked.length, 0)
  for (const index of [7, 500]) (reporters[index] as Reporter).isWanted = true
  await pass(1)
  assert.deepEqual(asked, [7, 500])
})
