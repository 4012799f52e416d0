/** When the windows of budgets begin and end, in UTC and in places whose clocks change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Per, Period, windowOfKey } from '../../../dataplane/accounts/period.ts'
import { isTimeZone } from '../../../dataplane/accounts/zone.ts'

function boundsOf(per: Per, moment: string, timeZone?: string): readonly [string, string] {
  const { day } = new Period(per, 'usd', timeZone).at(Date.parse(moment))
  return [new Date(day.startsAt).toISOString(), new Date(day.resetsAt).toISOString()]
}

const DAY = ['2026-11-26T00:00:00.000Z', '2026-11-27T00:00:00.000Z']

test('windows are those of the clock and of the calendar in UTC', () => {
  const moment = '2026-11-26T13:14:15.016Z'
  assert.deepEqual(boundsOf('hour', moment), [
    '2026-11-26T13:00:00.000Z',
    '2026-11-26T14:00:00.000Z',
  ])
  assert.deepEqual(boundsOf('day', moment), DAY)
  assert.deepEqual(boundsOf('week', moment), [
    '2026-11-23T00:00:00.000Z',
    '2026-11-30T00:00:00.000Z',
  ])
  assert.deepEqual(boundsOf('month', moment), [
    '2026-11-01T00:00:00.000Z',
    '2026-12-01T00:00:00.000Z',
  ])
  const [from, to] = boundsOf('30d', moment)
  assert.equal(Date.parse(to) - Date.parse(from), 30 * 86_400_000)
  assert.ok(from <= moment && moment < to)
  assert.equal(boundsOf('total', moment)[1].slice(0, 4), '9999')
})

test('the first moment of a window is in it, and its end is in the next', () => {
  assert.deepEqual(boundsOf('day', DAY[0] ?? ''), DAY)
  assert.equal(boundsOf('day', DAY[1] ?? '')[0], DAY[1])
  assert.equal(boundsOf('week', '2026-11-29T23:59:59.999Z')[0], '2026-11-23T00:00:00.000Z')
  assert.equal(boundsOf('week', '2026-11-30T00:00:00.000Z')[0], '2026-11-30T00:00:00.000Z')
})

test('a time zone moves the beginning, and a day is as long as its clocks make it', () => {
  const berlin = 'Europe/Berlin'
  const [from, to] = boundsOf('day', '2026-11-26T23:30:00Z', berlin)
  assert.deepEqual([from, to], ['2026-11-26T23:00:00.000Z', '2026-11-27T23:00:00.000Z'])
  // Clocks go forward in the night of 29 March and back in that of 25 October.
  assert.deepEqual(boundsOf('day', '2026-03-29T10:00:00Z', berlin), [
    '2026-03-28T23:00:00.000Z',
    '2026-03-29T22:00:00.000Z',
  ])
  assert.deepEqual(boundsOf('day', '2026-10-25T10:00:00Z', berlin), [
    '2026-10-24T22:00:00.000Z',
    '2026-10-25T23:00:00.000Z',
  ])
  assert.deepEqual(boundsOf('month', '2026-04-01T00:00:00Z', 'America/New_York'), [
    '2026-03-01T05:00:00.000Z',
    '2026-04-01T04:00:00.000Z',
  ])
})

test('the hour that clocks repeat is two windows, and a half-hour zone begins at its own full hour', () => {
  const berlin = 'Europe/Berlin'
  assert.equal(boundsOf('hour', '2026-10-25T00:30:00Z', berlin)[0], '2026-10-25T00:00:00.000Z')
  assert.equal(boundsOf('hour', '2026-10-25T01:30:00Z', berlin)[0], '2026-10-25T01:00:00.000Z')
  assert.equal(
    boundsOf('hour', '2026-11-26T13:14:00Z', 'Asia/Kolkata')[0],
    '2026-11-26T12:30:00.000Z',
  )
})

test('a day whose midnight clocks repeat is one window, also for a process that starts after the second one', () => {
  for (const [zone, midnight, next] of [
    ['America/Havana', '2026-11-01T04:00:00.000Z', '2026-11-02T05:00:00.000Z'],
    ['Atlantic/Azores', '2026-10-25T00:00:00.000Z', '2026-10-26T01:00:00.000Z'],
  ] as const)
    for (const minutes of [0, 30, 60, 90, 120, 600]) {
      const moment = new Date(Date.parse(midnight) + minutes * 60_000).toISOString()
      assert.deepEqual(boundsOf('day', moment, zone), [midnight, next], `${zone} ${moment}`)
    }
  const [month] = boundsOf('month', '2026-11-20T00:00:00Z', 'America/Havana')
  assert.equal(month, '2026-11-01T04:00:00.000Z')
  const [, end] = boundsOf('month', '2026-10-20T00:00:00Z', 'America/Havana')
  assert.equal(end, month)
})

test('every moment of two years is in exactly one window, in every zone', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia', 'Africa/Cairo'])
    for (const per of ['hour', 'day', 'week', 'month', '30d'] as const) {
      const period = new Period(per, 'tokens', zone)
      let wall = Date.UTC(2026, 0, 1)
      let before = period.at(wall).day
      for (; wall < Date.UTC(2028, 0, 1); wall += per === 'hour' ? 1_800_000 * 31 : 7_200_000) {
        const { day } = period.at(wall)
        assert.ok(day.startsAt <= wall && wall < day.resetsAt, `${zone} ${per} ${wall}`)
        if (day.key !== before.key && per !== 'hour')
          assert.equal(
            day.startsAt,
            before.resetsAt,
            `${zone} ${per} ${new Date(wall).toISOString()}`,
          )
        before = day
      }
    }
})

test('the key of a window contains the whole window', () => {
  const { day, month } = new Period('week', 'usd', 'Asia/Tokyo').at(Date.UTC(2026, 5, 1))
  for (const window of [day, month]) {
    const { isUnkept: _, ...known } = windowOfKey(window.key) ?? {}
    const { isUnkept: __, ...made } = window
    assert.deepEqual(known, made)
  }
  assert.equal(windowOfKey('2026-11-26'), undefined)
})

test('a name that is not a time zone is recognised', () => {
  assert.deepEqual([isTimeZone('Europe/Berlin'), isTimeZone('Mars/Base')], [true, false])
})
