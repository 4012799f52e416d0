import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayOf, monthOf, Present } from '../../../dataplane/accounts/windows.ts'
import { aClock } from '../../helpers/clock.ts'
import { aBudget, aRule, tokens, verdict, World } from '../../helpers/store/world.ts'

test('a moment belongs to the UTC day and month of its date', () => {
  const rows = [
    // [moment, day, day resets, month, month resets]
    ['2026-11-21T12:34:56.789Z', '2026-11-21', '2026-11-22', '2026-11', '2026-12-01'],
    ['2026-11-30T23:59:59.999Z', '2026-11-30', '2026-12-01', '2026-11', '2026-12-01'],
    ['2026-12-01T00:00:00.000Z', '2026-12-01', '2026-12-02', '2026-12', '2027-01-01'],
    ['2026-12-31T23:59:59.999Z', '2026-12-31', '2027-01-01', '2026-12', '2027-01-01'],
    ['2027-02-28T23:59:59.999Z', '2027-02-28', '2027-03-01', '2027-02', '2027-03-01'],
    ['2028-02-28T23:59:59.999Z', '2028-02-28', '2028-02-29', '2028-02', '2028-03-01'],
    ['2028-02-29T00:00:00.000Z', '2028-02-29', '2028-03-01', '2028-02', '2028-03-01'],
    ['2100-02-28T12:00:00.000Z', '2100-02-28', '2100-03-01', '2100-02', '2100-03-01'],
    // Clock changes elsewhere do not affect UTC.
    ['2026-03-29T01:30:00.000Z', '2026-03-29', '2026-03-30', '2026-03', '2026-04-01'],
    ['2026-10-25T00:30:00.000Z', '2026-10-25', '2026-10-26', '2026-10', '2026-11-01'],
    ['2026-11-01T06:30:00.000+05:45', '2026-11-01', '2026-11-02', '2026-11', '2026-12-01'],
    ['2026-11-01T05:30:00.000+05:45', '2026-10-31', '2026-11-01', '2026-10', '2026-11-01'],
    ['1970-01-01T00:00:00.000Z', '1970-01-01', '1970-01-02', '1970-01', '1970-02-01'],
  ] as const
  for (const [moment, day, dayResets, month, monthResets] of rows) {
    const wall = Date.parse(moment)
    const windows = [dayOf(wall), monthOf(wall)]
    assert.deepEqual(
      windows.map(({ key, resetsAt }) => [key, resetsAt]),
      [
        [day, Date.parse(dayResets)],
        [month, Date.parse(monthResets)],
      ],
      moment,
    )
    for (const { startsAt, resetsAt } of windows) assert.ok(startsAt <= wall && wall < resetsAt)
  }
})

test('over 40 years each window ends where the next begins', () => {
  for (const windowOf of [dayOf, monthOf]) {
    let at = Date.parse('2020-01-01')
    const end = Date.parse('2060-01-01')
    const keys = new Set<string>()
    while (at < end) {
      const window = windowOf(at)
      assert.equal(window.startsAt, at)
      assert.equal(windowOf(window.resetsAt - 1).key, window.key)
      assert.ok(!keys.has(window.key))
      keys.add(window.key)
      at = window.resetsAt
    }
  }
})

test('the present follows the clock, also backwards', () => {
  const present = new Present(Date.parse('2026-11-30T23:59:59.999Z'))
  assert.deepEqual([present.day.key, present.month.key], ['2026-11-30', '2026-11'])
  present.moveTo(Date.parse('2026-12-01'))
  assert.deepEqual([present.day.key, present.month.key], ['2026-12-01', '2026-12'])
  present.moveTo(Date.parse('2099-01-01'))
  present.moveTo(Date.parse('2026-11-30T12:00:00Z'))
  assert.deepEqual([present.day.key, present.month.key], ['2026-11-30', '2026-11'])
})

test('a stream that runs over midnight is charged to the day it was admitted on', () => {
  const rules = aRule({ budget: aBudget({ tokensPerDay: 1000, nanosPerMonth: 1000 }) })
  const world = new World(rules, aClock(Date.parse('2028-02-29T23:59:59.999Z')))
  const stream = world.admit({ tokens: 900, nanos: 900 })
  world.clock.pass(1)
  assert.equal(world.figures.tokens?.reserved, 0)
  assert.equal(world.figures.tokens?.resetsAt, Date.parse('2028-03-02'))
  world.settle(stream.id, { tokens: 1000, nanos: 1000 })
  assert.deepEqual([world.figures.tokens?.settled, world.figures.spend?.settled], [0, 0])
  assert.equal(verdict(world.admit(tokens(900))), 'admitted')
  world.clock.setWall(Date.parse('2028-02-29T23:59:59Z'))
  assert.deepEqual([world.figures.tokens?.settled, world.figures.spend?.settled], [1000, 1000])
  assert.equal(verdict(world.admit(tokens(1))), 'budget_tokens')
})

test('a spent day opens again at midnight, to the millisecond, and the month goes on', () => {
  const rules = aRule({ budget: aBudget({ tokensPerDay: 100, nanosPerMonth: 1_000_000 }) })
  const world = new World(rules, aClock(Date.parse('2026-11-03T13:00:00Z')))
  for (let day = 3; day <= 30; day++) {
    world.use({ tokens: 100, nanos: 10 })
    const refused = world.admit(tokens(1))
    assert.ok(refused.outcome === 'refused' && refused.by === 'budget_tokens')
    world.clock.pass(refused.retryAfterMs - 1)
    assert.equal(verdict(world.admit(tokens(1))), 'budget_tokens')
    assert.equal(world.figures.spend?.settled, (day - 2) * 10)
    world.clock.pass(1)
  }
  assert.equal(world.figures.spend?.settled, 0)
})
