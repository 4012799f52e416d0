/** Guardrails judge a request before it continues, or during an attempt, whose answer then waits for the verdict. */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { GatewayError } from '../../../../dataplane/base/errors.ts'
import { Presence } from '../../../../dataplane/call/presence.ts'
import type { Judgement } from '../../../../dataplane/guardrails/guard.ts'
import { cleared, guard, requireTexts } from '../../../../dataplane/request/stages/guard.ts'
import type { Reply } from '../../../../dataplane/request/stages/relay.ts'
import { FORBIDDEN, startSidecar } from '../../../helpers/guardrail-sidecar.ts'
import { aRequest } from '../../../helpers/providers/a-request.ts'
import { assemble } from '../../assembled-gateway.ts'
import { KEY } from './keys.ts'

const sidecar = await startSidecar()
after(() => sidecar.close())
afterEach(() => {
  sidecar.instead = undefined
})

const ROUTES = [
  { name: 'before', strategy: 'single', primary: 'up', guardrails: ['words'] },
  { name: 'beside', strategy: 'single', primary: 'up', guardrails: ['words-beside'] },
]

/** Sends this text through the guardrails of a route. */
function guarded(content: string, name = 'before') {
  const endpoint = { protocol: 'webhook', endpoint: sidecar.url, redact: true, timeout_ms: 60_000 }
  const guardrails = [
    { name: 'words', ...endpoint },
    { name: 'words-beside', ...endpoint, redact: false, parallel: true },
  ]
  const { gateway } = assemble({ guardrails, routes: ROUTES })
  const { snapshot } = gateway.active
  gateway.guards.follow(snapshot.section)
  const route = snapshot.routes.get(name) ?? assert.fail(name)
  const presence = new Presence()
  const notes: Judgement[] = []
  const asked = guard(
    aRequest({ messages: [{ role: 'user', content }] }),
    { requestId: 'r', presence },
    { caller: { key: KEY, tenant: 'acme' }, route, totalAt: Number.POSITIVE_INFINITY },
    { guards: gateway.guards, note: (judgement) => void notes.push(judgement) },
  )
  return { asked, presence, notes }
}

const codeOf = (error: unknown) => (error instanceof GatewayError ? error.code : error)
const coded = (code: string) => (error: unknown) => codeOf(error) === code
const verdictsOf = (notes: readonly Judgement[]) => notes.map(({ verdict }) => verdict)

test('a request passes, continues with masked text, or is blocked', async () => {
  const passed = guarded('Hi')
  assert.match(JSON.stringify((await passed.asked).request.body), /"content":"Hi"/)
  assert.equal(passed.presence.state, 'idle')
  const masked = guarded('It is secret-1.')
  const { request, verdict } = await masked.asked
  assert.doesNotMatch(JSON.stringify(request.body), /secret-1/)
  assert.equal(verdict, undefined)
  const blocked = guarded(FORBIDDEN)
  await assert.rejects(blocked.asked, coded('ERR_GW_GUARDRAIL_BLOCKED'))
  assert.deepEqual(
    [passed, masked, blocked].map(({ notes }) => verdictsOf(notes)),
    [['pass'], ['mask'], ['block']],
  )
})

test('a guardrail parallel to the attempt lets the request continue at once, and its verdict comes later', async () => {
  const asking = Promise.withResolvers<() => void>()
  sidecar.instead = (outgoing) => {
    asking.resolve(() =>
      outgoing.end(JSON.stringify({ action: { body: 'No.', status_code: 403 } })),
    )
  }
  const { asked, notes } = guarded('Hi', 'beside')
  const { verdict } = await asked
  assert.deepEqual(notes, [])
  const answer = await asking.promise
  answer()
  await assert.rejects(async () => verdict?.passed, coded('ERR_GW_GUARDRAIL_BLOCKED'))
})

test('a client that leaves during the calls of guardrails ends the request', async () => {
  sidecar.instead = () => asked.presence.end()
  const asked = guarded('Hi')
  await assert.rejects(asked.asked, coded('ERR_GW_STREAM_ABORTED'))
})

test('a recording has no texts to judge', () => {
  const route = { name: 'before' }
  assert.throws(
    () => requireTexts({ operation: 'transcription' }, route),
    /cannot judge a recording/,
  )
  requireTexts({ operation: 'chat' }, route)
})

const BLOCKED = new GatewayError('ERR_GW_GUARDRAIL_BLOCKED', 'No.')

/** An attempt parallel to a verdict that the test gives. */
function anAttempt() {
  const calls: string[] = []
  const verdict = Promise.withResolvers<void>()
  const reply = Promise.withResolvers<Reply>()
  const presence = new Presence()
  const pending = { passed: verdict.promise, leave: () => void calls.push('leave') }
  const over = cleared(pending, presence, () => {
    presence.begin({
      leave(why = new Error('left')) {
        calls.push('end')
        reply.reject(why)
      },
    })
    return reply.promise.finally(() => presence.done())
  })
  over.catch(() => undefined)
  const call = (name: string) => () => void calls.push(name)
  const stream = {
    ...{ flowTo: call('flow'), hold: call('hold'), drained: call('drained') },
    abort: call('abort'),
    leave: call('leave'),
  }
  return { calls, verdict, reply, presence, over, stream }
}

test('nothing of an answer is sent before the verdict', async () => {
  const { calls, verdict, reply, presence, over, stream } = anAttempt()
  let isOver = false
  const ended = over.then(() => {
    isOver = true
  })
  reply.resolve({ kind: 'stream', stream })
  await new Promise(setImmediate)
  assert.deepEqual([calls, isOver, presence.state], [['hold'], false, 'busy'])
  verdict.resolve()
  await ended
  assert.deepEqual([(await over).kind, presence.state, calls], ['stream', 'idle', ['hold']])
})

test('a block aborts a stream that waits, and ends an attempt that has not answered', async () => {
  const waiting = anAttempt()
  waiting.reply.resolve({ kind: 'stream', stream: waiting.stream })
  await new Promise(setImmediate)
  waiting.verdict.reject(BLOCKED)
  await assert.rejects(waiting.over, coded('ERR_GW_GUARDRAIL_BLOCKED'))
  assert.ok(waiting.calls.includes('abort'))
  const running = anAttempt()
  await new Promise(setImmediate)
  running.verdict.reject(BLOCKED)
  await new Promise(setImmediate)
  assert.deepEqual(running.calls, ['end', 'leave'])
  await assert.rejects(running.over, coded('ERR_GW_GUARDRAIL_BLOCKED'))
})

test('an attempt that fails waits for the verdict: a block is the answer, else its own error', async () => {
  for (const [decide, expected] of [
    ['reject', 'ERR_GW_GUARDRAIL_BLOCKED'],
    ['resolve', 'ERR_GW_UPSTREAM_ERROR'],
  ] as const) {
    const { verdict, reply, over } = anAttempt()
    reply.reject(new GatewayError('ERR_GW_UPSTREAM_ERROR', 'It failed.'))
    await new Promise(setImmediate)
    if (decide === 'reject') verdict.reject(BLOCKED)
    else verdict.resolve()
    await assert.rejects(over, coded(expected))
  }
})

test('a client that leaves needs no verdict', async () => {
  const { calls, verdict, presence, over } = anAttempt()
  await new Promise(setImmediate)
  presence.end()
  await new Promise(setImmediate)
  assert.deepEqual(calls, ['end', 'leave'])
  verdict.resolve()
  await assert.rejects(over, /left/)
})
