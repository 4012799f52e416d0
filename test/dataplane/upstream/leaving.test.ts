/**
 * A client has left: late reports of its upstream are read for a short time, and an upstream without one is aborted at
 * once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../../../dataplane/wire/inner-form.ts'
import { anAttempt, JSON_HEAD } from './an-attempt.ts'
import { ANSWER, CONTENT, EVENTS } from './journeys.ts'

const REST_MS = 300
const USAGE = '"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}'
const FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const LAST = `data: {"choices":[],${USAGE}}\n\n`

function anAbandoned(members: Readonly<Record<string, unknown>> = {}) {
  const made = anAttempt(members)
  made.one.send(made.ids)
  const charges = () =>
    made.meter
      .charges(made.request as ModelRequest)
      .map(({ usage: { promptTokens, completionTokens } }) => [promptTokens, completionTokens])
  const pass = (milliseconds: number) => {
    made.clock.pass(milliseconds)
    made.gateway.deadlines.sweep()
  }
  return { ...made, charges, pass }
}

/** "Hi" and the four tokens around it. */
const PROMPT = 5

test('a whole answer that comes in time reports its usage', async () => {
  const { one, answer, charges, calls, breakerState } = anAbandoned()
  one.leave()
  answer.head(200, JSON_HEAD)
  answer.data(JSON.stringify({ ...ANSWER, usage: { prompt_tokens: 9, completion_tokens: 4 } }))
  answer.end()
  assert.equal((await one.outcome).kind, 'left')
  assert.deepEqual(charges(), [[9, 4]])
  assert.deepEqual([calls, breakerState()], [[], 'closed'])
})

test('one that does not is aborted after the rest, and its prompt is charged', async () => {
  const { one, charges, calls, pass, state, breakerState } = anAbandoned()
  one.leave()
  pass(REST_MS - 1)
  assert.deepEqual(calls, [])
  pass(1)
  assert.equal((await one.outcome).kind, 'left')
  assert.deepEqual(calls, ['the client left'])
  assert.deepEqual(charges(), [[PROMPT, 0]])
  assert.deepEqual([state.inFlight, breakerState()], [0, 'closed'])
})

test('an upstream that refuses meanwhile has cost nothing', async () => {
  const { one, answer, charges } = anAbandoned()
  one.leave()
  answer.whole(503, { error: { message: 'full' } })
  assert.equal((await one.outcome).kind, 'left')
  assert.deepEqual(charges(), [])
})

test('a request that is refused meanwhile is not waited for, and its prompt is charged', async () => {
  const { one, charges, calls } = anAbandoned()
  one.leave(new Error('blocked'))
  assert.equal((await one.outcome).kind, 'refused')
  assert.deepEqual(calls, ['the request was refused'])
  assert.deepEqual(charges(), [[PROMPT, 0]])
})

test('an attempt that times out costs its prompt, and a cut one does not', async () => {
  const late = anAbandoned()
  late.pass(61_000)
  assert.equal((await late.one.outcome).kind, 'failed')
  assert.deepEqual(late.charges(), [[PROMPT, 0]])
  const cut = anAbandoned()
  cut.answer.fail(new Error('reset'))
  assert.equal((await cut.one.outcome).kind, 'failed')
  assert.deepEqual(cut.charges(), [])
})

test('a stream that begins after its client has left is read to its usage', async () => {
  const { one, answer, charges, calls } = anAbandoned({ stream: true })
  one.leave()
  answer.head(200, EVENTS)
  answer.data(CONTENT + FINISH)
  answer.data(LAST)
  assert.equal((await one.outcome).kind, 'left')
  assert.deepEqual([charges(), calls], [[[9, 4]], ['the client left']])
})

test('one that continues is aborted after the rest, and its content is charged', async () => {
  const { one, answer, charges, calls, pass } = anAbandoned({ stream: true })
  answer.head(200, EVENTS)
  one.leave()
  for (let said = 0; said < 3; said++) {
    answer.data(CONTENT)
    pass(REST_MS / 3)
  }
  assert.equal((await one.outcome).kind, 'left')
  assert.deepEqual([charges(), calls], [[[PROMPT, 3]], ['the client left']])
})

test('one whose usage counts all content is aborted at once', async () => {
  const { one, answer, charges, calls } = anAbandoned({ stream: true })
  answer.head(200, EVENTS)
  answer.data(CONTENT.replace('}]}', `}],${USAGE}}`))
  const outcome = await one.outcome
  assert.ok(outcome.kind === 'stream')
  outcome.stream.flowTo({ write: () => true, finish: () => undefined })
  let isOver = false
  outcome.stream.leave(() => {
    isOver = true
  })
  assert.ok(isOver)
  assert.deepEqual([charges(), calls], [[[9, 4]], ['the client left']])
})

test('the unread part of a slow reader is read before it is aborted', async () => {
  const { one, answer, charges, calls, pass } = anAbandoned({ stream: true })
  answer.head(200, EVENTS)
  answer.data(CONTENT)
  const outcome = await one.outcome
  assert.ok(outcome.kind === 'stream')
  outcome.stream.flowTo({ write: () => false, finish: () => undefined })
  outcome.stream.leave(() => undefined)
  assert.deepEqual(calls, ['pause', 'resume'])
  answer.data(CONTENT.repeat(5))
  pass(REST_MS)
  assert.deepEqual(charges(), [[PROMPT, 6]])
  assert.equal(calls.at(-1), 'the client left')
})
