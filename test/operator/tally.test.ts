/** The numbers of gateways and pods in the operator's metrics. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tallyOf } from '../../operator/tally.ts'
import { createTelemetry } from '../../operator/telemetry.ts'

function aGateway(name: string, ready: string | undefined, ...states: readonly string[]) {
  return {
    metadata: { name, namespace: 'ai' },
    status: {
      ...(ready && { conditions: [{ type: 'Ready', status: ready }] }),
      pods: states.map((state, index) => ({ name: `${name}-${index}`, state })),
    },
  }
}

test('gateways are counted by readiness, pods by state, and an empty count is reported as 0', () => {
  const tally = tallyOf([
    aGateway('one', 'True', 'Programmed', 'Programmed'),
    aGateway('two', 'False', 'Rejected', 'Programmed'),
    aGateway('three', undefined),
    { metadata: { name: 'new' } },
  ])
  assert.deepEqual(tally.gateways, { true: 1, false: 3 })
  assert.deepEqual(tally.pods, { Pending: 0, Programmed: 3, Rejected: 1, Unreachable: 0 })
})

test('each gateway has a series for its readiness, and one for the reason of its degradation', async () => {
  const telemetry = createTelemetry()
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'Degraded', status: 'True', reason: 'SecretUnusable' },
  ]
  const degraded = { ...aGateway('two', 'True'), status: { conditions } }
  telemetry.tallyBy(() => tallyOf([aGateway('one', 'False'), degraded]))
  const text = await telemetry.registry.metrics()
  assert.match(text, /^gw_gateway_ready\{gateway="ai\/one"\} 0$/m)
  assert.match(text, /^gw_gateway_ready\{gateway="ai\/two"\} 1$/m)
  assert.match(text, /^gw_gateway_degraded\{gateway="ai\/two",reason="SecretUnusable"\} 1$/m)
  assert.doesNotMatch(text, /gw_gateway_degraded\{gateway="ai\/one"/)
})

test('a gateway has a series for its pods that are behind, by state, and none if all are up to date', async () => {
  const telemetry = createTelemetry()
  const gateways = [
    aGateway('one', 'True', 'Programmed', 'Rejected', 'Rejected', 'Unreachable'),
    aGateway('two', 'True', 'Programmed'),
  ]
  telemetry.tallyBy(() => tallyOf(gateways))
  const text = await telemetry.registry.metrics()
  const series = text.split('\n').filter((line) => line.startsWith('gw_gateway_pods'))
  assert.deepEqual(series, [
    'gw_gateway_pods{gateway="ai/one",state="Rejected"} 2',
    'gw_gateway_pods{gateway="ai/one",state="Unreachable"} 1',
  ])
})

test('a process that does not lead reports that before the first event', async () => {
  const text = await createTelemetry().registry.metrics()
  assert.match(text, /^leader_election_master_status\{name="gw-operator"\} 0$/m)
  assert.match(text, /^controller_runtime_reconcile_total\{controller="key",result="error"\} 0$/m)
  assert.match(text, /^workqueue_depth\{name="gateway"\} 0$/m)
})

test('metrics are computed when they are read', async () => {
  const telemetry = createTelemetry()
  let gateways = [aGateway('one', 'False', 'Unreachable')]
  telemetry.tallyBy(() => tallyOf(gateways))
  assert.match(await telemetry.registry.metrics(), /^gw_gateways\{ready="false"\} 1$/m)
  assert.match(await telemetry.registry.metrics(), /^gw_config_pods\{state="Unreachable"\} 1$/m)
  gateways = []
  assert.match(await telemetry.registry.metrics(), /^gw_gateways\{ready="false"\} 0$/m)
  assert.match(await telemetry.registry.metrics(), /^gw_config_pods\{state="Unreachable"\} 0$/m)
})
