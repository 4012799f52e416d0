/** Gateways on clusters with more than Kubernetes: routes of the Gateway API, and users that OpenShift assigns. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { FRONTS } from '../../cli/expose/fronts.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { gw } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'
import type { ControlPlane } from './control-plane.ts'
import { conditionIn, statusOf, untilCondition } from './operator-process.ts'
import { aGateway } from './operator-rig.ts'
import { type OperatorWithin, startOperatorWithin } from './operator-within.ts'

const route = {
  parentRefs: [{ name: 'public', namespace: 'edge', sectionName: 'https' }],
  hostnames: ['models.example.com'],
}
const ROUTE = '/apis/gateway.networking.k8s.io/v1/namespaces/ai/httproutes/production'
const DEPLOYMENT = '/apis/apps/v1/namespaces/ai/deployments/production'

let cluster: ControlPlane
let within: OperatorWithin

before(async () => {
  within = await startOperatorWithin({ mayRoute: true, timings: { discoveryMs: 500 } })
  cluster = within.cluster
})

after(() => within?.stop())

async function apply(document: object): Promise<void> {
  const stdin = JSON.stringify(document)
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin })
}

async function tryOut(stdin: string): Promise<void> {
  await cluster.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], { stdin })
}

/** The status that the controller of a Gateway would write. */
async function answer(status: 'True' | 'False', reason: string): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+/, '')
  const parents = [
    {
      parentRef: { group: 'gateway.networking.k8s.io', kind: 'Gateway', ...route.parentRefs[0] },
      controllerName: 'example.com/test',
      conditions: [
        {
          type: 'Accepted',
          status,
          reason,
          message: `It is ${reason}.`,
          observedGeneration: valueBelow(await cluster.read(ROUTE), 'metadata', 'generation'),
          lastTransitionTime: now,
        },
      ],
    },
  ]
  const patch = JSON.stringify({ status: { parents } })
  const what = ['httproute', 'production', '-n', 'ai', '--subresource=status', '--type=merge']
  await cluster.kubectl(['patch', ...what, '-p', patch])
}

test('before any operator has read it, a gateway waits', async () => {
  const alone = { ...aGateway(), metadata: { name: 'elsewhere', namespace: 'kube-public' } }
  const text = await cluster.kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], {
    stdin: JSON.stringify(alone),
  })
  const [condition] = JSON.parse(text).status.conditions
  assert.deepEqual(
    [condition.type, condition.status, condition.reason],
    ['Ready', 'Unknown', 'Pending'],
  )
})

test('the operator creates a route when the kind appears, and keeps it unchanged', async () => {
  await apply(aGateway({ spec: { route } }))
  await untilCondition(cluster, 'production', ['Exposed', 'False', 'NotServed'])
  await cluster.installTypes('gateway-api')
  await untilCondition(cluster, 'production', ['Exposed', 'Unknown', 'Pending'])
  const made = await cluster.read(ROUTE)
  const rules = valueBelow(made, 'spec', 'rules')
  assert.ok(Array.isArray(rules))
  assert.deepEqual(rules[0].timeouts, { request: '0s', backendRequest: '0s' })
  assert.equal(valueBelow(made, 'metadata', 'generation'), 1)
})

test('the API server accepts the output of gw expose for each front, with the types of those projects', async () => {
  await cluster.installTypes('fronts')
  for (const front of FRONTS) {
    const { code, stdout, stderr } = await gw('expose', '--for', front)
    assert.equal(code, 0, stderr)
    await tryOut(stdout)
    // A type that accepts any field would check nothing.
    for (const document of parseAllDocuments(stdout)) {
      const manifest = document.toJS()
      const wrong = { ...manifest, spec: { ...manifest.spec, noSuchField: 1 } }
      const unknown = /unknown field "spec\.noSuchField"/
      await assert.rejects(tryOut(JSON.stringify(wrong)), unknown, `${front}: ${manifest.kind}`)
    }
  }
})

test('the API server accepts the certificate of our page, with the types of cert-manager', async () => {
  await cluster.installTypes('certificates')
  const page = join(import.meta.dirname, '../../charts/gw/docs/platforms.md')
  const blocks = [...readFileSync(page, 'utf8').matchAll(/```yaml\n(.*?)```/gs)]
  const certificates = blocks.filter(([, text = '']) => /^kind: Certificate$/m.test(text))
  assert.equal(certificates.length, 1)
  for (const [, text = ''] of certificates) await tryOut(text)
})

test('the condition follows the controller of the Gateway, and so does the address', async () => {
  await answer('False', 'NotAllowedByListeners')
  await untilCondition(cluster, 'production', ['Exposed', 'False', 'NotAllowedByListeners'])
  await answer('True', 'Accepted')
  const status = await untilCondition(cluster, 'production', ['Exposed', 'True'])
  assert.equal(status.address, 'https://models.example.com')
})

test("the operator reverts a user's change to a route", async () => {
  const patch = JSON.stringify({ spec: { hostnames: ['other.example.com'] } })
  await cluster.kubectl([
    'patch',
    'httproute',
    'production',
    '-n',
    'ai',
    '--type=merge',
    '-p',
    patch,
  ])
  await until('the host name is restored', async () => {
    const names = valueBelow(await cluster.read(ROUTE), 'spec', 'hostnames')
    return JSON.stringify(names) === JSON.stringify(route.hostnames)
  })
})

test('without spec.route the route disappears; a route of another owner is a conflict and stays', async () => {
  await apply(aGateway())
  await cluster.kubectl([
    'wait',
    '--for=delete',
    'httproute/production',
    '-n',
    'ai',
    '--timeout=120s',
  ])
  await until('the condition is gone', async () => {
    return conditionIn(await statusOf(cluster, 'production'), 'Exposed') === undefined
  })
  const foreign = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: 'production', namespace: 'ai' },
    spec: { hostnames: ['foreign.example.com'] },
  }
  await apply(foreign)
  await apply(aGateway({ spec: { route } }))
  await untilCondition(cluster, 'production', ['Exposed', 'False', 'Conflict'])
  const names = valueBelow(await cluster.read(ROUTE), 'spec', 'hostnames')
  assert.deepEqual(names, ['foreign.example.com'])
})

test('an internal Service has a port for metrics', async () => {
  await apply(aGateway())
  const path = '/api/v1/namespaces/ai/services/production'
  await until('the Service is there', async () => (await cluster.read(path)) !== undefined)
  const ports = valueBelow(await cluster.read(path), 'spec', 'ports')
  assert.ok(Array.isArray(ports))
  assert.deepEqual(
    ports.map(({ name }) => name),
    ['http', 'metrics'],
  )
})

test('where the cluster assigns users, pods name no user', async () => {
  assert.match(JSON.stringify(await cluster.read(DEPLOYMENT)), /"runAsUser"/)
  await apply({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'securitycontextconstraints.security.openshift.io' },
    spec: {
      group: 'security.openshift.io',
      names: {
        kind: 'SecurityContextConstraints',
        plural: 'securitycontextconstraints',
        singular: 'securitycontextconstraints',
      },
      scope: 'Cluster',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  })
  await until('the pods name no user', async () => {
    return !/"(runAsUser|runAsGroup|fsGroup)"/.test(JSON.stringify(await cluster.read(DEPLOYMENT)))
  })
})
