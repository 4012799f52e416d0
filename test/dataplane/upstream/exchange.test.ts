/**
 * One exchange with an upstream: its owner is notified of everything in order, and a clock ends what takes too long.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadlines } from '../../../dataplane/base/clock.ts'
import { markStale } from '../../../dataplane/connection/stale-connection.ts'
import { Exchange, type Receiver } from '../../../dataplane/upstream/attempt/exchange.ts'
import { aClock } from '../../helpers/clock.ts'

function anExchange({ firstMs = 1000, idleMs = 500, totalMs = 10_000 } = {}) {
  const clock = aClock()
  const deadlines = new Deadlines(clock)
  const heard: string[] = []
  const receiver: Receiver = {
    head: (status) => void heard.push(`head ${status}`),
    data: (chunk) => void heard.push(`data ${chunk}`),
    end: () => void heard.push('end'),
    fail: ({ class: kind, message }) => void heard.push(`${kind}: ${message}`),
    written: () => undefined,
    resend: () => void heard.push('resend'),
    released: () => void heard.push('released'),
  }
  const clocks = { firstMs, idleMs, totalAt: clock.now() + totalMs }
  const exchange = new Exchange(receiver, clocks, clock, deadlines)
  const calls: string[] = []
  const controller = {
    abort: ({ message }: Error) => void calls.push(message),
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
  }
  exchange.onRequestStart(controller)
  const pass = (ms: number) => {
    clock.pass(ms)
    deadlines.sweep()
  }
  const head = (status: number) => exchange.onResponseStart(controller, status, {})
  const data = (text: string) => exchange.onResponseData(controller, Buffer.from(text))
  const fail = (error: Error) => exchange.onResponseError(controller, error)
  return { exchange, controller, heard, calls, deadlines, pass, head, data, fail }
}

test('the owner gets head, bytes and end in order, and nothing after the end', () => {
  const { exchange, heard, calls, deadlines, head, data, fail } = anExchange()
  head(200)
  data('a')
  exchange.onResponseEnd()
  data('b')
  fail(new Error('late'))
  assert.deepEqual(heard, ['head 200', 'data a', 'released', 'end'])
  assert.deepEqual(calls, [])
  assert.equal(deadlines.size, 0)
})

test('silence before the answer has begun is judged by the first clock, even if bytes have arrived', () => {
  const { heard, calls, pass, head, data } = anExchange()
  head(200)
  pass(900)
  data('a comment')
  pass(100)
  assert.deepEqual(heard.slice(2), ['released', 'timeout: The upstream sent no answer within 1 s.'])
  assert.deepEqual(calls, ['deadline'])
})

test('after the start of the answer only silence and the total are limited', () => {
  const { exchange, heard, pass, data } = anExchange()
  exchange.begun()
  assert.equal(exchange.hasBegun, true)
  for (let piece = 0; piece < 4; piece++) {
    pass(499)
    data('x')
  }
  pass(500)
  assert.equal(heard.at(-1), 'timeout: The upstream sent nothing for 0.5 s.')

  const whole = anExchange({ idleMs: 60_000, totalMs: 2000 })
  whole.exchange.begun()
  whole.pass(1999)
  assert.deepEqual(whole.heard, [])
  whole.pass(1)
  assert.deepEqual(whole.heard, [
    'released',
    'timeout: The answer was not complete within the request timeout.',
  ])
})

test('the text of a failure has the idle time to arrive, and never longer than the first clock', () => {
  const unhurried = anExchange({ firstMs: Number.POSITIVE_INFINITY })
  unhurried.head(503)
  unhurried.pass(400)
  unhurried.data('{')
  unhurried.pass(99)
  assert.equal(unhurried.exchange.isOver, false)
  unhurried.pass(1)
  assert.equal(unhurried.exchange.isOver, true)

  const late = anExchange({ idleMs: 60_000 })
  late.pass(900)
  late.head(503)
  late.pass(100)
  assert.equal(late.exchange.isOver, true)
})

test('an upstream is not silent while reading is paused', () => {
  const { exchange, heard, calls, pass } = anExchange()
  exchange.begun()
  exchange.pause()
  pass(5000)
  assert.deepEqual(heard, [])
  exchange.resume()
  pass(499)
  assert.deepEqual(heard, [])
  pass(1)
  assert.match(heard.at(-1) ?? '', /sent nothing/)
  assert.deepEqual(calls, ['pause', 'resume', 'deadline'])
})

test('an abandoned exchange only reports that the upstream is free', () => {
  const { exchange, heard, calls, deadlines, data } = anExchange()
  exchange.abort('unwanted')
  exchange.abort('twice')
  data('late')
  assert.deepEqual(heard, ['released'])
  assert.deepEqual(calls, ['unwanted'])
  assert.equal(deadlines.size, 0)
})

test('one that is abandoned before it has a connection is aborted when it gets one', () => {
  const { exchange, controller, calls } = anExchange()
  exchange.abort('early')
  exchange.onRequestStart(controller)
  assert.deepEqual(calls, ['early', 'aborted before it was sent'])
})

test('interim answers are skipped, a flood of them is a broken answer', () => {
  const { heard, calls, head } = anExchange()
  for (let hint = 0; hint < 32; hint++) head(103)
  assert.deepEqual(heard, [])
  head(103)
  assert.deepEqual(heard, ['released', 'malformed: The upstream sent hints without end.'])
  assert.deepEqual(calls, ['hints without end'])
})

function staleError(): Error {
  const error = Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' })
  markStale(error)
  return error
}

test('a connection that the upstream had closed is replaced once, within a second', () => {
  const { heard, fail } = anExchange()
  fail(staleError())
  assert.deepEqual(heard, ['resend'])
  fail(staleError())
  assert.match(heard.at(-1) ?? '', /^reset: /)

  const slow = anExchange({ firstMs: 60_000 })
  slow.pass(1000)
  slow.fail(staleError())
  assert.match(slow.heard.at(-1) ?? '', /^reset: /)

  const broken = anExchange()
  broken.fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
  assert.deepEqual(broken.heard, ['released', 'reset: ECONNRESET: reset'])
})

test('a complete answer frees the upstream at once, whose connection then has two seconds to end', () => {
  const { exchange, heard, calls, pass } = anExchange({ idleMs: 60_000 })
  exchange.begun()
  exchange.pause()
  exchange.complete()
  assert.deepEqual(heard, ['released'])
  assert.deepEqual(calls, ['pause', 'resume'])
  exchange.pause()
  assert.deepEqual(calls, ['pause', 'resume'], 'later calls have no effect')
  pass(1999)
  assert.equal(heard.length, 1)
  pass(1)
  assert.match(heard.at(-1) ?? '', /^timeout: /)
})
