/** Addresses of a name over time, on a clock that the test advances. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resolve } from '../../../../dataplane/connection/addresses.ts'
import { Lookups, NameWatch } from '../../../../dataplane/upstream/endpoints/names.ts'

type Answer = readonly string[] | string

/** `answers`: the resolver's answers from now on: addresses, or the code of an error. */
function aWatch(first: Answer) {
  const rig = { answer: first, now: 0, reports: [] as (readonly string[])[] }
  let next: (() => void) | undefined
  const resolve: Resolve = (_name, _options, callback) => {
    const { answer } = rig
    if (typeof answer === 'string') callback(Object.assign(new Error(answer), { code: answer }), [])
    else
      callback(
        null,
        answer.map((address) => ({ address, family: 4 })),
      )
  }
  const watch = new NameWatch(
    'model.test',
    {
      clock: { now: () => rig.now, wall: () => 0 },
      lookups: new Lookups(resolve),
      schedule: (_delay, call) => {
        next = call
        return () => {
          next = undefined
        }
      },
    },
    (addresses) => rig.reports.push(addresses),
  )
  const pass = (seconds: number) => {
    rig.now += seconds * 1000
    next?.()
  }
  return { rig, pass, watch }
}

test('a change is reported at the next look-up, for every order of the answer', () => {
  const { rig, pass } = aWatch(['10.0.0.2', '10.0.0.1'])
  rig.answer = ['10.0.0.1', '10.0.0.2']
  pass(5)
  rig.answer = ['10.0.0.1']
  pass(5)
  assert.deepEqual(rig.reports, [['10.0.0.1', '10.0.0.2'], ['10.0.0.1']])
})

test('a name that no longer exists keeps its addresses for a minute', () => {
  const { rig, pass } = aWatch(['10.0.0.1'])
  rig.answer = 'ENOTFOUND'
  for (let seconds = 0; seconds < 60; seconds += 5) pass(5)
  assert.deepEqual(rig.reports, [['10.0.0.1']])
  pass(5)
  assert.deepEqual(rig.reports.at(-1), [])
})

test('an unreachable resolver changes nothing', () => {
  const { rig, pass } = aWatch(['10.0.0.1'])
  rig.answer = 'EAI_AGAIN'
  for (let seconds = 0; seconds < 600; seconds += 5) pass(5)
  assert.deepEqual(rig.reports, [['10.0.0.1']])
})

test('nothing is reported after the end', () => {
  const { rig, pass, watch } = aWatch(['10.0.0.1'])
  watch.stop()
  rig.answer = ['10.0.0.2']
  pass(5)
  assert.deepEqual(rig.reports, [['10.0.0.1']])
})

test('at most two look-ups run at a time', () => {
  const waiting: (() => void)[] = []
  const lookups = new Lookups((_name, _options, callback) => {
    waiting.push(() => callback(null, []))
  })
  let answered = 0
  for (let count = 0; count < 5; count++) lookups.ask('model.test', () => answered++)
  assert.equal(waiting.length, 2)
  while (waiting.length > 0) waiting.shift()?.()
  assert.equal(answered, 5)
})
