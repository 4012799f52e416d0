/** The default time of an upstream, and how its breaker judges a slow one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANSWER, aRig, CONTENT, EVENTS } from './journeys.ts'

const SINGLE = [{ name: 'r', strategy: 'single', primary: 'a' }]

test('an answer that is not a stream has the whole time of the request, and counts as no failure', async () => {
  const rig = aRig({
    upstreams: [{ name: 'a', circuit_breaker: { failure_threshold: 1 } }],
    routes: SINGLE,
  })
  const outcome = rig.send()
  rig.pass(599)
  assert.equal(rig.last.aborted, false)
  rig.last.answer(200, ANSWER)
  assert.deepEqual(((await outcome) as { kind: string }).kind, 'whole')

  const late = rig.send()
  rig.pass(600)
  assert.equal(((await late) as { refused: { code: string } }).refused.code, 'ERR_GW_PROXY_TIMEOUT')
  assert.equal(rig.last.aborted, true)
  assert.equal(rig.state('a').breaker.peek(rig.now), 'closed')
})

test('a stream has 30 s until its first content, and 600 s in all', async () => {
  const rig = aRig({
    upstreams: [{ name: 'a', circuit_breaker: { failure_threshold: 1 } }],
    routes: SINGLE,
  })
  const outcome = rig.send({ stream: true })
  rig.pass(29)
  rig.last.head(200, EVENTS)
  rig.last.data(CONTENT)
  assert.equal(((await outcome) as { kind: string }).kind, 'stream')
  for (let second = 30; second < 600; second += 30) {
    rig.pass(30)
    assert.equal(rig.last.aborted, false, `cut after ${second} s`)
    rig.last.data(CONTENT)
  }
  rig.pass(30)
  assert.equal(rig.last.aborted, true)
  assert.equal(rig.state('a').breaker.peek(rig.now), 'closed')

  const late = rig.send({ stream: true })
  rig.pass(30)
  assert.equal(((await late) as { refused: { code: string } }).refused.code, 'ERR_GW_PROXY_TIMEOUT')
  assert.equal(rig.state('a').breaker.peek(rig.now), 'closed', 'no setting forbids slowness')
})

test('an answer instead of a stream has the same time as the first content', async () => {
  const upstream = { name: 'a', timeout_seconds: 5, circuit_breaker: { failure_threshold: 1 } }
  const rig = aRig({ upstreams: [upstream], routes: SINGLE })
  const outcome = rig.send({ stream: true })
  rig.last.head(200, { 'content-type': 'application/json' })
  for (let second = 1; second < 5; second++) {
    rig.pass(1)
    rig.last.data(' ')
  }
  assert.equal(rig.last.aborted, false)
  rig.pass(1)
  assert.equal(rig.last.aborted, true)
  assert.equal(
    ((await outcome) as { refused: { code: string } }).refused.code,
    'ERR_GW_PROXY_TIMEOUT',
  )
  assert.equal(rig.state('a').breaker.peek(rig.now), 'open')
})

test('a failure with an incomplete text is one after the idle time, and counts', async () => {
  const upstream = {
    name: 'a',
    idle_timeout_seconds: 10,
    circuit_breaker: { failure_threshold: 1 },
  }
  const rig = aRig({ upstreams: [upstream], routes: SINGLE })
  const outcome = rig.send()
  rig.pass(100)
  rig.last.head(503, { 'content-type': 'application/json' })
  for (let second = 1; second < 10; second++) {
    rig.pass(1)
    rig.last.data(' ')
  }
  assert.equal(rig.last.aborted, false)
  rig.pass(1)
  assert.equal(rig.last.aborted, true)
  assert.equal(
    ((await outcome) as { refused: { code: string } }).refused.code,
    'ERR_GW_UPSTREAM_ERROR',
  )
  assert.equal(rig.state('a').breaker.peek(rig.now), 'open')
})

test('a connection that cannot be made in time counts, with a written timeout or a default', async () => {
  const rig = aRig({
    upstreams: [{ name: 'a', circuit_breaker: { failure_threshold: 1 } }],
    routes: SINGLE,
  })
  const outcome = rig.send({ stream: true })
  rig.last.fail('UND_ERR_CONNECT_TIMEOUT')
  await outcome
  assert.equal(rig.state('a').breaker.peek(rig.now), 'open')
})

test('a written timeout applies to both, and missing it counts', async () => {
  for (const stream of [true, false]) {
    const upstream = { name: 'a', timeout_seconds: 5, circuit_breaker: { failure_threshold: 1 } }
    const rig = aRig({ upstreams: [upstream], routes: SINGLE })
    const outcome = rig.send({ stream })
    rig.pass(5)
    assert.equal(
      ((await outcome) as { refused: { code: string } }).refused.code,
      'ERR_GW_PROXY_TIMEOUT',
    )
    assert.equal(rig.state('a').breaker.peek(rig.now), 'open')
  }
})

test('a probe that misses the time of its request frees its place', async () => {
  const upstream = {
    name: 'a',
    circuit_breaker: { failure_threshold: 1, open_duration_seconds: 10 },
  }
  const rig = aRig({ upstreams: [upstream], routes: SINGLE })
  const broken = rig.send()
  rig.last.fail('ECONNRESET')
  await broken
  rig.pass(10)
  const probe = rig.send()
  assert.equal(rig.state('a').breaker.permits(rig.now), false)
  rig.pass(600)
  await probe
  assert.equal(rig.state('a').breaker.peek(rig.now), 'half_open')
  assert.equal(rig.state('a').breaker.permits(rig.now), true)
})

for (const [what, retry, headers] of [
  ['a Retry-After', { max_attempts: 3 }, { 'retry-after': '2' }],
  ['a backoff', { max_attempts: 3, initial_delay_ms: 4000 }, {}],
] as const) {
  test(`${what} longer than the rest of the request is not waited for: the fallback is tried at once`, async () => {
    const rig = aRig({
      upstreams: [{ name: 'a' }, { name: 'b' }],
      routes: [
        {
          name: 'r',
          strategy: 'primary_with_fallback',
          primary: 'a',
          fallback: ['b'],
          timeout_seconds: 3,
          retry,
        },
      ],
    })
    const outcome = rig.send()
    rig.pass(2)
    rig.last.head(503, { 'content-type': 'application/json', ...headers })
    rig.last.end()
    await new Promise(setImmediate)
    assert.deepEqual(
      rig.asked.map(({ upstream }) => upstream),
      ['a', 'b'],
    )
    rig.last.answer(200, ANSWER)
    assert.equal(((await outcome) as { kind: string }).kind, 'whole')
  })
}
