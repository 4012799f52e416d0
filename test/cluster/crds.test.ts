/** Both resources on a real API server: the stored members, and the output of kubectl. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import { aGatewayConfig, GOOD } from '../helpers/kubernetes/broken-resources.ts'
import { refusalOf } from '../helpers/kubernetes/kubectl.ts'
import { until } from '../helpers/until.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

const EXAMPLE = join(import.meta.dirname, '../../cli/example.yaml')
const HASH = `sha256:${'c'.repeat(64)}`
const NOW = '2026-01-02T03:04:05Z'

interface Live {
  readonly metadata: { readonly generation: number }
  readonly spec: Readonly<Record<string, unknown>>
  readonly gw: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

let cluster: ControlPlane

before(async () => {
  cluster = await startControlPlane()
  await cluster.installDefinitions()
})

after(async () => await cluster?.stop())

async function apply(document: unknown, ...flags: readonly string[]): Promise<string> {
  return await cluster.kubectl(['apply', '-f', '-', ...flags], { stdin: JSON.stringify(document) })
}

/** Applies as one of several managers; each owns its fields. */
async function applyAs(manager: string, document: unknown, ...flags: string[]): Promise<string> {
  return await apply(document, '--server-side', `--field-manager=${manager}`, ...flags)
}

async function get(kind: string, name: string): Promise<Live> {
  return JSON.parse(await cluster.kubectl(['get', kind, name, '-o', 'json']))
}

async function table(...args: readonly string[]): Promise<string[][]> {
  const text = await cluster.kubectl(['get', ...args])
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
}

function aGatewayKey(name: string, spec: Readonly<Record<string, unknown>> = {}) {
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayKey',
    metadata: { name },
    spec: { gateway: 'production', tenant: 'acme', hash: HASH, routes: ['chat'], ...spec },
  }
}

function aCondition(type: string, status: string, reason: string) {
  const message = `${type} is ${status}.`
  return { type, status, reason, message, observedGeneration: 1, lastTransitionTime: NOW }
}

async function writeStatus(kind: string, name: string, status: unknown): Promise<void> {
  const patch = JSON.stringify({ status })
  const args = ['patch', kind, name, '--subresource=status', '--type=merge', '-p', patch]
  await cluster.kubectl(args)
}

test('all definitions are structural and established', async () => {
  const list = JSON.parse(await cluster.kubectl(['get', 'crd', '-o', 'json']))
  const conditions = Object.fromEntries(
    list.items.map((item: { metadata: { name: string }; status: { conditions: object[] } }) => [
      item.metadata.name,
      item.status.conditions.map(
        (one) => `${Reflect.get(one, 'type')}=${Reflect.get(one, 'status')}`,
      ),
    ]),
  )
  const healthy = ['NamesAccepted=True', 'Established=True']
  assert.deepEqual(conditions, {
    'gatewayconfigs.inference.gw': healthy,
    'gatewaykeys.inference.gw': healthy,
    'tenantpolicies.inference.gw': healthy,
  })
})

for (const [name, file] of Object.entries({ specified: GOOD, example: EXAMPLE })) {
  test(`a file for gw run applies unchanged and comes back as written: ${name}`, async () => {
    const text = readFileSync(file, 'utf8')
    // A file may omit the name; a resource needs one.
    const named = `${text}\nmetadata: { name: ${name} }\n`
    const document = parse(text).metadata === undefined ? named : text
    await cluster.kubectl(['apply', '-f', '-'], { stdin: document })
    const live = await get('gwc', parse(document).metadata.name)
    assert.deepEqual(live.gw, parse(text).gw)
    assert.deepEqual(live.spec, { replicas: 1 })
  })
}

test('both forms of every union survive, and tolerant spellings too', async () => {
  const document = aGatewayConfig('forms')
  const gw = {
    ...Object(document.gw),
    pricing: [
      { model: 'llama-3.1-8b', input: 0, output: 0.25 },
      { model: 'gpt-4o-mini', input: 1, output: 2 },
    ],
    no_proxy: ['localhost', '.svc'],
    tls: { min_version: 1.2 },
  }
  gw.upstreams[1].provider = 'Azure-OpenAI'
  gw.upstreams[1].tls = { min_version: 'TLSv1.3' }
  gw.routes[1].upstreams = ['local', { name: 'hosted', weight: 10 }]
  await apply({ ...document, gw })
  assert.deepEqual((await get('gwc', 'forms')).gw, gw)
})

test('every text field accepts a reference', async () => {
  const document = aGatewayConfig('references')
  const gw = Object(document.gw)
  gw.upstreams[0].provider = '${env:PROVIDER}'
  gw.routes[0].name = '${env:ROUTE}'
  gw.routes[0].strategy = '${env:STRATEGY}'
  gw.api_keys[0].hash = '${env:HASH}'
  gw.api_keys[0].expires_at = '${env:EXPIRES}'
  await apply(document)
  assert.deepEqual((await get('gwc', 'references')).gw, gw)
})

test('an edit of gw or spec raises the generation; a status does not', async () => {
  const document = aGatewayConfig('generations')
  await apply(document)
  const conditions = [aCondition('Ready', 'True', 'Ready')]
  const status = { address: 'http://generations.default.svc', conditions, readyReplicas: 1 }
  await writeStatus('gwc', 'generations', status)
  const first = await get('gwc', 'generations')
  assert.equal(first.metadata.generation, 1)
  assert.deepEqual(first.status, status)
  await apply({ ...document, status: { address: 'made up' }, spec: { replicas: 2 } })
  const second = await get('gwc', 'generations')
  assert.equal(second.metadata.generation, 2)
  assert.deepEqual(second.status, status)
  Object(document.gw).aliases = {}
  await apply({ ...document, spec: { replicas: 2 } })
  assert.equal((await get('gwc', 'generations')).metadata.generation, 3)
})

test('kubectl scale works, also without replicas in the resource', async () => {
  await apply(aGatewayConfig('scaled'))
  await writeStatus('gwc', 'scaled', { replicas: 1, selector: 'gateway=scaled' })
  await cluster.kubectl(['scale', 'gwc/scaled', '--current-replicas=1', '--replicas=3'])
  assert.deepEqual((await get('gwc', 'scaled')).spec, { replicas: 3 })
  const path = '/apis/inference.gw/v1/namespaces/default/gatewayconfigs/scaled/scale'
  const scale = JSON.parse(await cluster.kubectl(['get', '--raw', path]))
  assert.deepEqual(scale.status, { replicas: 1, selector: 'gateway=scaled' })
})

test('kubectl get shows whether a gateway works', async () => {
  await apply(aGatewayConfig('shown'))
  await writeStatus('gwc', 'shown', {
    conditions: [
      aCondition('Programmed', 'False', 'Rejected'),
      aCondition('Ready', 'False', 'Rejected'),
      aCondition('Degraded', 'True', 'UsingLastKnownGood'),
    ],
    readyReplicas: 2,
    address: 'http://shown.default.svc',
    activeHash: 'abc',
  })
  const [head = [], row = []] = await table('gwc', 'shown')
  assert.deepEqual(head, [
    'NAME',
    'READY',
    'REASON',
    'PROGRAMMED',
    'DEGRADED',
    'REPLICAS',
    'ADDRESS',
    'AGE',
  ])
  assert.deepEqual(row.slice(0, -1), [
    'shown',
    'False',
    'Rejected',
    'False',
    'True',
    '2',
    'http://shown.default.svc',
  ])
  const [wide = []] = await table('gwc', 'shown', '-o', 'wide')
  assert.deepEqual(wide.slice(-2), ['HASH', 'MESSAGE'])
  const listed = await cluster.kubectl(['get', 'inference-gateway'])
  assert.match(listed, /gatewayconfig.inference.gw\/shown/)
  for (const taken of ['gateway', 'gw']) {
    await assert.rejects(cluster.kubectl(['get', taken]), /doesn't have a resource type/)
  }
})

test('kubectl wait and kubectl explain understand the resource', async () => {
  await apply(aGatewayConfig('waited'))
  await writeStatus('gwc', 'waited', {
    conditions: [aCondition('Programmed', 'True', 'Programmed')],
  })
  await cluster.kubectl(['wait', '--for=condition=Programmed', 'gwc/waited', '--timeout=120s'])
  const explained = await cluster.kubectl(['explain', 'gwc.gw.gateway.sse.heartbeat_seconds'])
  assert.match(explained, /Default: 15\./)
  assert.match(await cluster.kubectl(['explain', 'gwc.spec.drainTimeoutSeconds']), /<integer>/)
})

test("two managers own different routes, and neither can change the other's field unnoticed", async () => {
  const whole = aGatewayConfig('merged')
  const head = { apiVersion: whole.apiVersion, kind: whole.kind, metadata: whole.metadata }
  await applyAs('platform', whole)
  const route = { name: 'extra', strategy: 'single', primary: 'local' }
  await applyAs('team', { ...head, gw: { routes: [route] } })
  const names = Object((await get('gwc', 'merged')).gw).routes.map(
    (one: { name: string }) => one.name,
  )
  assert.deepEqual(names.toSorted(), ['batch', 'chat', 'extra', 'split', 'spread'])
  const taken = { routes: [route, { name: 'batch', strategy: 'round_robin' }] }
  assert.match(await refusalOf(applyAs('team', { ...head, gw: taken })), /conflict with "platform"/)
})

test('conditions of several managers merge by type', async () => {
  await apply(aGatewayConfig('conditions'))
  const head = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name: 'conditions' },
  }
  for (const type of ['Accepted', 'Ready']) {
    const status = { conditions: [aCondition(type, 'True', type)] }
    await applyAs(`writer-of-${type}`, { ...head, status }, '--subresource=status')
  }
  const { conditions } = Object((await get('gwc', 'conditions')).status)
  assert.deepEqual(conditions.map((one: { type: string }) => one.type).sort(), [
    'Accepted',
    'Ready',
  ])
})

test('the API server refuses a condition without a reason', async () => {
  await apply(aGatewayConfig('reasons'))
  const status = { conditions: [{ ...aCondition('Ready', 'True', 'Ready'), reason: '' }] }
  assert.match(await refusalOf(writeStatus('gwc', 'reasons', status)), /conditions\[0\].reason/)
})

test('kubectl get shows a key in one row, without its hash', async () => {
  const ends = { expiresAt: '2027-01-31T00:00:00Z' }
  await apply(aGatewayKey('robot', { scopes: ['models:list'], tags: { team: 'blue' }, ...ends }))
  await writeStatus('gwk', 'robot', {
    state: 'ACTIVE',
    conditions: [aCondition('Accepted', 'True', 'Accepted'), aCondition('Ready', 'True', 'Ready')],
  })
  const [head = [], row = []] = await table('gwk', 'robot')
  const columns = ['NAME', 'READY', 'REASON', 'STATE', 'GATEWAY', 'TENANT', 'EXPIRES', 'AGE']
  assert.deepEqual(head, columns)
  assert.deepEqual(row.slice(0, 7), [
    'robot',
    'True',
    'Ready',
    'ACTIVE',
    'production',
    'acme',
    '2027-01-31T00:00:00Z',
  ])
})

const KEY_MISTAKES: Readonly<
  Record<string, [spec: Readonly<Record<string, unknown>>, says: RegExp]>
> = {
  'hash of another form': [{ hash: 'sha256:abc' }, /spec.hash/],
  'reference instead of a hash': [{ hash: '${env:HASH}' }, /spec.hash/],
  'tag that no row may hold': [{ tags: { team: 'a=b' } }, /spec.tags.team/],
  'nine tags': [
    { tags: Object.fromEntries([...'abcdefghi'].map((name) => [name, 'x'])) },
    /spec.tags.*at most 8/,
  ],
  'no gateway': [{ gateway: undefined }, /spec.gateway: Required/],
  'gateway that is a path': [{ gateway: 'a/b/c' }, /spec.gateway/],
  'no routes': [{ routes: [] }, /spec.routes/],
  'all routes and one': [{ routes: ['*', 'chat'] }, /"\*" means all/],
  'no scope': [{ scopes: [] }, /spec.scopes/],
  'unknown scope': [{ scopes: ['admin'] }, /spec.scopes\[0\]/],
  'whole key as prefix': [{ prefix: `gw_live_x_${'A'.repeat(49)}` }, /whole key/],
  'expiry that is no time': [{ expiresAt: 'tomorrow' }, /spec.expiresAt/],
  'revocation without a time': [{ revoked: { reason: 'lost' } }, /spec.revoked.at: Required/],
  'unknown field': [{ expires_at: NOW }, /unknown field "spec.expires_at"/],
  'the key itself': [{ key: 'gw_live_x' }, /unknown field "spec.key"/],
}

for (const [name, [spec, says]] of Object.entries(KEY_MISTAKES)) {
  test(`the API server refuses the mistake in a key and names the field: ${name}`, async () => {
    assert.match(await refusalOf(apply(aGatewayKey('mistaken', spec))), says)
  })
}

test('a key keeps its identity, and a revoked key stays revoked', async () => {
  await apply(aGatewayKey('revoked'))
  const other = aGatewayKey('revoked', { hash: `sha256:${'d'.repeat(64)}` })
  assert.match(await refusalOf(apply(other)), /cannot become another one/)
  await apply(aGatewayKey('revoked', { revoked: { at: NOW, reason: 'lost' } }))
  assert.match(await refusalOf(apply(aGatewayKey('revoked'))), /stays revoked/)
})

test('a service account has exactly the rights of its rules', async () => {
  const rules = [
    { apiGroups: ['inference.gw'], resources: ['gatewaykeys'], verbs: ['get', 'list'] },
  ]
  const kubeconfig = await cluster.serviceAccount({ namespace: 'team', name: 'reader', rules })
  assert.equal(await cluster.kubectl(['get', 'gwk', '-n', 'team'], { kubeconfig }), '')
  const refused = await refusalOf(cluster.kubectl(['get', 'gwc', '-n', 'team'], { kubeconfig }))
  assert.match(refused, /system:serviceaccount:team:reader.*cannot list/)
  const outsider = await cluster.user('jane', ['team-readers'])
  const said = await refusalOf(cluster.kubectl(['get', 'gwk'], { kubeconfig: outsider }))
  assert.match(said, /User "jane" cannot list/)
})

test("garbage collection deletes a deleted gateway's objects, and no others", async () => {
  await apply(aGatewayConfig('owner'))
  const uid = await cluster.kubectl(['get', 'gwc', 'owner', '-o', 'jsonpath={.metadata.uid}'])
  const owner = { apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', name: 'owner', uid }
  const owned = { name: 'owned', ownerReferences: [owner] }
  await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: owned })
  await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'free' } })
  await cluster.kubectl(['delete', 'gwc', 'owner'])
  const left = () => cluster.kubectl(['get', 'configmap', '-o', 'name'])
  await until(
    'the owned object no longer exists',
    async () => !(await left()).includes('/owned'),
    60,
  )
  assert.match(await left(), /configmap\/free/)
})
