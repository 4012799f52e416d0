/** The gateway's own probes: through every stage, and free of charge for everybody. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schedule } from '../../../dataplane/base/clock.ts'
import { Verifier } from '../../../dataplane/verification/verifier.ts'
import { type FakeUpstream, failing, startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { assemble } from '../assembled-gateway.ts'

const LIMITS = {
  api_keys: [],
  rate_limits: {
    backend: 'memory',
    default: { requests_per_minute: 1, burst: 1, concurrent_requests: 1 },
  },
  budgets: [{ tenant: '*', tokens_per_day: 1, on_exceeded: 'reject' }],
}

async function aRig(reply = whole(), more: object = {}, chat: object = {}) {
  const upstream = await startUpstream(reply)
  const up = { name: 'up', provider: 'openai', endpoint: upstream.url, model: 'm' }
  const assembled = assemble({
    upstreams: [up, { ...up, name: 'new' }],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'up', verify: true, ...chat },
      { name: 'other', strategy: 'single', primary: 'up' },
    ],
    ...more,
  })
  const { gateway, clock } = assembled
  const verifier = new Verifier(gateway, { schedule })
  const look = () => verifier.expire(clock.now())
  const verdict = () => verifier.report()?.routes[0]
  const settled = (state: string) => until(state, () => verdict()?.state === state)
  return { ...assembled, upstream, verifier, look, verdict, settled }
}

function closing(upstream: FakeUpstream) {
  return { [Symbol.asyncDispose]: () => upstream.close() }
}

test('a probe asks one token of the upstream, and only of routes with verify: true', async () => {
  const { upstream, look, verdict, settled, verifier, gateway } = await aRig()
  await using _ = closing(upstream)
  assert.deepEqual(verdict(), { route: 'chat', state: 'pending' })
  look()
  await settled('answers')
  assert.equal(verdict()?.why, '200 by up')
  assert.equal(verifier.report()?.hash, gateway.active.snapshot.hash)
  const [asked] = upstream.asked
  assert.deepEqual(asked?.body.messages, [{ role: 'user', content: 'ping' }])
  assert.equal(asked?.body.max_tokens ?? asked?.body.max_completion_tokens, 1)
  assert.equal(upstream.asked.length, 1)
})

test("probes use no tenant's limits, budgets, counters, usage, traces or log lines", async () => {
  const { upstream, look, settled, gateway, lines, clock } = await aRig(whole(), LIMITS)
  await using _ = closing(upstream)
  for (let round = 0; round < 3; round++) {
    look()
    await until('the probe', () => upstream.asked.length === round + 1)
    await settled('answers')
    clock.pass(60_000)
  }
  const { metrics, traces, usage, history } = gateway
  assert.ok(history.tally.take().cells.isEmpty)
  for (const name of ['requests', 'admitted', 'rejected', 'tokens', 'attempts', 'cost'] as const)
    assert.deepEqual([...metrics[name].entries()], [], name)
  assert.deepEqual(traces.list(10), [])
  assert.deepEqual([...usage.between('0000', '9999')], [])
  assert.deepEqual(
    lines.filter(({ event }) => event === undefined),
    [],
  )
})

test('a route that fails tells why, and answers again after its upstream does', async () => {
  const { upstream, look, verdict, settled, clock, lines } = await aRig(failing(401))
  await using _ = closing(upstream)
  look()
  await settled('fails')
  assert.match(verdict()?.why ?? '', /^50\d ERR_GW_/)
  upstream.reply = whole()
  clock.pass(5000)
  look()
  await settled('answers')
  const said = lines.filter(({ event }) => event === 'verify').map(({ message }) => message)
  assert.equal(said.length, 2)
  assert.match(String(said[0]), /^Route chat does not answer the gateway's own probe: 50\d/)
})

test('an answer of the configuration before proves nothing', async () => {
  const { upstream, look, verdict, settled, gateway } = await aRig()
  await using _ = closing(upstream)
  look()
  await settled('answers')
  gateway.active = { ...gateway.active }
  assert.equal(verdict()?.state, 'pending')
  look()
  await settled('answers')
  assert.equal(upstream.asked.length, 2)
})

test('a model that refuses one token is asked for sixteen', async () => {
  const { upstream, look, settled } = await aRig()
  await using _ = closing(upstream)
  upstream.script.push(failing(400, { message: 'max_tokens is too small' }))
  look()
  await settled('answers')
  assert.equal(upstream.asked.length, 2)
})

test('a probe has no shadow, and no rollout counts it', async () => {
  const shadowed = { upstream: 'new', percent: 100, tenant: 'evaluation' }
  const { upstream, look, settled, gateway } = await aRig(whole(), {}, { shadow: shadowed })
  await using _ = closing(upstream)
  const counted: string[] = []
  gateway.rollouts.ended = () => void counted.push('by the rollout')
  gateway.shadows.enter = () => void counted.push('by the shadow')
  look()
  await settled('answers')
  assert.deepEqual(counted, [])
})
