/** The state of an upstream as people read it: health by probes, and why it does not serve. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valueBelow } from '../../../dataplane/json/values.ts'
import { aRig as anEndpointsRig } from './endpoints/a-rig.ts'
import { ANSWER, aRig } from './journeys.ts'

const single = { name: 'r', strategy: 'single', primary: 'a' }
const WRONG = { error: { message: 'Incorrect API key provided', type: 'invalid_request_error' } }
const rigWith = (upstream: object = {}) =>
  aRig({ upstreams: [{ name: 'a', ...upstream }], routes: [single] })
type Rig = ReturnType<typeof rigWith>
const shown = (rig: Rig, member: string) => valueBelow(rig.status('a'), member)

async function answered(rig: Rig, status: number, body: object): Promise<void> {
  const outcome = rig.send()
  rig.last.answer(status, body)
  await outcome
}

test('an upstream that was never probed is not called healthy', () => {
  assert.equal(shown(rigWith(), 'health'), 'not probed')
  const probed = rigWith({ provider: 'vllm', health_check: { path: '/health' } })
  assert.equal(shown(probed, 'health'), 'not yet probed')
  probed.state('a').health.observe(true, 0)
  assert.equal(shown(probed, 'health'), 'healthy')
})

test('an upstream that serves has no fault', async () => {
  const rig = rigWith()
  await answered(rig, 200, ANSWER)
  assert.equal(shown(rig, 'why'), undefined)
})

test('a credential that is refused once with 401 is the reason, until the upstream serves', async () => {
  const rig = rigWith({ circuit_breaker: { failure_threshold: 50 } })
  await answered(rig, 401, WRONG)
  assert.equal(shown(rig, 'why'), 'it refuses the credential of the gateway (401)')
  await answered(rig, 200, ANSWER)
  assert.equal(shown(rig, 'why'), undefined)
})

test('403 may be about one request: the third in a row is about the credential', async () => {
  const rig = rigWith({ circuit_breaker: { failure_threshold: 50 } })
  for (const expected of [undefined, undefined, 403]) {
    await answered(rig, 403, WRONG)
    assert.equal(rig.state('a').credential.refusals.status, expected)
  }
})

test('a breaker that is open is the reason, with its last failure', async () => {
  const rig = rigWith({ circuit_breaker: { failure_threshold: 1 } })
  await answered(rig, 500, { error: { message: 'broken' } })
  assert.match(String(shown(rig, 'why')), /^its breaker is open; last failure: server 500: broken/)
})

test('pods that Kubernetes lists are healthy, and without one the health is not known', () => {
  const { endpoints } = anEndpointsRig(2)
  assert.deepEqual([endpoints.isHealthy, endpoints.isBare], [true, false])
  const none = anEndpointsRig(0).endpoints
  assert.deepEqual([none.isHealthy, none.isBare], [undefined, true])
})
