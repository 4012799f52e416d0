/** A witness is notified of running attempts, and attempts end when the client leaves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Presence } from '../../../../dataplane/call/presence.ts'
import { ANSWER, aRig, type Outcome } from '../../upstream/journeys.ts'

const UPSTREAMS = [{ name: 'a' }, { name: 'b' }]
const RETRY = { max_attempts: 3, initial_delay_ms: 60_000 }
const SPILLING = [{ name: 'r', strategy: 'primary_with_fallback', primary: 'a', fallback: ['b'] }]
const REPEATING = [{ name: 'r', strategy: 'single', primary: 'a', retry: RETRY }]

function codeOf(outcome: Outcome): string {
  return 'refused' in outcome ? outcome.refused.code : outcome.kind
}

test('a witness is notified of each attempt at its start and end, with its upstream, its times and its failure', async () => {
  const rig = aRig({ upstreams: UPSTREAMS, routes: SPILLING })
  const outcome = rig.send()
  rig.pass(1)
  rig.last.head(500, { 'content-type': 'application/json', 'x-request-id': 'u-1' })
  rig.last.data('{"error":{"message":"sk-live-0123456789abcdefghij is broken"}}')
  rig.last.end()
  await new Promise(setImmediate)
  rig.pass(2)
  rig.last.answer(200, ANSWER)
  assert.equal(codeOf(await outcome), 'whole')
  const open = {
    ended_ms: 0,
    outcome: 'running',
    status: undefined,
    reason: undefined,
    upstream_request_id: undefined,
    endpoint: undefined,
    upstream_limits: undefined,
    dropped: undefined,
    left_out: undefined,
    span_id: undefined,
    answer: undefined,
    usage: undefined,
  }
  const [began, ended, next, last] = rig.heard
  assert.deepEqual(began, ['began', { upstream: 'a', started_ms: 0, ...open }])
  assert.equal(ended?.[0], 'ended')
  const { reason, ...failed } = Object(ended?.[1])
  assert.deepEqual(failed, {
    upstream: 'a',
    started_ms: 0,
    ended_ms: 1000,
    outcome: 'server',
    status: 500,
    upstream_request_id: 'u-1',
    endpoint: undefined,
    upstream_limits: undefined,
    dropped: undefined,
    left_out: undefined,
    span_id: undefined,
    answer: undefined,
    usage: undefined,
  })
  assert.doesNotMatch(reason, /0123456789/)
  assert.deepEqual(next, ['began', { upstream: 'b', started_ms: 1000, ...open }])
  const { answer, ...served } = Object(last?.[1])
  const { answer: _, ...opened } = open
  const times = { upstream: 'b', started_ms: 1000, ended_ms: 3000, outcome: 'ok' }
  assert.deepEqual([last?.[0], served], ['ended', { ...opened, ...times }])
  assert.deepEqual(Object.keys(answer), ['id', 'model', 'finish_reasons'])
  assert.equal(rig.heard.length, 4)
})

test('a witness is notified of skipped upstreams before any attempt, with the reason', async () => {
  const upstreams = [{ name: 'a', circuit_breaker: { failure_threshold: 1 } }, { name: 'b' }]
  const rig = aRig({ upstreams, routes: SPILLING })
  const first = rig.send()
  rig.last.fail('ECONNRESET')
  await new Promise(setImmediate)
  rig.last.answer(200, ANSWER)
  await first
  const before = rig.heard.length
  const second = rig.send()
  const [what, of] = rig.heard[before] ?? []
  assert.equal(what, 'passed over')
  assert.match(JSON.stringify(of), /"upstream":"a","why":"/)
  rig.last.answer(200, ANSWER)
  await second
})

test('a client that leaves during an attempt ends it, and no other follows', async () => {
  const rig = aRig({ upstreams: UPSTREAMS, routes: SPILLING })
  const presence = new Presence()
  const outcome = rig.send({}, presence)
  presence.end()
  rig.pass(0.3)
  assert.equal(codeOf(await outcome), 'ERR_GW_STREAM_ABORTED')
  assert.equal(rig.last.aborted, true)
  assert.equal(rig.asked.length, 1)
  assert.equal(Object(rig.heard.at(-1)?.[1]).outcome, 'left')
})

test('a client that leaves during the pause before a repeat ends the pause, and nothing is repeated', async () => {
  const rig = aRig({ upstreams: UPSTREAMS, routes: REPEATING })
  const presence = new Presence()
  const outcome = rig.send({}, presence)
  rig.last.answer(500, { error: { message: 'broken' } })
  await new Promise(setImmediate)
  assert.equal(presence.state, 'busy')
  presence.end()
  assert.equal(codeOf(await outcome), 'ERR_GW_STREAM_ABORTED')
  assert.equal(rig.asked.length, 1)
})

test('nothing is sent for a client that has already left', async () => {
  const rig = aRig({ upstreams: UPSTREAMS, routes: SPILLING })
  const presence = new Presence()
  presence.end()
  assert.equal(codeOf(await rig.send({}, presence)), 'ERR_GW_STREAM_ABORTED')
  assert.deepEqual([rig.asked.length, rig.heard.length], [0, 0])
})

test('no work is left for a client that has its answer', async () => {
  const rig = aRig({ upstreams: UPSTREAMS, routes: SPILLING })
  const presence = new Presence()
  const outcome = rig.send({}, presence)
  rig.last.answer(200, ANSWER)
  await outcome
  assert.equal(presence.state, 'idle')
})
