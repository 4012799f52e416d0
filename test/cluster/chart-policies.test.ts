/**
 * Tests the chart's admission policies on a real API server: the mounts and images of authors, and the operator's
 * writes.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CHART, runHelm } from '../helpers/kubernetes/chart.ts'
import { refusalOf } from '../helpers/kubernetes/kubectl.ts'
import { until } from '../helpers/until.ts'
import { type ControlPlane, startControlPlane, untilEstablished } from './control-plane.ts'
import { aGateway } from './operator-rig.ts'

const NAMESPACE = 'gw-system'
const OPERATOR = `system:serviceaccount:${NAMESPACE}:gw`
const POLICIES = [
  'secrets',
  'operator',
  'operator-secrets',
  'operator-pods',
  'workloads',
  'types',
  'releases',
].map((name) => `gw-system-gw-${name}`)

let cluster: ControlPlane
/** May write GatewayConfigs in one namespace, and read one Secret there. */
let author: string

before(async () => {
  cluster = await startControlPlane()
  for (const name of [NAMESPACE, 'ai', 'team-a']) {
    await cluster.kubectl(['create', 'namespace', name])
  }
  const values = [
    'policy.allowedImages={registry.example/gw:*,localhost/gw:1}',
    'policy.allowedPodAnnotations={example.org/*}',
    'keys.generate=true',
  ].flatMap((one) => ['--set', one])
  const { status, stderr } = await runHelm(
    'helm',
    ['install', 'gw', CHART, ...values, `--namespace=${NAMESPACE}`],
    { KUBECONFIG: cluster.kubeconfig },
  )
  assert.equal(status, 0, stderr)
  await untilEstablished(cluster.kubectl)
  const verbs = ['get', 'create', 'update', 'patch']
  const rules = [
    { apiGroups: ['inference.gw'], resources: ['gatewayconfigs'], verbs },
    { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'], verbs: ['get'] },
  ]
  author = await cluster.serviceAccount({ namespace: 'ai', name: 'author', rules })
  const probes = [
    () => write(naming('probe', 'theirs'), author),
    () =>
      asOperator({ ...aConfigMap('probe-config'), metadata: { name: 'probe', namespace: 'ai' } }),
    () => write(running('probe', { image: 'other:1' })),
  ]
  for (const probe of probes) {
    await until(
      'the policy is active',
      async () => (await probe().then(() => '', String)) !== '',
      120,
    )
  }
})

after(() => cluster?.stop())

async function write(object: object, kubeconfig?: string): Promise<string> {
  const args = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-']
  const stdin = JSON.stringify(object)
  return await cluster.kubectl(args, { stdin, ...(kubeconfig !== undefined && { kubeconfig }) })
}

async function store(object: object): Promise<void> {
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: JSON.stringify(object) })
}

async function asOperator(object: object): Promise<string> {
  const args = [
    'apply',
    '--server-side',
    '--field-manager=gw-operator',
    '--force-conflicts',
    '-f',
    '-',
  ]
  return await cluster.kubectl([...args, `--as=${OPERATOR}`], { stdin: JSON.stringify(object) })
}

function running(name: string, spec: object) {
  const gateway = aGateway({ spec: { ...spec } })
  return { ...gateway, metadata: { name, namespace: 'ai' } }
}

function naming(name: string, secret: string, namespace = 'ai') {
  const upstream = {
    name: 'u',
    provider: 'openai',
    model: 'm',
    api_key: `\${secret:${secret}/key}`,
  }
  const routes = [{ name: 'chat', strategy: 'single', upstreams: ['u'] }]
  return { ...aGateway({ gw: { upstreams: [upstream], routes } }), metadata: { name, namespace } }
}

const uid = '00000000-0000-4000-8000-000000000001'
function owned(name: string, gateway = 'production', owner = uid) {
  const reference = { kind: 'GatewayConfig', name: gateway, uid: owner, controller: true }
  return {
    name,
    namespace: 'ai',
    labels: { 'app.kubernetes.io/managed-by': 'gw-operator', 'inference.gw/gateway': gateway },
    ownerReferences: [{ apiVersion: 'inference.gw/v1', ...reference }],
  }
}

function aConfigMap(name: string, metadata: object = owned(name)) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'b' } }
}

test('the API server accepts every expression of the policies', async () => {
  for (const name of POLICIES) {
    const policy = `validatingadmissionpolicy/${name}`
    await cluster.kubectl([
      'wait',
      '--for=jsonpath={.status.observedGeneration}=1',
      policy,
      '--timeout=180s',
    ])
    const { status } = JSON.parse(await cluster.kubectl(['get', policy, '-o', 'json']))
    assert.deepEqual(status.typeChecking?.expressionWarnings ?? [], [], name)
  }
})

test('an author may write fields within their rights, and no file of a pod anywhere in the document', async () => {
  await write(naming('own', 'mine'), author)
  assert.match(await refusalOf(write(naming('own', 'mine', 'team-a'), author)), /forbidden/i)
  const path = '${file:/var/run/secrets/gw/theirs/key}'
  const untyped = aGateway({ gw: { no_proxy: `a,${path}` } })
  assert.match(await refusalOf(write(untyped, author)), /is not read in a cluster/)
  assert.match(
    await refusalOf(write(aGateway({ gw: { no_proxy: [path] } }))),
    /is not read in a cluster/,
  )
})

test("an author without rights to a gateway's Secrets may not edit the gateway, even to remove the references", async () => {
  await store(naming('shared', 'theirs'))
  assert.match(
    await refusalOf(write(naming('shared', 'mine'), author)),
    /may not get the Secret "theirs"/,
  )
  const withEnv = running('with-env', { envFrom: [{ secretRef: { name: 'theirs' } }] })
  await store(withEnv)
  const without = running('with-env', { image: 'localhost/gw:1' })
  assert.match(await refusalOf(write(without, author)), /may not get the Secret "theirs"/)
  await store(naming('owned', 'mine'))
  await write(running('owned', { replicas: 2 }), author)
})

test('only the images and pod annotations that the release allows are accepted', async () => {
  await write(running('a', { image: 'registry.example/gw:2' }))
  await write(
    running('a', { image: 'localhost/gw:1', podAnnotations: { 'example.org/team': 'a' } }),
  )
  assert.match(
    await refusalOf(write(running('a', { image: 'localhost/gw:12' }))),
    /"localhost\/gw:12" is not allowed/,
  )
  const injected = running('a', { podAnnotations: { 'vault.example/inject': 'true' } })
  assert.match(await refusalOf(write(injected)), /podAnnotations may hold only/)
})

test('the operator may write the objects of a GatewayConfig, under their fixed names', async () => {
  await asOperator(aConfigMap('production-config'))
  await asOperator({ ...aConfigMap('production-config'), data: { a: 'c' } })
  await asOperator(aConfigMap('production-endpoints', owned('production-endpoints')))
  const cases: Readonly<Record<string, object>> = {
    'without an owner': { name: 'production-config', namespace: 'ai' },
    'of another name': owned('kube-root-ca.crt'),
    'of another gateway': owned('production-lkg', 'other'),
    'without labels': { ...owned('production-lkg'), labels: {} },
  }
  for (const [what, metadata] of Object.entries(cases)) {
    assert.match(
      await refusalOf(asOperator(aConfigMap('', metadata))),
      /denied request|forbidden/,
      what,
    )
  }
})

test('the operator may not take over or change the objects of others', async () => {
  await store({ ...aConfigMap('team-config', { name: 'team-config', namespace: 'ai' }) })
  const taken = asOperator(aConfigMap('team-config', owned('team-config', 'team')))
  assert.match(await refusalOf(taken), /belong to a GatewayConfig/)
  const other = aConfigMap('one-config', owned('one-config', 'one', uid.replace('1', '2')))
  const replace = ['replace', '-f', '-', `--as=${OPERATOR}`]
  let answer = ''
  // Its owner does not exist, so garbage collection may delete it before the test replaces it.
  await until('the object to replace exists', async () => {
    await store(aConfigMap('one-config', owned('one-config', 'one')))
    answer = await refusalOf(cluster.kubectl(replace, { stdin: JSON.stringify(other) }))
    return !answer.includes('NotFound')
  })
  assert.match(answer, /of one GatewayConfig to no other/)
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'theirs', namespace: 'ai' },
    spec: { maxUnavailable: 1, selector: { matchLabels: { a: 'b' } } },
  }
  await store(budget)
  const remove = ['delete', 'pdb', 'theirs', '-n', 'ai', `--as=${OPERATOR}`]
  assert.match(await refusalOf(cluster.kubectl(remove)), /belong to a GatewayConfig/)
})

test('among Secrets the operator may write only those of generated keys', async () => {
  const metadata = (name: string, key: string, owner = uid) => ({
    ...owned(name),
    ownerReferences: [
      {
        apiVersion: 'inference.gw/v1',
        kind: 'GatewayKey',
        name: key,
        uid: owner,
        controller: true,
      },
    ],
  })
  const secret = (meta: object) => ({ apiVersion: 'v1', kind: 'Secret', metadata: meta })
  const create = async (meta: object) => {
    const args = ['create', '--dry-run=server', '-f', '-', `--as=${OPERATOR}`]
    return await cluster.kubectl(args, { stdin: JSON.stringify(secret(meta)) })
  }
  await until('the policy is active', async () =>
    /gw-key-NAME/.test(await create({ name: 'x', namespace: 'ai' }).then(() => '', String)),
  )
  await create(metadata('gw-key-a', 'a'))
  const refused = {
    'of another name': metadata('a', 'a'),
    'of another key': metadata('gw-key-a', 'b'),
    'without an owner': { name: 'gw-key-a', namespace: 'ai' },
  }
  for (const [what, meta] of Object.entries(refused))
    assert.match(await refusalOf(create(meta)), /only the Secrets gw-key-NAME/, what)
  await store(secret({ name: 'gw-key-theirs', namespace: 'ai' }))
  const replace = cluster.kubectl(['replace', '-f', '-', `--as=${OPERATOR}`], {
    stdin: JSON.stringify(secret(metadata('gw-key-theirs', 'theirs'))),
  })
  assert.match(await refusalOf(replace), /belongs to another owner/)
  const remove = ['delete', 'secret', 'gw-key-theirs', '-n', 'ai', `--as=${OPERATOR}`]
  assert.match(await refusalOf(cluster.kubectl(remove)), /forbidden/i)
})

test("the operator's pods have no token, no access to the node, and no privileges", async () => {
  const container = {
    name: 'gateway',
    image: 'gw',
    securityContext: { allowPrivilegeEscalation: false },
  }
  const deploymentOf = (pod: object) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: owned('production'),
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: {
        metadata: { labels: { a: 'b' } },
        spec: {
          serviceAccountName: 'production',
          automountServiceAccountToken: false,
          containers: [container],
          ...pod,
        },
      },
    },
  })
  const cases = [
    { automountServiceAccountToken: true },
    { serviceAccountName: 'cluster-admin' },
    { hostNetwork: true },
    { volumes: [{ name: 'node', hostPath: { path: '/' } }] },
    {
      volumes: [
        { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
      ],
    },
    {
      volumes: [{ name: 'a', csi: { driver: 'x', nodePublishSecretRef: { name: 'theirs' } } }],
    },
    { containers: [{ ...container, securityContext: { privileged: true } }] },
  ]
  for (const pod of cases) {
    assert.match(
      await refusalOf(asOperator(deploymentOf(pod))),
      /pods of a gateway have no token/,
      JSON.stringify(pod),
    )
  }
  const token = { serviceAccountToken: { path: 't', audience: 'sts.example.com' } }
  const volumes = [
    { name: 'tmp', emptyDir: {} },
    { name: 'identity', csi: { driver: 'x', readOnly: true } },
    { name: 'token', projected: { sources: [token] } },
  ]
  await asOperator(deploymentOf({ volumes }))
})

test("among pods the operator may change only annotations of a gateway's pods", async () => {
  const aPod = (name: string, labels: object) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'ai', labels },
    spec: { containers: [{ name: 'gateway', image: 'gw:1' }] },
  })
  await store(aPod('ours', { 'app.kubernetes.io/managed-by': 'gw-operator' }))
  await store(aPod('theirs', { 'app.kubernetes.io/managed-by': 'another' }))
  const change = async (name: string, metadata: object, more: object = {}) => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'ai', ...metadata } }
    return await asOperator({ ...pod, ...more })
  }
  const renewed = { annotations: { 'inference.gw/mounts-renewed-at': 'now' } }
  await until(
    'the policy is active',
    async () => (await change('theirs', renewed).then(() => '', String)) !== '',
    120,
  )
  assert.match(await refusalOf(change('theirs', renewed)), /only the pods of gateways/)
  await change('ours', renewed)
  const others: readonly (readonly [object, object?])[] = [
    [{ labels: { 'app.kubernetes.io/part-of': 'x' } }],
    [{ finalizers: ['example.org/stays'] }],
    [{}, { spec: { containers: [{ name: 'gateway', image: 'other:1' }] } }],
  ]
  for (const [metadata, more] of others) {
    assert.match(
      await refusalOf(change('ours', metadata, more)),
      /nothing of a pod but annotations/,
      JSON.stringify([metadata, more]),
    )
  }
})

const TYPE = 'gatewayconfigs.inference.gw'
async function releaseOfTypes(): Promise<string> {
  const get = ['get', 'crd', TYPE, '-o', 'jsonpath={.metadata.annotations}']
  return JSON.parse(await cluster.kubectl(get))['inference.gw/bundle-version']
}

test('a type of an earlier release is refused, unless an annotation allows that release', async () => {
  const annotate = (annotation: string) =>
    cluster
      .kubectl(['annotate', 'crd', TYPE, '--overwrite', annotation])
      .then(() => 'taken', String)
  const dated = (version: string) => annotate(`inference.gw/bundle-version=${version}`)
  const now = await releaseOfTypes()
  const [major, minor] = now.split('.').map(Number)
  await until('the policy is active', async () => /drop newer fields/.test(await dated('0.1.0')))
  assert.match(await dated(`${major}.${Number(minor) - 1}.9`), new RegExp(`is of release ${now}`))
  assert.match(await annotate('inference.gw/bundle-version-'), /drop newer fields/)
  assert.equal(await dated(`${major}.${minor}.99`), 'taken')
  assert.match(await dated(`${major}.${minor}.98`), /inference.gw\/allow-downgrade=/)
  await annotate('inference.gw/allow-downgrade=true')
  assert.match(await dated(now), /drop newer fields/)
  await annotate(`inference.gw/allow-downgrade=${now}`)
  assert.match(await dated(`${major}.${minor}.98`), /drop newer fields/)
  assert.equal(await dated(now), 'taken')
})

test('an older operator is not installed beside newer types, and an existing one may be scaled', async () => {
  const now = await releaseOfTypes()
  const labelled = (version: string) =>
    cluster
      .kubectl([
        'label',
        'deployment/gw',
        `--namespace=${NAMESPACE}`,
        '--overwrite',
        `app.kubernetes.io/version=${version}`,
      ])
      .then(() => 'taken', String)
  await until('the policy is active', async () => /own image/.test(await labelled('0.1.0')))
  assert.match(
    await labelled('1.4.0'),
    new RegExp(`types are of release ${now}.*operator of 1.4.0`),
  )
  assert.equal(await labelled('99.0.0'), 'taken')
  assert.equal(await labelled(now), 'taken')
  const annotate = ['annotate', 'deployment/gw', `--namespace=${NAMESPACE}`]
  await cluster.kubectl([...annotate, 'inference.gw/allow-downgrade=1.4.0'])
  assert.match(await labelled('1.3.0'), /own image/)
  assert.equal(await labelled('1.4.0'), 'taken')
  await cluster.kubectl(['scale', 'deployment/gw', `--namespace=${NAMESPACE}`, '--replicas=0'])
  await cluster.kubectl([...annotate, 'inference.gw/allow-downgrade-', 'example.org/a=b'])
  assert.equal(await labelled(now), 'taken')
})

test('a role may write keys without gateways, and the standard roles get the rights that the release describes', async () => {
  const rbac = 'rbac.authorization.k8s.io'
  const roles = { reader: 'view', keeper: 'gw-system-gw-key-editor', writer: 'edit' }
  for (const [name, role] of Object.entries(roles)) {
    await store({
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name, namespace: 'team-a' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: rbac, kind: 'User', name }],
    })
  }
  const may = async (user: string, verb: string, plural: string) => {
    const asked = ['auth', 'can-i', verb, `${plural}.inference.gw`, '-n', 'team-a', `--as=${user}`]
    // kubectl exits with 1 if the answer is no.
    return (await cluster.kubectl(asked).catch(() => 'no')).trim() === 'yes'
  }
  await until('the roles are bound', async () => await may('keeper', 'create', 'gatewaykeys'))
  await until('edit has gained them', async () => await may('writer', 'create', 'gatewayconfigs'))
  await until('view has gained them', async () => await may('reader', 'get', 'gatewayconfigs'))
  for (const plural of ['gatewayconfigs', 'tenantpolicies'])
    assert.ok(!(await may('keeper', 'create', plural)), plural)
  assert.ok(!(await may('keeper', 'patch', 'gatewayconfigs/scale')))
  assert.ok(!(await may('reader', 'create', 'gatewaykeys')))
})
