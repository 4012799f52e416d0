/** One attempt: each answer has one outcome, and the upstream is free again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { markStale } from '../../../dataplane/connection/stale-connection.ts'
import type { Outcome } from '../../../dataplane/upstream/attempt/parts.ts'
import { SECRET } from '../request/stages/snapshots.ts'
import { anAttempt, JSON_HEAD } from './an-attempt.ts'
import { ANSWER, CONTENT, EVENTS } from './journeys.ts'

type Fields = Readonly<Record<string, unknown>>

async function failureOf(outcome: Promise<Outcome>): Promise<string> {
  const made = await outcome
  assert.ok(made.kind === 'failed', made.kind)
  return `${made.failure.class}: ${made.failure.message}`
}

test('a whole answer is the outcome, with its usage, and the upstream is free again', async () => {
  const { one, ids, answer, sent, state, breakerState, meter } = anAttempt()
  assert.equal(state.inFlight, 1)
  one.send(ids)
  assert.equal(sent[0]?.request.path, '/v1/chat/completions')
  answer.head(200, { ...JSON_HEAD, 'x-request-id': 'u-7' })
  answer.data(JSON.stringify(ANSWER))
  answer.end()
  const outcome = await one.outcome
  assert.ok(outcome.kind === 'whole')
  assert.equal(meter.attempts[0]?.usage?.completionTokens, 1)
  assert.equal(one.upstreamRequestId, 'u-7')
  assert.deepEqual([state.inFlight, breakerState()], [0, 'closed'])
})

test('a whole answer of megabytes is parsed part by part, and passes unchanged', async (t) => {
  const { one, ids, answer, meter } = anAttempt()
  const [choice] = ANSWER.choices
  const message = { role: 'assistant', content: '"a\\'.repeat(700_000) }
  const text = JSON.stringify({ ...ANSWER, choices: [{ ...choice, message }] })
  one.send(ids)
  const parse = t.mock.method(JSON, 'parse')
  answer.whole(200, text)
  const outcome = await one.outcome
  assert.ok(outcome.kind === 'whole')
  assert.equal(String(outcome.body), text)
  assert.equal(meter.attempts[0]?.usage?.completionTokens, 1)
  const lengths = parse.mock.calls.map(({ arguments: [one] }) => String(one).length)
  assert.ok(Math.max(...lengths) <= 131_074, `${Math.max(...lengths)} characters in one go`)
})

test('a stream is the outcome with its first content, not with its head', async () => {
  const { one, ids, answer, state } = anAttempt({ stream: true })
  one.send(ids)
  let made: Outcome | undefined
  void one.outcome.then((outcome) => {
    made = outcome
  })
  answer.head(200, EVENTS)
  answer.data('data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n')
  await Promise.resolve()
  assert.equal(made, undefined)
  answer.data(CONTENT)
  const outcome = await one.outcome
  assert.ok(outcome.kind === 'stream')
  const passed: string[] = []
  outcome.stream.flowTo({
    write: (bytes) => passed.push(String(bytes)) > 0,
    finish: (failure) => void passed.push(JSON.stringify(failure)),
  })
  answer.end()
  assert.match(passed.join(''), /"content":"Hi".*"class":"reset"/s)
  assert.equal(state.inFlight, 0)
})

const BROKEN: readonly [
  string,
  Fields,
  (answer: ReturnType<typeof anAttempt>['answer']) => void,
  RegExp,
][] = [
  ['no JSON', {}, (answer) => answer.whole(200, 'oops'), /^malformed: /],
  [
    'an answer instead of a requested stream',
    { stream: true },
    (answer) => answer.whole(200, ANSWER),
    /^malformed: The answer is not a stream/,
  ],
  [
    'a compression that was not requested',
    {},
    (answer) => answer.head(200, { ...JSON_HEAD, 'content-encoding': 'unknown' }),
    /^malformed: The answer is compressed/,
  ],
  [
    'the answer of another request',
    {},
    (answer) => answer.head(200, { ...JSON_HEAD, 'x-request-id': 'r-2' }),
    /^malformed: The answer is that of another request/,
  ],
  ['a failure', {}, (answer) => answer.whole(500, { error: { message: 'broken' } }), /^server: /],
  [
    'a failure followed by a broken connection',
    {},
    (answer) => {
      answer.head(429)
      answer.fail(new Error('reset'))
    },
    /^rate_limited: /,
  ],
  [
    'a broken connection',
    {},
    (answer) => answer.fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' })),
    /^reset: ECONNRESET/,
  ],
]

for (const [what, members, run, expected] of BROKEN) {
  test(`${what} fails the attempt, and the upstream is free again`, async () => {
    const { one, ids, answer, state } = anAttempt(members)
    one.send(ids)
    run(answer)
    assert.match(await failureOf(one.outcome), expected)
    assert.equal(state.inFlight, 0)
  })
}

test('an answer that repeats the key is shown without it, and so is its id', async () => {
  const { one, ids, answer } = anAttempt({}, { api_key: '${env:SECRET}' })
  one.send(ids)
  answer.head(401, { ...JSON_HEAD, 'x-request-id': SECRET })
  answer.data(JSON.stringify({ error: { message: `Bad key ${SECRET}.` } }))
  answer.end()
  assert.doesNotMatch(await failureOf(one.outcome), /plain-secret/)
  assert.equal(one.upstreamRequestId, undefined)
})

test('a kept connection that the upstream closed costs no attempt: the same request uses a new one', async () => {
  const { one, ids, answer, sent, breakerState } = anAttempt()
  one.send(ids)
  const error = new Error('closed')
  markStale(error)
  answer.fail(error)
  assert.deepEqual(
    sent.map(({ anew }) => anew),
    [false, true],
  )
  assert.equal(sent[0]?.request, sent[1]?.request)
  answer.whole(200, ANSWER)
  assert.equal((await one.outcome).kind, 'whole')
  assert.equal(breakerState(), 'closed')
})

test('a mistake of the gateway in sending releases what the attempt holds', () => {
  const { one, ids, state, breakerState } = anAttempt()
  const broken = () => {
    throw new Error('mistake')
  }
  Object.defineProperty(state, 'pool', { value: { dispatch: broken } })
  assert.throws(() => one.send(ids), /mistake/)
  assert.deepEqual([state.inFlight, breakerState()], [0, 'closed'])
})

test('a probe has succeeded with its first content', async () => {
  const rig = anAttempt({ stream: true })
  rig.one.send(rig.ids)
  rig.answer.fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
  await rig.one.outcome
  assert.equal(rig.breakerState(), 'open')
  rig.clock.pass(1000)
  const probe = rig.begin()
  probe.send(rig.ids)
  assert.equal(rig.breakerState(), 'half_open')
  rig.answer.head(200, EVENTS)
  rig.answer.data(CONTENT)
  await probe.outcome
  assert.equal(rig.breakerState(), 'closed')
})
