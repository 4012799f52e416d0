/**
 * A request that one upstream does not support and another does; requests that no upstream supports; members that the
 * route drops.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANSWER, aRig, CONTENT, EVENTS, type Outcome } from '../../upstream/journeys.ts'

/** Neither supports more than one choice, nor a bias; `wide` supports both. */
const NARROW = { name: 'narrow', provider: 'tgi' }
const NARROWER = { name: 'narrower', provider: 'triton' }
const WIDE = { name: 'wide', provider: 'vllm' }

const SPILLING = {
  name: 'r',
  strategy: 'primary_with_fallback',
  primary: 'narrow',
  fallback: ['wide'],
}
const ONE = { name: 'r', strategy: 'single', primary: 'narrow' }

function refusalOf(outcome: Outcome) {
  return 'refused' in outcome ? outcome.refused : assert.fail('It was not refused.')
}

test('a request that the first upstream does not support goes to the next, which is no failure of the first', async () => {
  const rig = aRig({ upstreams: [NARROW, WIDE], routes: [SPILLING] })
  const outcome = rig.send({ n: 2 })
  assert.deepEqual(
    rig.asked.map(({ upstream }) => upstream),
    ['wide'],
  )
  rig.last.answer(200, ANSWER)
  assert.equal(Object(await outcome).kind, 'whole')
  assert.equal(rig.heard[0]?.[0], 'passed over')
  assert.deepEqual(rig.heard[0]?.[1], [{ upstream: 'narrow', why: 'does not support n' }])
  const { breaker, retryBudget } = rig.state('narrow')
  assert.equal(breaker.peek(rig.now), 'closed')
  assert.equal(retryBudget.take(rig.now), true)
})

test('it uses no attempt of a route with one', async () => {
  const routes = [
    {
      name: 'r',
      strategy: 'round_robin',
      upstreams: ['narrow', 'wide'],
      retry: { max_attempts: 1 },
    },
  ]
  const rig = aRig({ upstreams: [NARROW, WIDE], routes })
  for (let turn = 0; turn < 4; turn++) {
    const outcome = rig.send({ logit_bias: { 5: 1 } })
    assert.equal(rig.last.upstream, 'wide')
    rig.last.answer(200, ANSWER)
    assert.equal(Object(await outcome).kind, 'whole')
  }
})

test('it leaves a primary whose overflow allows no spill', async () => {
  const overflow = { on_upstream_error: 'none', on_timeout: 'none', on_queue_saturated: 'none' }
  const rig = aRig({ upstreams: [NARROW, WIDE], routes: [{ ...SPILLING, overflow }] })
  const outcome = rig.send({ n: 2 })
  assert.equal(rig.last.upstream, 'wide')
  rig.last.answer(200, ANSWER)
  assert.equal(Object(await outcome).kind, 'whole')
})

test('a request that no upstream supports is refused with the parameter, the provider and the fix', async () => {
  const rig = aRig({
    upstreams: [NARROW, NARROWER],
    routes: [{ ...SPILLING, fallback: ['narrower'] }],
  })
  const refused = refusalOf(await rig.send({ n: 2, logit_bias: { 5: 1 } }))
  assert.deepEqual([refused.code, refused.status], ['ERR_GW_INVALID_REQUEST', 400])
  assert.equal(refused.details.param, 'n')
  assert.match(refused.message, /tgi.*"n", "logit_bias".*send n: 1; leave logit_bias out/)
  assert.deepEqual(rig.asked, [])
})

test('while the upstream that supports it is down, the request is not called wrong', async () => {
  const upstreams = [NARROW, { ...WIDE, circuit_breaker: { failure_threshold: 1 } }]
  const rig = aRig({ upstreams, routes: [SPILLING] })
  const first = rig.send({ n: 2 })
  rig.last.fail('ECONNRESET')
  assert.equal(refusalOf(await first).code, 'ERR_GW_UPSTREAM_ERROR')
  assert.equal(refusalOf(await rig.send({ n: 2 })).code, 'ERR_GW_NO_HEALTHY_UPSTREAM')
})

test('the client gets the failure of an upstream before one that does not support it', async () => {
  const routes = [{ ...SPILLING, primary: 'wide', fallback: ['narrow'] }]
  const rig = aRig({ upstreams: [NARROW, WIDE], routes })
  const outcome = rig.send({ n: 2 })
  rig.last.answer(500, { error: { message: 'broken' } })
  const refused = refusalOf(await outcome)
  assert.equal(refused.code, 'ERR_GW_UPSTREAM_ERROR')
  assert.match(refused.message, /wide/)
})

test('if the route drops, the upstream gets the request without the parameter, and the trace names it', async () => {
  const rig = aRig({ upstreams: [NARROW], routes: [{ ...ONE, on_unsupported: 'drop' }] })
  const outcome = rig.send({ n: 2, logit_bias: { 5: 1 }, temperature: 0.5, model: 'm' })
  const sent = JSON.parse(String(rig.last.request.body))
  assert.deepEqual(sent, {
    model: 'm',
    messages: [{ role: 'user', content: 'Hi' }],
    temperature: 0.5,
  })
  assert.deepEqual(Object(rig.heard[0]?.[1]).dropped, ['n', 'logit_bias'])
  rig.last.answer(200, ANSWER)
  assert.equal(Object(await outcome).kind, 'whole')
})

test('a stream is complete with its one choice if several were dropped', async () => {
  const rig = aRig({ upstreams: [NARROW], routes: [{ ...ONE, on_unsupported: 'drop' }] })
  const outcome = rig.send({ n: 2, stream: true })
  rig.last.head(200, EVENTS)
  rig.last.data(CONTENT)
  const { stream } = Object(await outcome)
  let failure: unknown = 'none yet'
  stream.flowTo({
    write: () => true,
    finish: (why: unknown) => {
      failure = why
    },
  })
  rig.last.data('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n')
  rig.last.end()
  await new Promise(setImmediate)
  assert.equal(failure, undefined)
})

test('members that depend on a dropped parameter are dropped with it', async () => {
  const claude = { name: 'narrow', provider: 'anthropic' }
  const rig = aRig({ upstreams: [claude], routes: [{ ...ONE, on_unsupported: 'drop' }] })
  void rig.send({ tools: [{ type: 'custom' }], tool_choice: 'required' })
  const sent = JSON.parse(String(rig.last.request.body))
  assert.deepEqual(Object.keys(sent), ['model', 'max_tokens', 'messages'])
})

test('a required member is refused if the route drops', async () => {
  const claude = { name: 'narrow', provider: 'anthropic' }
  const rig = aRig({ upstreams: [claude], routes: [{ ...ONE, on_unsupported: 'drop' }] })
  const content = [{ type: 'input_audio', input_audio: { data: '' } }]
  const refused = refusalOf(await rig.send({ messages: [{ role: 'user', content }] }))
  assert.equal(refused.details.param, 'messages.0.content')
})

test('hints that an upstream does not support are left out, and the trace names them', async () => {
  const claude = { name: 'narrow', provider: 'anthropic' }
  const rig = aRig({ upstreams: [claude], routes: [ONE] })
  void rig.send({ seed: 7, metadata: { a: 'b' }, frequency_penalty: 0 })
  assert.deepEqual(Object(rig.heard[0]?.[1]).left_out, ['seed', 'metadata'])
})

test('names that clients make up are bounded in the trace, and keys in them are masked', async () => {
  const rig = aRig({ upstreams: [NARROWER], routes: [{ ...ONE, primary: 'narrower' }] })
  const many = Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`x${index}`, 1]))
  void rig.send({ ...many, ['y'.repeat(5000)]: 1 })
  assert.equal(Object(rig.heard[0]?.[1]).left_out.length, 32)
  void rig.send({ 'sk-0123456789abcdefghij': 1, ['y'.repeat(5000)]: 1 })
  const [masked, cut] = Object(rig.heard[1]?.[1]).left_out
  assert.deepEqual([masked, cut.length], ['sk-***', 101])
})
