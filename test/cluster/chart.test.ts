/** Tests the chart on a real API server with both major versions of Helm: install, upgrade, removal, and its policy. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { makeAuthority } from '../../dataplane/base/certificates/certificate.ts'
import { policyRules } from '../../operator/rbac.ts'
import {
  CHART,
  type Helm,
  objectsOf,
  podsOf,
  type Ran,
  type Rendered,
  renderText,
  runHelm,
  VALUE_SETS,
  valuesFlags,
} from '../helpers/kubernetes/chart.ts'
import { refusalOf } from '../helpers/kubernetes/kubectl.ts'
import { providePrograms } from '../helpers/kubernetes/programs.ts'
import { until } from '../helpers/until.ts'
import { type ControlPlane, startControlPlane, untilEstablished } from './control-plane.ts'
import { aGateway } from './operator-rig.ts'

const NAMESPACE = 'gw-system'
const RESTRICTED = ['enforce', 'warn'].map(
  (mode) => `pod-security.kubernetes.io/${mode}=restricted`,
)
/** Resources of the Prometheus operator: this API server does not check their fields. */
const FOREIGN = ['ServiceMonitor', 'PodMonitor', 'PrometheusRule']

let cluster: ControlPlane
const folder = mkdtempSync(join(tmpdir(), 'gw-chart-'))

before(async () => {
  cluster = await startControlPlane()
  for (const name of [NAMESPACE, 'ai', 'team-a', 'team-research']) {
    await cluster.kubectl(['create', 'namespace', name])
    await cluster.kubectl(['label', 'namespace', name, ...RESTRICTED])
  }
  const types = FOREIGN.map(foreignType).map((one) => JSON.stringify(one))
  await cluster.kubectl(['apply', '-f', '-'], { stdin: types.join('\n---\n') })
})

after(async () => {
  rmSync(folder, { recursive: true })
  await cluster?.stop()
})

function foreignType(kind: string) {
  const plural = `${kind.toLowerCase()}s`
  const schema = {
    openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.monitoring.coreos.com` },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
}

async function helm(program: Helm, ...args: readonly string[]): Promise<Ran> {
  const ran = await runHelm(program, [...args, `--namespace=${NAMESPACE}`], {
    KUBECONFIG: cluster.kubeconfig,
  })
  assert.equal(ran.status, 0, `${program} ${args.join(' ')}:\n${ran.stderr}`)
  return ran
}

/** Includes the warnings of kubectl; Pod Security warns where it would not refuse. */
async function dryRun(text: string, more: readonly string[] = []): Promise<Ran> {
  const { kubectl = 'kubectl' } = await providePrograms(['kubectl'])
  const args = ['apply', '--server-side', '--force-conflicts', '--dry-run=server', '-f', '-']
  const { status, stdout, stderr } = spawnSync(kubectl, [...args, ...more], {
    input: text,
    maxBuffer: 1 << 26,
    encoding: 'utf8',
    env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
  })
  return { status, stdout, stderr }
}

async function names(...args: readonly string[]): Promise<string[]> {
  const text = await cluster.kubectl(['get', ...args, '-o', 'name', '--ignore-not-found'])
  return text.split('\n').filter((line) => line !== '')
}

const OF_RELEASE = 'deploy,svc,sa,role,rolebinding,netpol,pdb,secret,cm'
const ours = () =>
  names(OF_RELEASE, '-A', '-l', 'app.kubernetes.io/name=gw,app.kubernetes.io/part-of=gw')
const wide = () =>
  names(
    'clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding,validatingwebhookconfiguration',
    '-l',
    'app.kubernetes.io/part-of=gw',
  )
const types = async () =>
  (await names('crd')).filter((name) => name.endsWith('.inference.gw')).sort()

const VERSIONS =
  'custom-columns=KIND:.kind,NAME:.metadata.name,RELEASE:.metadata.labels.app\\.kubernetes\\.io/version'
const ALL_TYPES = [
  'customresourcedefinition.apiextensions.k8s.io/gatewayconfigs.inference.gw',
  'customresourcedefinition.apiextensions.k8s.io/gatewaykeys.inference.gw',
  'customresourcedefinition.apiextensions.k8s.io/tenantpolicies.inference.gw',
]

/** A copy of the chart with the version of another release. */
function chartOf(version: string, types?: string): string {
  const copy = join(folder, `${version}-${types}`)
  cpSync(CHART, copy, { recursive: true })
  const file = join(copy, 'Chart.yaml')
  const text = readFileSync(file, 'utf8').replace(/^(version|appVersion): .*$/gm, `$1: ${version}`)
  writeFileSync(file, text)
  if (types !== undefined) renameTypes(copy, types)
  return copy
}

function renameTypes(copy: string, types: string): void {
  const carriers = readdirSync(join(copy, 'templates/crds')).map((name) => `crds/${name}`)
  for (const carrier of ['_types.tpl', ...carriers]) {
    const path = join(copy, 'templates', carrier)
    const text = readFileSync(path, 'utf8')
    writeFileSync(
      path,
      text.replace(/(bundle-version: |gw.typesVersion" -}})[0-9.]+/, (_, before) => before + types),
    )
  }
}

for (const program of ['helm', 'helm4'] as const) {
  test(`${program} installs, upgrades and uninstalls the chart, and only the resource types and their objects stay`, async () => {
    await helm(program, 'install', 'gw', chartOf('1.9.9'))
    assert.deepEqual(await types(), ALL_TYPES)
    await untilEstablished(cluster.kubectl)
    await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(aGateway()) })
    const versionOf = async (object: string) =>
      await cluster.kubectl([
        'get',
        object,
        `--namespace=${NAMESPACE}`,
        '-o',
        'jsonpath={.metadata.labels.app\\.kubernetes\\.io/version}',
      ])
    await helm(program, 'upgrade', 'gw', CHART, ...valuesFlags('everything'))
    for (const object of ['deployment/gw', 'crd/gatewayconfigs.inference.gw']) {
      assert.notEqual(await versionOf(object), '1.9.9', object)
    }
    assert.deepEqual(await names('pod', '-l', 'app.kubernetes.io/component=test', '-A'), [])
    await helm(program, 'rollback', 'gw', '1')
    assert.equal(await versionOf('deployment/gw'), '1.9.9')
    await helm(program, 'uninstall', 'gw')
    assert.deepEqual([...(await ours()), ...(await wide())], [])
    assert.deepEqual(await types(), ALL_TYPES)
    assert.deepEqual(await names('gwc', '-n', 'ai'), ['gatewayconfig.inference.gw/production'])
    await helm(program, 'install', 'gw', CHART)
    await helm(program, 'uninstall', 'gw')
  })
}

for (const program of ['helm', 'helm4'] as const) {
  test(`${program} upgrades a release and keeps the webhook fields that the operator wrote`, async () => {
    const on = ['--set', 'webhook.enabled=true']
    await helm(program, 'install', 'gw', CHART, ...on)
    const written = Buffer.from(makeAuthority({ from: 0, until: Date.now() }).certificate)
    const caBundle = written.toString('base64')
    const objects = [
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'gw-system-gw' },
        webhooks: [{ name: 'validate.inference.gw', clientConfig: { caBundle } }],
      },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'gw-operator-webhook', namespace: NAMESPACE },
        data: { 'ca.crt': caBundle },
      },
    ]
    const stdin = objects.map((one) => JSON.stringify(one)).join('\n---\n')
    const as = ['--server-side', '--field-manager=gw-operator', '-f', '-']
    await cluster.kubectl(['apply', ...as], { stdin })
    await helm(program, 'upgrade', 'gw', CHART, ...on, '--set', 'webhook.timeoutSeconds=7')
    const { webhooks } = JSON.parse(
      await cluster.kubectl(['get', 'validatingwebhookconfiguration/gw-system-gw', '-o', 'json']),
    )
    assert.equal(webhooks[0].timeoutSeconds, 7)
    assert.equal(webhooks[0].clientConfig.caBundle, caBundle)
    const secret = ['get', 'secret/gw-operator-webhook', `--namespace=${NAMESPACE}`, '-o', 'json']
    assert.equal(JSON.parse(await cluster.kubectl(secret)).data['ca.crt'], caBundle)
    await helm(program, 'upgrade', 'gw', CHART, '--set', 'webhook.enabled=false')
    const left = [...(await ours()), ...(await wide())].filter((name) => name.includes('webhook'))
    assert.deepEqual(left, [])
    await helm(program, 'uninstall', 'gw')
  })
}

test('Helm 4 upgrades a release of Helm 3, also with types applied by hand', async () => {
  await helm('helm', 'install', 'gw', chartOf('1.9.9'))
  const manifests = join(CHART, '../../crds/manifests')
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', manifests])
  await helm('helm4', 'upgrade', 'gw', CHART, '--server-side=true', '--force-conflicts')
  await helm('helm4', 'upgrade', 'gw', CHART, '--set', 'replicas=3')
  const replicas = [
    'get',
    'deployment/gw',
    `--namespace=${NAMESPACE}`,
    '-o',
    'jsonpath={.spec.replicas}',
  ]
  assert.equal(await cluster.kubectl(replicas), '3')
  assert.deepEqual(await types(), ALL_TYPES)
  await helm('helm4', 'uninstall', 'gw')
})

test('an older chart changes nothing beside newer types, and the newer chart continues', async () => {
  const newer = chartOf('99.0.0', '99.0.0')
  await helm('helm', 'install', 'gw', newer)
  const kinds = 'deploy,svc,role,clusterrole,crd,netpol,cm,secret'
  const versions = async () =>
    await cluster.kubectl(
      ['get', kinds, '-A', '-l', 'app.kubernetes.io/part-of=gw', '-o', VERSIONS].flat(),
    )
  const before = await versions()
  const env = { KUBECONFIG: cluster.kubeconfig }
  const older = await runHelm('helm', ['upgrade', 'gw', CHART, `--namespace=${NAMESPACE}`], env)
  assert.notEqual(older.status, 0)
  assert.match(older.stderr, /of this cluster is of release 99\.0\.0.*Nothing was changed/)
  assert.equal(await versions(), before)
  await helm('helm', 'upgrade', 'gw', newer)
})

test('without a look at the cluster the types refuse an older operator, and the newer chart continues', async () => {
  const ofBefore = chartOf('1.4.0', '1.4.0')
  rmSync(join(ofBefore, 'templates/type-policy.yaml'))
  const deployment = async () =>
    await cluster.kubectl([
      'get',
      'deployment/gw',
      `--namespace=${NAMESPACE}`,
      '-o',
      'jsonpath={.metadata.generation} {.metadata.labels.app\\.kubernetes\\.io/version}',
    ])
  const before = await deployment()
  const env = { KUBECONFIG: cluster.kubeconfig }
  const upgrade = ['upgrade', 'gw', ofBefore, `--namespace=${NAMESPACE}`]
  const probe = ['label', 'deployment/gw', `--namespace=${NAMESPACE}`, '--dry-run=server']
  await until('the policy is active', async () => {
    const said = await cluster
      .kubectl([...probe, '--overwrite', 'app.kubernetes.io/version=1.4.0'])
      .catch(String)
    return said.includes('own image')
  })
  for (const more of [[], ['--atomic', '--timeout=20s']]) {
    const { status, stderr } = await runHelm('helm', [...upgrade, ...more], env)
    assert.notEqual(status, 0)
    assert.match(stderr, /types are of release 99\.0\.0, and an operator of 1\.4\.0/)
    assert.match(stderr, /drop newer fields/)
    assert.equal(await deployment(), before)
    await helm('helm', 'upgrade', 'gw', chartOf('99.0.0', '99.0.0'))
  }
  await helm('helm', 'uninstall', 'gw')
  await cluster.kubectl(['delete', ...ALL_TYPES])
})

test('without crds.keep an uninstall deletes the resource types and the gateways', async () => {
  await helm('helm', 'install', 'gw', CHART, '--set', 'crds.keep=false')
  await helm('helm', 'uninstall', 'gw')
  await cluster.kubectl(['wait', '--for=delete', ...ALL_TYPES, '--timeout=180s'])
})

test('the API server accepts every object of all values files, and Pod Security reports no pod', async () => {
  await helm('helm', 'install', 'gw', CHART)
  await untilEstablished(cluster.kubectl)
  for (const set of VALUE_SETS) {
    const text = await renderText(set)
    const { status, stderr } = await dryRun(text)
    assert.equal(status, 0, `${set}:\n${stderr}`)
    assert.doesNotMatch(stderr, /would violate PodSecurity|Warning:/, set)
    // Pod Security only warns about a Deployment; it refuses a pod.
    for (const { owner, labels, spec } of podsOf(objectsOf(text))) {
      // A dry run does not store the object of its account.
      const { serviceAccountName: _, priorityClassName: __, ...bare } = spec
      const metadata = { name: 'probe', namespace: owner.metadata.namespace, labels }
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: bare }
      const ran = await dryRun(JSON.stringify(pod))
      assert.equal(ran.status, 0, `${set}: ${owner.kind} ${owner.metadata.name}:\n${ran.stderr}`)
    }
  }
})

test('the API server keeps every member that the chart writes, so a second apply changes nothing', async () => {
  for (const set of VALUE_SETS) {
    const text = await renderText(set)
    const { status, stdout, stderr } = await dryRun(text, ['-o', 'json'])
    assert.equal(status, 0, `${set}:\n${stderr}`)
    const kept: Rendered[] = JSON.parse(stdout).items
    for (const written of objectsOf(text)) {
      const { kind, metadata } = written
      const stored = kept.find(
        (one) =>
          one.kind === kind &&
          one.metadata.name === metadata.name &&
          one.metadata.namespace === metadata.namespace,
      )
      // The API server returns the texts of a Secret as data.
      const { stringData: _, ...rest } = written
      assert.deepEqual(lost(rest, stored), [], `${set}: ${kind} ${metadata.name}`)
    }
  }
})

/** Members that the chart writes and the API server drops. */
function lost(written: unknown, kept: unknown, path = ''): string[] {
  if (written === null || written === undefined) return []
  if (kept === undefined) return [path]
  if (Array.isArray(written)) {
    const list = Array.isArray(kept) ? kept : []
    return written.flatMap((one, index) => lost(one, list[index], `${path}[${index}]`))
  }
  if (typeof written !== 'object') return []
  const members: Readonly<Record<string, unknown>> = { ...kept }
  return Object.entries(written).flatMap(([name, value]) =>
    lost(value, members[name], `${path}.${name}`),
  )
}

test('the API server accepts the certificates for cert-manager, with its types', async () => {
  await cluster.installTypes('certificates')
  const asked = ['webhook.enabled=true', 'webhook.certificates.from=cert-manager']
  const flags = asked.flatMap((one) => ['--set', one])
  const text = await renderText('defaults', 'helm', flags)
  const made = objectsOf(text).filter(({ apiVersion }) => apiVersion === 'cert-manager.io/v1')
  assert.deepEqual(made.map(({ kind }) => kind).sort(), [
    'Certificate',
    'Certificate',
    'Issuer',
    'Issuer',
  ])
  const { status, stderr } = await dryRun(made.map((one) => JSON.stringify(one)).join('\n---\n'))
  assert.equal(status, 0, stderr)
})

test('the API server accepts every example', async () => {
  const examples = join(CHART, 'examples')
  for (const file of readdirSync(examples).filter((name) => name.endsWith('.yaml'))) {
    const { status, stderr } = await dryRun(
      readFileSync(join(examples, file), 'utf8').replace(
        /^(metadata:\n {2}name: \S+)\n(?! {2}namespace)/m,
        '$1\n  namespace: ai\n',
      ),
    )
    assert.equal(status, 0, `${file}:\n${stderr}`)
  }
})

test("the operator's account has the rights of its table, and may read no Secret of a tenant", async () => {
  const who = `--as=system:serviceaccount:${NAMESPACE}:gw`
  const can = async (...args: readonly string[]) =>
    (await cluster.kubectl(['auth', 'can-i', ...args, who]).catch(() => 'no')).trim()
  for (const { apiGroups, resources, verbs } of policyRules('watched')) {
    const [group, resource = ''] = [apiGroups[0], resources[0]]
    const [kind = '', subresource] = resource.split('/')
    const what = group === '' ? kind : `${kind}.${group}`
    const flag = subresource === undefined ? [] : [`--subresource=${subresource}`]
    for (const verb of verbs) {
      assert.equal(await can(verb, what, '-n', 'ai', ...flag), 'yes', `${verb} ${what}`)
    }
  }
  for (const verb of ['get', 'list', 'watch', 'create', 'update', 'delete']) {
    assert.equal(await can(verb, 'secrets', '-n', 'ai'), 'no', verb)
  }
  assert.equal(await can('get', 'secrets/gw-operator-signing', '-n', NAMESPACE), 'yes')
  assert.equal(await can('get', 'secrets/another', '-n', NAMESPACE), 'no')
})

const EDITOR = [
  {
    apiGroups: ['inference.gw'],
    resources: ['gatewayconfigs'],
    verbs: ['get', 'create', 'update', 'patch'],
  },
  { apiGroups: [''], resources: ['secrets'], resourceNames: ['mine', 'also-mine'], verbs: ['get'] },
]

/** A gateway whose only credential is this reference. */
function naming(name: string, ...secrets: readonly string[]) {
  const upstreams = secrets.map((secret, index) => ({
    name: `u${index}`,
    provider: 'openai',
    model: 'm',
    api_key: `\${secret:${secret}/key}`,
  }))
  const base = aGateway({
    gw: { upstreams, routes: [{ name: 'chat', strategy: 'single', upstreams: ['u0'] }] },
  })
  return { ...base, metadata: { ...base.metadata, name } }
}

test('the API server accepts every expression of the policy', async () => {
  const policy = 'validatingadmissionpolicy/gw-system-gw-secrets'
  const seen = '--for=jsonpath={.status.observedGeneration}=1'
  await cluster.kubectl(['wait', seen, policy, '--timeout=180s'])
  const { status } = JSON.parse(await cluster.kubectl(['get', policy, '-o', 'json']))
  assert.deepEqual(status.typeChecking?.expressionWarnings ?? [], [])
})

test('an author may name only Secrets that they may read, anywhere in the resource', async () => {
  const kubeconfig = await cluster.serviceAccount({
    namespace: 'ai',
    name: 'editor',
    rules: EDITOR,
  })
  const apply = async (document: object) =>
    await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
      stdin: JSON.stringify(document),
      kubeconfig,
    })
  const refusal = async (document: object) => await refusalOf(apply(document))
  const probe = ['apply', '--server-side', '--dry-run=server', '-f', '-']
  const stdin = JSON.stringify(naming('probe', 'theirs'))
  await until(
    'the policy is active',
    async () => {
      const said = await cluster.kubectl(probe, { stdin, kubeconfig }).catch(String)
      return said.includes('may not get the Secret')
    },
    120,
  )
  await apply(naming('own', 'mine', 'also-mine', 'mine'))
  assert.match(await refusal(naming('theirs', 'mine', 'theirs')), /may not get the Secret "theirs"/)
  const hidden = aGateway({
    gw: { aliases: { 'x${secret:': 'chat', y: 'a${secret:theirs/key}b' } },
  })
  assert.match(
    await refusal({ ...hidden, metadata: { name: 'hidden', namespace: 'ai' } }),
    /"theirs"/,
  )
  const twoForms = aGateway({ gw: { no_proxy: 'a,${secret:theirs/key}' } })
  assert.match(await refusal(twoForms), /"theirs"/)
  const [env, envFrom] = [
    aGateway({
      spec: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'theirs', key: 'k' } } }] },
    }),
    aGateway({ spec: { envFrom: [{ secretRef: { name: 'theirs' } }] } }),
  ]
  for (const document of [env, envFrom]) assert.match(await refusal(document), /"theirs"/)
  await apply(
    aGateway({
      spec: { env: [{ name: 'A', value: 'b' }], imagePullSecrets: [{ name: 'theirs' }] },
    }),
  )
})

test("an editor may not send another author's credential to another address", async () => {
  const kubeconfig = join(cluster.folder, 'account-ai-editor.kubeconfig')
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], {
    stdin: JSON.stringify(naming('shared', 'theirs')),
  })
  const patch = (value: object) =>
    cluster.kubectl(
      ['patch', 'gwc', 'shared', '-n', 'ai', '--type=merge', '-p', JSON.stringify(value)],
      { kubeconfig },
    )
  assert.match(await refusalOf(patch({ gw: { aliases: { a: 'chat' } } })), /"theirs"/)
  await patch({ metadata: { labels: { a: 'b' } } })
})

test('with too many Secrets to check one by one, the author needs the right to read all', async () => {
  const kubeconfig = join(cluster.folder, 'account-ai-editor.kubeconfig')
  const many = naming('many', ...Array.from({ length: 30 }, (_, index) => `mine-${index}`))
  const stdin = JSON.stringify(many)
  const apply = ['apply', '--server-side', '-f', '-']
  assert.match(
    await refusalOf(cluster.kubectl(apply, { stdin, kubeconfig })),
    /mine-0|more than 20/,
  )
  await cluster.kubectl(apply, { stdin })
  const rules = [
    ...EDITOR.slice(0, 1),
    {
      apiGroups: [''],
      resources: ['secrets'],
      resourceNames: Array.from({ length: 20 }, (_, index) => `mine-${index}`),
      verbs: ['get'],
    },
  ]
  const twenty = await cluster.serviceAccount({ namespace: 'ai', name: 'twenty', rules })
  const again = JSON.stringify({ ...many, metadata: { name: 'again', namespace: 'ai' } })
  assert.match(
    await refusalOf(cluster.kubectl(apply, { stdin: again, kubeconfig: twenty })),
    /more than 20/,
  )
  const allowed = naming('twenty', ...Array.from({ length: 20 }, (_, index) => `mine-${index}`))
  await cluster.kubectl(apply, { stdin: JSON.stringify(allowed), kubeconfig: twenty })
})

test('the policy also checks the largest configuration, instead of refusing its size', async () => {
  const kubeconfig = join(cluster.folder, 'account-ai-editor.kubeconfig')
  const keys = Array.from({ length: 5000 }, (_, index) => ({
    id: `key-${index}`,
    tenant: 'acme',
    hash: `sha256:${String(index).padStart(64, '0')}`,
    prefix: 'gw_production_aaaa',
    routes: ['chat'],
  }))
  const large = aGateway({ gw: { api_keys: keys } })
  const document = { ...large, metadata: { name: 'large', namespace: 'ai' } }
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], {
    stdin: JSON.stringify(document),
    kubeconfig,
  })
})
