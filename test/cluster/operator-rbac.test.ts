/** The operator runs with its own rights alone, and uses every one of them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startWebhook } from '../../operator/admission/webhook.ts'
import type { ApiRequest } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { createLog } from '../../operator/log.ts'
import { type Operator, startOperator } from '../../operator/program.ts'
import { GRANTS, type Grant, policyRules } from '../../operator/rbac.ts'
import { createTelemetry } from '../../operator/telemetry.ts'
import { aKey } from '../helpers/a-key.ts'
import { until } from '../helpers/until.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { recordFigure } from './figures.ts'
import { LOCAL_PODS } from './local-pods.ts'
import { untilCondition } from './operator-process.ts'
import { aGateway, aGatewayKey } from './operator-rig.ts'
import { type ProcessKubelet, startProcessKubelet } from './process-kubelet.ts'
import { configurationOf } from './webhook-configuration.ts'

const NAMESPACE = 'gw-system'
const CONFIGURATION = 'gw-system-gw'

let cluster: ControlPlane
let operator: Operator
let kubelet: ProcessKubelet
const asked = new Set<string>()
const lines: string[] = []

before(async () => {
  cluster = await startControlPlane()
  await cluster.installDefinitions()
  await cluster.installTypes('gateway-api')
  await cluster.installTypes('inference-pools')
  await cluster.kubectl(['create', 'namespace', 'ai'])
  const account = { namespace: NAMESPACE, name: 'gw-operator' }
  const wide = (
    [
      'watched',
      'http-routes',
      'key-secrets',
      'inference-pools',
      'types',
      'webhook-cluster',
    ] as const
  ).flatMap(rulesOf)
  await cluster.serviceAccount({ ...account, rules: wide, clusterWide: true })
  const own = [...rulesOf('own'), ...rulesOf('webhook-own')]
  const kubeconfig = await cluster.serviceAccount({ ...account, rules: own })
  // No server listens there; the test only checks that the operator publishes the authority.
  const configuration = await configurationOf(CONFIGURATION, 9, 'Ignore')
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(configuration) })
  const log = createLog((line) => lines.push(line), Date.now)
  const telemetry = createTelemetry()
  operator = startOperator({
    cluster: await openCluster({ env: process.env, kubeconfig }),
    namespace: NAMESPACE,
    watchNamespaces: ['ai', NAMESPACE],
    identity: 'test',
    release: { image: 'gw:test', version: 'test', operatorNamespace: NAMESPACE },
    rolloutsMax: 1,
    mayRoute: true,
    mayMakeKeys: true,
    mayPool: true,
    network: LOCAL_PODS,
    log,
    telemetry,
    startWebhook: (parts) =>
      startWebhook(
        {
          listen: { port: 0, host: '127.0.0.1' },
          certificates: {
            hosts: ['127.0.0.1'],
            configuration: CONFIGURATION,
            namespace: NAMESPACE,
          },
          drainMs: 0,
          log,
          telemetry,
          wallClock: Date.now,
        },
        parts,
      ),
    onAsked: (one) => asked.add(nameOf(one)),
    timings: { gateway: { soakMs: 200 }, discoveryMs: 500 },
  })
  kubelet = await startProcessKubelet(cluster)
})

after(async () => {
  await operator?.stop()
  await kubelet?.stop()
  await cluster?.stop()
})

const A_POLICY = {
  apiVersion: 'inference.gw/v1alpha1',
  kind: 'TenantPolicy',
  metadata: { name: 'one', namespace: 'ai' },
  spec: { gateway: 'production', tenant: 'one', limits: { requests_per_minute: 5 } },
}
const A_POOL = {
  apiVersion: 'inference.networking.k8s.io/v1',
  kind: 'InferencePool',
  metadata: { name: 'models', namespace: 'ai' },
  spec: { selector: { matchLabels: { app: 'vllm' } }, targetPorts: [{ number: 8000 }] },
}
const OF_POOL = {
  name: 'pooled',
  provider: 'vllm',
  model: 'm',
  endpoints: 'pool',
  pool: { name: 'models' },
}
const ENTERED = 'update inference.networking.k8s.io/inferencepools/status'
const RENEWED = 'patch core/pods'
const JUDGED = 'patch inference.gw/tenantpolicies/status'
const ROUTES_WATCHED = 'watch gateway.networking.k8s.io/httproutes'
const PUBLISHED = 'patch admissionregistration.k8s.io/validatingwebhookconfigurations'

/** The type of `serviceAccount` is wider than ours. */
function rulesOf(where: Grant['where']) {
  return policyRules(where, CONFIGURATION).map((rule) => ({ ...rule }))
}

function nameOf({ verb, group, resource }: ApiRequest): string {
  return `${verb} ${group === '' ? 'core' : group}/${resource}`
}

function granted(): string[] {
  const verbs = GRANTS.filter(({ isForAdmission }) => isForAdmission !== true).flatMap(
    ({ resource: { group, plural }, subresource, verbs }) => {
      const resource = subresource === undefined ? plural : `${plural}/${subresource}`
      return verbs.map((verb) => nameOf({ verb, group, resource, namespace: undefined }))
    },
  )
  // A verb on two named objects counts once.
  return [...new Set(verbs)]
}

async function apply(...documents: readonly object[]): Promise<void> {
  const stdin = documents.map((one) => JSON.stringify(one)).join('\n---\n')
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin })
}

test("the operator's rights suffice for the life of a gateway, and it uses all of them", async () => {
  const { record } = aKey({ id: 'one' })
  const autoscaling = { minReplicas: 1, maxReplicas: 2 }
  const front = { service: { type: 'NodePort' }, route: { parentRefs: [{ name: 'public' }] } }
  const gateway = aGateway({ spec: { autoscaling, ...front } })
  await apply(gateway, aGatewayKey('one', { hash: record.hash }), A_POLICY)
  const generate = (revision: number) => aGatewayKey('made', { generate: { revision } })
  await apply(generate(1))
  await untilCondition(cluster, 'production', ['Programmed', 'True'])
  const routed = ['wait', '--for=create', 'httproute/production', '-n', 'ai', '--timeout=120s']
  await cluster.kubectl(routed)
  await cluster.kubectl(['wait', '--for=condition=Ready', 'gwk/made', '-n', 'ai', '--timeout=120s'])
  await apply(generate(2))
  const exchanged = ['--for=jsonpath={.status.hashes[0].revision}=2', '--timeout=120s']
  await cluster.kubectl(['wait', 'gwk/made', '-n', 'ai', ...exchanged])
  await cluster.kubectl(['wait', '--for=create', 'cm/production-lkg', '-n', 'ai', '--timeout=120s'])
  const bare = { podDisruptionBudget: { enabled: false }, networkPolicy: { enabled: false } }
  await apply(aGateway({ gw: { aliases: { x: 'chat' } }, spec: { replicas: 1, ...bare } }))
  const going = ['hpa', 'pdb', 'netpol', 'httproute'].map((kind) => `${kind}/production`)
  for (const object of [...going, 'service/production-metrics']) {
    await cluster.kubectl(['wait', '--for=delete', object, '-n', 'ai', '--timeout=120s'])
  }
  await untilCondition(cluster, 'production', ['Ready', 'True'])
  const hosted = { name: 'hosted', provider: 'openai', model: 'm', api_key: '${secret:later/key}' }
  const gw = { upstreams: [...aGateway().gw.upstreams, hosted, OF_POOL] }
  await apply(A_POOL, aGateway({ gw, spec: { replicas: 1, ...bare } }))
  await until('it makes the pods reload their mounts for a missing Secret', () =>
    asked.has(RENEWED),
  )
  await until('the lease is renewed', () => asked.has('update coordination.k8s.io/leases'), 60)
  await until('the policy is judged', () => asked.has(JUDGED), 60)
  await until('routes are watched', () => asked.has(ROUTES_WATCHED), 60)
  await until('it is among the parents of the pool', () => asked.has(ENTERED), 60)
  await until('it publishes its authority', () => asked.has(PUBLISHED), 60)
  assert.deepEqual([...asked].sort(), granted().sort())
  recordFigure('rights', `${asked.size} used, ${granted().length} granted, the same`)
  assert.deepEqual(
    lines.filter((line) => line.includes('forbidden')),
    [],
  )
})

test('the operator may create the Secrets of keys, and read none', async () => {
  const account = `--as=system:serviceaccount:${NAMESPACE}:gw-operator`
  const may = async (verb: string) => {
    const asked = cluster.kubectl(['auth', 'can-i', verb, 'secrets', '-n', 'ai', account])
    // kubectl exits with 1 if the answer is no.
    return (await asked.catch(String)).includes('yes')
  }
  assert.ok((await may('create')) && (await may('update')))
  for (const verb of ['get', 'list', 'watch', 'patch', 'delete'])
    assert.ok(!(await may(verb)), verb)
})

test('no wildcard grants a right, and the operator may read no Secret outside its own namespace', () => {
  for (const where of [
    'watched',
    'http-routes',
    'key-secrets',
    'inference-pools',
    'own',
    'webhook-own',
    'webhook-cluster',
  ] as const) {
    for (const rule of policyRules(where)) {
      const words = [...rule.apiGroups, ...rule.resources, ...rule.verbs]
      assert.ok(!words.some((word) => word.includes('*')), JSON.stringify(rule))
      const reads = rule.verbs.some((verb) => verb !== 'create' && verb !== 'update')
      assert.ok(where.endsWith('own') || !rule.resources.includes('secrets') || !reads)
    }
  }
})

test('it creates events for its decisions', async () => {
  const events = await cluster.kubectl([
    'get',
    'events',
    '-n',
    'ai',
    '-o',
    'jsonpath={range .items[*]}{.involvedObject.kind} {.reason}{"\\n"}{end}',
  ])
  for (const reason of ['ConfigAccepted', 'Programmed']) {
    assert.match(events, new RegExp(`^GatewayConfig ${reason}$`, 'm'))
  }
})
