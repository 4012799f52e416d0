/** Objects of a gateway that another client changed, or that the API server refuses. */

import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { hashOf } from '../../dataplane/delivery/signed.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { compile } from '../../operator/compile/compile.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { WorkloadReconciler } from '../../operator/reconcilers/workload.ts'
import { childrenOf } from '../../operator/workload/children.ts'
import { editorsOf, showEdit } from '../../operator/workload/editors.ts'
import type { WorkloadSettings } from '../../operator/workload/settings.ts'
import { World } from '../../operator/world.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { refuses, type ScriptedApi, startScriptedApi } from './scripted-api.ts'

interface Asked {
  readonly what: string
  readonly body: unknown
}

let api: ScriptedApi
let asked: Asked[]
/** The refused objects, by the end of their path. */
let refused: string | undefined
/** The answer to a write, if it differs from the sent object. */
let answer: (body: unknown) => unknown
/** The Service, if a test needs one. */
let found: KubeObject | undefined

beforeEach(async () => {
  api = await startScriptedApi()
  asked = []
  refused = undefined
  answer = (body) => body
  found = undefined
  api.outage = (request, response) => {
    void answered(request).then((body) => {
      if (request.method === 'GET') {
        if (found === undefined || !request.url?.endsWith('/services/production')) {
          return refuses(404, 'NotFound')(request, response)
        }
        response.end(JSON.stringify(found))
        return undefined
      }
      if (refused !== undefined && request.url?.includes(refused)) {
        return refuses(422, 'Invalid')(request, response)
      }
      response.end(JSON.stringify(answer(body)))
      return undefined
    })
  }
})

afterEach(() => api.stop())

/** Keeps written objects; the answer to a write is the sent object. */
async function answered(request: IncomingMessage): Promise<unknown> {
  const said = await text(request)
  const body: unknown = said === '' ? undefined : JSON.parse(said)
  const { method = '', url = '', headers } = request
  const kind = headers['content-type']?.includes('merge') ? 'merge' : method
  const name = url.split('?')[0]?.split('/').slice(-2).join('/') ?? ''
  if (method !== 'GET') asked.push({ what: `${kind} ${name}`, body })
  return body
}

function settingsOf(gateway: KubeObject): WorkloadSettings {
  const { configuration } = compile({ gateway, keys: [], now: 0 })
  assert.ok(configuration)
  const release = { image: 'gw:1', version: '1', operatorNamespace: 'gw-system' }
  const spec = WorkloadSpec.parse(gateway.spec ?? {})
  return { gateway, spec, needs: configuration.needs, drainSeconds: 30, release }
}

function reconcilerOf(...live: readonly KubeObject[]): WorkloadReconciler {
  const client = api.client()
  const world = new World({ api: client, namespaces: [], random: () => 0.5 })
  for (const object of live) world.stores.services.put(object)
  return new WorkloadReconciler({ api: client, world, rolloutsMax: 1 })
}

function serviceAt(settings: WorkloadSettings, port: number): KubeObject {
  const child = childrenOf(settings, {}, undefined).find(
    ({ resource }) => resource.kind === 'Service',
  )
  assert.ok(child?.desired)
  const { spec, ...rest } = child.desired
  assert.ok(isRecord(spec))
  const metrics = { name: 'metrics', port: 9090, targetPort: 'metrics', protocol: 'TCP' }
  const ports = [{ name: 'http', port, targetPort: 'http', protocol: 'TCP' }, metrics]
  return { ...rest, spec: { ...spec, ports } }
}

const names = () => asked.map(({ what }) => what)

test('a port that another client wrote over ours is replaced before ours is applied', async () => {
  const settings = settingsOf(aGateway())
  await reconcilerOf(serviceAt(settings, 81)).reconcile(settings, {})
  const services = asked.filter(({ what }) => what.includes('services/'))
  assert.deepEqual(
    services.map(({ what }) => what),
    ['merge services/production', 'PATCH services/production'],
  )
  const { metadata: own, spec: wanted } = serviceAt(settings, 80)
  const ports = valueBelow(wanted, 'ports')
  const spec = { ports, selector: { 'inference.gw/gateway': 'production' } }
  const { labels } = own
  const metadata = { name: 'production', namespace: 'ai', labels }
  assert.deepEqual(services[0]?.body, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec,
  })
})

test('a reverted hand edit is reported with the name of its manager', async () => {
  const settings = settingsOf(aGateway())
  const desired = childrenOf(settings, {}, undefined).find(
    ({ resource }) => resource.kind === 'Service',
  )?.desired
  assert.ok(desired)
  const edited = serviceAt(settings, 81)
  const annotations = { 'inference.gw/applied-hash': hashOf(desired) }
  const managedFields = [
    { manager: 'gw-operator', time: '2026-06-01T10:00:00Z' },
    { manager: 'kubectl-edit', time: '2026-06-01T11:00:00Z' },
  ]
  const live = { ...edited, metadata: { ...edited.metadata, annotations, resourceVersion: '5' } }
  const metadata: object = { ...live.metadata, managedFields }
  found = { ...live, metadata } as KubeObject
  const client = api.client()
  const world = new World({ api: client, namespaces: [], random: () => 0.5 })
  world.stores.services.put(live)
  const edits: string[] = []
  const reconciler = new WorkloadReconciler({
    api: client,
    world,
    rolloutsMax: 1,
    onEdit: (_gateway, edit) => edits.push(showEdit(edit)),
  })
  await reconciler.reconcile(settings, {})
  assert.deepEqual(edits, [
    'Service production was changed by kubectl-edit, and is reverted. Change the GatewayConfig instead.',
  ])
})

test('an apply that changes nothing is not a hand edit', async () => {
  const settings = settingsOf(aGateway())
  const desired = childrenOf(settings, {}, undefined).find(
    ({ resource }) => resource.kind === 'Service',
  )?.desired
  assert.ok(desired)
  // The watch does not have it yet.
  const annotations = { 'inference.gw/applied-hash': hashOf(desired) }
  found = { ...desired, metadata: { ...desired.metadata, annotations } }
  const client = api.client()
  const world = new World({ api: client, namespaces: [], random: () => 0.5 })
  const edits: string[] = []
  const reconciler = new WorkloadReconciler({
    api: client,
    world,
    rolloutsMax: 1,
    onEdit: (_gateway, edit) => edits.push(showEdit(edit)),
  })
  await reconciler.reconcile(settings, {})
  assert.deepEqual(edits, [])
})

test('an object from a list, whose items have no kind, is not written again', async () => {
  const settings = settingsOf(aGateway())
  const desired = childrenOf(settings, {}, undefined).find(
    ({ resource }) => resource.kind === 'Service',
  )?.desired
  assert.ok(desired)
  const { apiVersion: _, kind: __, ...item } = desired
  const annotations = { 'inference.gw/applied-hash': hashOf(desired) }
  const listed = { ...item, metadata: { ...item.metadata, annotations } }
  await reconcilerOf(listed).reconcile(settings, {})
  assert.ok(!names().some((what) => what.endsWith('services/production')))
})

test('the editors of an object are those that wrote it after the operator, without its status', () => {
  const at = (manager: string, minute: number, subresource?: string) => ({
    manager,
    time: `2026-06-01T10:${minute}:00Z`,
    ...(subresource && { subresource }),
  })
  // The API server records no time of a write to this subresource.
  const scaled = { manager: 'kubectl', subresource: 'scale' }
  const managedFields = [
    at('kubectl-create', 10),
    at('gw-operator', 20),
    at('gw-operator-replicas', 30),
    at('kube-controller-manager', 40, 'status'),
    at('kubectl-set', 30),
    scaled,
  ]
  const metadata: object = { name: 'production', managedFields }
  const of = (replicas: number, wanted?: number) =>
    editorsOf({ metadata, spec: { replicas } } as KubeObject, { spec: { replicas: wanted } })
  assert.deepEqual(of(4, 2), ['kubectl', 'kubectl-set'])
  assert.deepEqual(of(2, 2), ['kubectl-set'])
  assert.deepEqual(of(4), ['kubectl-set'])
  assert.match(
    showEdit({ kind: 'Service', name: 's', managers: [] }),
    /changed by hand, and is reverted/,
  )
})

test('a Service that no other client touched is applied at once', async () => {
  const settings = settingsOf(aGateway())
  await reconcilerOf(serviceAt(settings, 80)).reconcile(settings, {})
  assert.ok(!names().some((what) => what.startsWith('merge')))
})

test('a refused object does not stop others, and is reported', async () => {
  refused = '/services/'
  const settings = settingsOf(aGateway())
  await assert.rejects(reconcilerOf().reconcile(settings, {}), /services\/production: 422/)
  assert.ok(names().includes('PATCH deployments/production'))
  assert.ok(names().includes('PATCH poddisruptionbudgets/production'))
})

test('a route of another owner does not change, and everything else is applied', async () => {
  const parentRefs = [{ name: 'public' }]
  const settings = {
    ...settingsOf(aGateway({ spec: { route: { parentRefs } } })),
    platform: { assignsUsers: false, hasHttpRoutes: true },
  }
  const client = api.client()
  const world = new World({ api: client, namespaces: [], random: () => 0.5 })
  const metadata = { name: 'production', namespace: 'ai', uid: 'foreign' }
  world.stores.httpRoutes.put({ metadata })
  const reconciler = new WorkloadReconciler({ api: client, world, rolloutsMax: 1 })
  const outcome = await reconciler.reconcile(settings, {})
  assert.ok(outcome.kind === 'applied' && outcome.routeConflict?.startsWith('HTTPRoute production'))
  assert.ok(names().includes('PATCH deployments/production'))
  assert.ok(!names().some((what) => what.includes('httproutes')))
  await reconciler.reconcile({ ...settings, spec: WorkloadSpec.parse({}) }, {})
  assert.ok(!names().some((what) => what.includes('httproutes')))
})

test('a Deployment is the result of the apply until the watch has it', async () => {
  const settings = settingsOf(aGateway())
  const [client, namespace] = [api.client(), 'ai']
  const world = new World({ api: client, namespaces: [], random: () => 0.5 })
  const reconciler = new WorkloadReconciler({ api: client, world, rolloutsMax: 1 })
  const own = childrenOf(settings, {}, undefined).find(({ name, resource }) => {
    return name === 'production' && resource.kind === 'Deployment'
  })?.desired
  assert.ok(own)
  const at = (resourceVersion: string, generation: number) => ({
    ...own,
    metadata: { ...own.metadata, namespace, uid: 'd', resourceVersion, generation },
  })
  world.stores.deployments.put(at('7', 1))
  answer = (body) => (isRecord(body) && body.kind === 'Deployment' ? at('9', 2) : body)
  await reconciler.reconcile(settings, {})
  const generation = () => reconciler.liveOf(settings.gateway).deployment?.metadata.generation
  assert.equal(generation(), 2)
  world.stores.deployments.put(at('8', 1))
  assert.equal(generation(), 2)
  world.stores.deployments.put(at('10', 3))
  assert.equal(generation(), 3)
})
