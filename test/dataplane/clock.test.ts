import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Deadline, Deadlines, timerMs } from '../../dataplane/base/clock.ts'

function aWorld() {
  let now = 0
  const deadlines = new Deadlines({ now: () => now, wall: () => now })
  const expired: string[] = []
  return {
    deadlines,
    expired,
    at(moment: number) {
      now = moment
      deadlines.sweep()
      return expired.splice(0)
    },
    entry(name: string, due: number, then: (entry: Deadline) => void = () => {}): Deadline {
      const entry: Deadline = {
        due,
        seat: -1,
        expire() {
          expired.push(name)
          then(entry)
        },
      }
      deadlines.add(entry)
      return entry
    },
  }
}

test('an entry is called once it is due, and not before', () => {
  const world = aWorld()
  world.entry('a', 100, (entry) => world.deadlines.remove(entry))
  world.entry('never', Number.POSITIVE_INFINITY)
  assert.deepEqual(world.at(99), [])
  assert.deepEqual(world.at(100), ['a'])
  assert.deepEqual(world.at(1000), [])
  assert.equal(world.deadlines.size, 1)
})

test('an entry that sets a new time is called again', () => {
  const world = aWorld()
  world.entry('a', 100, (entry) => {
    entry.due += 100
  })
  assert.deepEqual(world.at(150), ['a'])
  assert.deepEqual(world.at(199), [])
  assert.deepEqual(world.at(200), ['a'])
})

test('entries may add and remove themselves during a sweep', () => {
  const world = aWorld()
  const gone = world.entry('gone', 10, (entry) => world.deadlines.remove(entry))
  world.entry('adds', 10, (entry) => {
    world.deadlines.remove(entry)
    world.entry('added', 20)
  })
  assert.deepEqual(world.at(10), ['gone', 'adds'])
  assert.deepEqual(world.at(20), ['added'])
  world.deadlines.remove(gone)
  assert.equal(world.deadlines.size, 1)
})

test('the timer sweeps by itself, once however often it is started, until it is stopped', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const world = aWorld()
  world.entry('a', 0)
  world.deadlines.start()
  world.deadlines.start()
  t.mock.timers.tick(100)
  assert.deepEqual(world.expired, ['a'])
  world.deadlines.stop()
  t.mock.timers.tick(1000)
  assert.deepEqual(world.expired, ['a'])
})

test('the time for a timer is a whole number of milliseconds that a timer can wait', () => {
  const times = [0.02, -5, 20.02, 1000, 2 ** 31, Number.POSITIVE_INFINITY]
  assert.deepEqual(times.map(timerMs), [1, 1, 21, 1000, 2 ** 31 - 1, 2 ** 31 - 1])
})
