/**
 * Two pipelines own parts of one gateway, such as Argo CD and Flux: each keeps its part, and neither sees a difference.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { until } from '../helpers/until.ts'
import type { ControlPlane } from './control-plane.ts'
import { statusOf } from './operator-process.ts'
import { aGateway } from './operator-rig.ts'
import { type OperatorWithin, startOperatorWithin } from './operator-within.ts'

const GATEWAY = '/apis/inference.gw/v1/namespaces/ai/gatewayconfigs/production'

let cluster: ControlPlane
let within: OperatorWithin

before(async () => {
  within = await startOperatorWithin()
  cluster = within.cluster
})

after(() => within?.stop())

/** Without force a conflict of two pipelines is an error. */
const as = (manager: string, verb: 'apply' | 'diff', document: object) =>
  cluster.kubectl([verb, '--server-side', `--field-manager=${manager}`, '-f', '-'], {
    stdin: JSON.stringify(document),
  })

const upstream = (name: string, model: string) => ({
  ...{ name, provider: 'vllm', endpoint: `http://${name}:8000`, model, context_window: 8192 },
})
const platform = aGateway()
const { apiVersion, kind, metadata } = platform
const team = (model: string) => ({
  ...{ apiVersion, kind, metadata: { name: metadata.name, namespace: 'ai' } },
  gw: {
    upstreams: [upstream('team', model)],
    routes: [{ name: 'team', strategy: 'single', primary: 'team' }],
  },
})

const judged = () =>
  until('the operator has checked the gateway', async () => {
    const generation = valueBelow(await cluster.read(GATEWAY), 'metadata', 'generation')
    return (await statusOf(cluster, 'production')).observedGeneration === generation
  })
const upstreamsOf = async () =>
  listBelow(valueBelow(await cluster.read(GATEWAY), 'gw'), 'upstreams').map((one) =>
    valueBelow(one, 'name'),
  )

test('each pipeline owns its upstreams, and an edit of one keeps those of the other', async () => {
  await as('platform', 'apply', platform)
  const own = await upstreamsOf()
  for (const model of ['one', 'two', 'three']) {
    await as('team', 'apply', team(model))
    await judged()
  }
  assert.deepEqual(await upstreamsOf(), [...own, 'team'])
  const { conditions } = await statusOf(cluster, 'production')
  assert.equal(conditions.find(({ type }) => type === 'Accepted')?.status, 'True')
})

test("after the operator's status neither pipeline sees a difference", async () => {
  // kubectl diff exits with 1 if there is a difference.
  await as('platform', 'diff', platform)
  await as('team', 'diff', team('three'))
})

test('a field that one pipeline gives up disappears, and a field of the other is a conflict', async () => {
  const theirs = { ...team('three'), gw: { upstreams: [{ ...upstream('local', 'stolen') }] } }
  await assert.rejects(as('team', 'apply', theirs), /conflict/)
  const { gw: _, ...nothing } = team('three')
  await as('team', 'apply', nothing)
  assert.ok(!(await upstreamsOf()).includes('team'))
})
