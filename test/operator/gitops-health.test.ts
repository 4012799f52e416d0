/** How pipelines read a status: the scripts for Argo CD, and the rules of kstatus, which Flux and Helm use. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { INITIAL_STATUS } from '../../crds/conditions.ts'
import type { GatewayStatus } from '../../crds/gateway-config.ts'
import { compile } from '../../operator/compile/compile.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { healthOf } from '../helpers/kubernetes/argocd.ts'
import { aPod, deployment, statusOf } from './a-status.ts'

const script = (kind: string) =>
  readFileSync(join(import.meta.dirname, `../../charts/gw/gitops/argocd/${kind}.lua`), 'utf8')

const gateway = aGateway()
const invalid = aGateway({ gw: { routes: [] } })
const paused = aGateway({ spec: { paused: true } })
const routed = aGateway({ spec: { route: { parentRefs: [{ name: 'public' }] } } })
const rolling = { ...deployment, status: { ...deployment.status, updatedReplicas: 1 } }
const reference = '${secret:a/b}'
const unresolved = { unresolved: [{ upstream: 'local', reference, why: 'not there' }] }
const storeAway = { store: { state: 'away', fail_open: true } }
const waits = { waitsForStart: ['gw.rate_limits.redis'] }

interface Row {
  readonly name: string
  readonly object?: object
  readonly status: object | undefined
  readonly argo: 'Healthy' | 'Progressing' | 'Degraded' | 'Suspended'
  readonly kstatus: 'Current' | 'InProgress' | 'Failed'
}

const ROWS: readonly Row[] = [
  {
    name: 'as the API server creates it',
    status: INITIAL_STATUS,
    argo: 'Progressing',
    kstatus: 'InProgress',
  },
  { name: 'ready', status: statusOf(), argo: 'Healthy', kstatus: 'Current' },
  {
    name: 'of the generation before',
    object: { ...gateway, metadata: { ...gateway.metadata, generation: 4 } },
    status: statusOf(),
    argo: 'Progressing',
    kstatus: 'InProgress',
  },
  {
    name: 'invalid, and nothing served before',
    status: statusOf({ compiled: compile({ gateway: invalid, keys: [], now: 0 }), documents: {} }),
    argo: 'Degraded',
    kstatus: 'Failed',
  },
  {
    name: 'invalid, while the last good one is served',
    status: statusOf({ compiled: compile({ gateway: invalid, keys: [], now: 0 }) }),
    argo: 'Degraded',
    kstatus: 'Failed',
  },
  {
    name: 'not compiled yet',
    status: statusOf({ compiled: undefined, documents: {}, pods: [], deployment: undefined }),
    argo: 'Progressing',
    kstatus: 'InProgress',
  },
  {
    name: 'rolling',
    status: statusOf({ deployment: rolling }),
    argo: 'Progressing',
    kstatus: 'InProgress',
  },
  {
    name: 'being sent to the pods',
    status: statusOf({ pods: [aPod('a'), aPod('b', { state: 'pending' }, { configuration: {} })] }),
    argo: 'Progressing',
    kstatus: 'InProgress',
  },
  {
    name: 'refused by a pod',
    status: statusOf({ pods: [aPod('a'), aPod('b', { state: 'rejected', error: 'too large' })] }),
    argo: 'Degraded',
    kstatus: 'InProgress',
  },
  {
    name: 'without a Secret',
    status: statusOf({ pods: [aPod('a', { state: 'acknowledged' }, unresolved)] }),
    argo: 'Degraded',
    kstatus: 'InProgress',
  },
  {
    name: 'without its store, which pods do not need',
    status: statusOf({ pods: [aPod('a', { state: 'acknowledged' }, storeAway)] }),
    argo: 'Degraded',
    kstatus: 'Current',
  },
  {
    name: 'waiting for new pods',
    status: statusOf({ deployment: rolling, pods: [aPod('a', { state: 'acknowledged' }, waits)] }),
    argo: 'Progressing',
    kstatus: 'InProgress',
  },
  {
    name: 'paused',
    object: paused,
    status: statusOf({ gateway: paused, isPaused: true, compiled: undefined }),
    argo: 'Suspended',
    kstatus: 'InProgress',
  },
  {
    name: 'with a route that the cluster does not serve',
    object: routed,
    status: statusOf({ gateway: routed }),
    argo: 'Degraded',
    kstatus: 'InProgress',
  },
  { name: 'without a status', status: undefined, argo: 'Progressing', kstatus: 'Current' },
]

for (const { name, object = gateway, status, argo, kstatus } of ROWS) {
  test(`a gateway ${name} is ${argo} for Argo CD and ${kstatus} for kstatus`, () => {
    const whole = { ...object, ...(status && { status }) }
    const health = healthOf(script('gatewayconfig'), whole)
    assert.equal(health.status, argo, health.message)
    assert.equal(kstatusOf(whole), kstatus)
  })
}

test('the patch of argocd-cm contains the scripts unchanged', () => {
  const { data } = parse(
    readFileSync(join(import.meta.dirname, '../../charts/gw/gitops/argocd/argocd-cm.yaml'), 'utf8'),
  )
  const of = (kind: string) => data[`resource.customizations.health.inference.gw_${kind}`]
  assert.equal(of('GatewayConfig'), script('gatewayconfig'))
  assert.equal(of('GatewayKey'), script('gatewaykey'))
})

const key = (generation: number, ...conditions: readonly object[]) => ({
  metadata: { generation: 2 },
  status: { conditions: conditions.map((one) => ({ observedGeneration: generation, ...one })) },
})

test('a key is healthy once it is accepted, even after its end', () => {
  const health = (object: object) => healthOf(script('gatewaykey'), object).status
  const accepted = { type: 'Accepted', status: 'True', message: 'It counts.' }
  const ended = { type: 'Ready', status: 'False', message: 'It was revoked.' }
  const refused = { type: 'Accepted', status: 'False', message: 'There is no such gateway.' }
  assert.equal(health(key(2, accepted, ended)), 'Healthy')
  assert.equal(health(key(2, refused)), 'Degraded')
  assert.equal(health(key(1, accepted)), 'Progressing')
  assert.equal(health({ metadata: {}, status: INITIAL_STATUS }), 'Progressing')
  assert.equal(health({ metadata: {} }), 'Progressing')
})

/** The generic rules of kstatus for an unknown resource, in their order. */
function kstatusOf(object: {
  metadata?: { generation?: number }
  status?: Partial<GatewayStatus>
}) {
  const { status } = object
  const seen = status?.observedGeneration
  if (seen !== undefined && seen !== object.metadata?.generation) return 'InProgress'
  const holds = (type: string) =>
    status?.conditions?.some((one) => one.type === type && one.status === 'True') === true
  if (holds('Reconciling')) return 'InProgress'
  if (holds('Stalled')) return 'Failed'
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress'
}
