/** The admission webhook as the chart renders it: complete when enabled, absent when disabled. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { REVIEW_PATH } from '../../operator/admission/server.ts'
import { policyRules } from '../../operator/rbac.ts'
import {
  CHART,
  objectsOf,
  podsOf,
  render,
  renderText,
  runHelm,
} from '../helpers/kubernetes/chart.ts'

test('the admission webhook is off by default, and renders no object', async () => {
  const text = await renderText('defaults', 'helm', ['--no-hooks'])
  assert.doesNotMatch(text.replace(/^ +description: .*$/gm, ''), /--webhook|gw-operator-webhook/)
  const kinds = objectsOf(text).map(({ kind }) => kind)
  assert.ok(!kinds.includes('ValidatingWebhookConfiguration'))
})

test("the API server calls the admission webhook through its Service, with the operator's port and server name", async () => {
  const objects = await render('everything')
  const named = (kind: string, name: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name)
  const configuration = named('ValidatingWebhookConfiguration', 'gw-system-gw')
  // Kubernetes defines the shape; the test fails below if a member is missing.
  const [webhook] = (configuration?.webhooks ?? []) as Record<string, unknown>[]
  const { clientConfig, namespaceSelector, rules, matchConditions, ...plain } = webhook ?? {}
  assert.deepEqual(plain, {
    name: 'validate.inference.gw',
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    matchPolicy: 'Equivalent',
    failurePolicy: 'Ignore',
    timeoutSeconds: 3,
  })
  const { service } = clientConfig as { service: { name: string; namespace: string; path: string } }
  assert.equal(service.path, REVIEW_PATH)
  assert.ok(named('Service', service.name))
  const [{ spec } = { spec: undefined }] = podsOf(
    objects.filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'gw'),
  )
  const args = (spec?.containers[0]?.args ?? []) as readonly string[]
  const ours = args.filter((arg) => arg.startsWith('--webhook'))
  assert.deepEqual(ours, [
    '--webhook-port=9444',
    `--webhook-host=${service.name}.${service.namespace}.svc`,
    `--webhook-configuration=${configuration?.metadata.name}`,
  ])
  const policy = named('NetworkPolicy', 'gw')
  assert.ok(policy)
  const { ingress } = policy.spec as { ingress: object[] }
  assert.deepEqual(ingress[1], {
    ports: [{ port: 9444, protocol: 'TCP' }],
    from: [{ ipBlock: { cidr: '10.0.0.1/32' } }],
  })
  assert.deepEqual(named('ClusterRole', 'gw-system-gw-webhook')?.rules, [
    ...policyRules('webhook-cluster', 'gw-system-gw'),
  ])
  assert.deepEqual(named('Role', 'gw-own')?.rules, [
    ...policyRules('own'),
    ...policyRules('webhook-own'),
  ])
  assert.equal(named('Secret', 'gw-operator-webhook')?.data, undefined)
})

test("the webhook applies to the operator's watched namespaces, and never to the operator's own", async () => {
  const selected = async (...flags: readonly string[]) => {
    const text = await renderText('defaults', 'helm', ['--set=webhook.enabled=true', ...flags])
    const made = objectsOf(text).find(({ kind }) => kind === 'ValidatingWebhookConfiguration')
    const [webhook] = (made?.webhooks ?? []) as { namespaceSelector: unknown }[] // As above.
    return webhook?.namespaceSelector
  }
  const key = 'kubernetes.io/metadata.name'
  assert.deepEqual(await selected(), {
    matchExpressions: [{ key, operator: 'NotIn', values: ['kube-system', 'gw-system'] }],
  })
  assert.deepEqual(await selected('--set=watchNamespaces={ai,gw-system}'), {
    matchExpressions: [{ key, operator: 'In', values: ['ai', 'gw-system'] }],
  })
})

test('the notes warn that a single operator can block all edits', async () => {
  const on = ['--set=webhook.enabled=true,webhook.failurePolicy=Fail']
  const notesWith = async (...flags: readonly string[]) =>
    (await runHelm('helm4', ['install', 'gw', CHART, '--dry-run=client', ...on, ...flags])).stdout
  assert.match(await notesWith('--set=replicas=1'), /WARNING: webhook\.failurePolicy is Fail/)
  assert.doesNotMatch(await notesWith(), /WARNING: webhook/)
})

const on = (...values: string[]) => values.map((value) => `--set=webhook.${value}`)
const CA = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n'

async function madeWith(...flags: readonly string[]) {
  const objects = objectsOf(
    await renderText('defaults', 'helm', ['--set=webhook.enabled=true', ...flags]),
  )
  const [pod] = podsOf(
    objects.filter(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'gw'),
  )
  const args = (pod?.spec.containers[0]?.args ?? []) as readonly string[]
  const configuration = objects.find(({ kind }) => kind === 'ValidatingWebhookConfiguration')
  const [webhook] = (configuration?.webhooks ?? []) as { clientConfig: { caBundle?: string } }[]
  const all = (kind: string) => objects.filter((object) => object.kind === kind)
  return { all, args, configuration, bundle: webhook?.clientConfig.caBundle, pod }
}

function isMounted({ all, args, pod }: Awaited<ReturnType<typeof madeWith>>, secret: string) {
  assert.ok(args.includes('--webhook-certificate=/var/run/gw-webhook'))
  assert.ok(!args.some((arg) => /--webhook-(host|configuration)/.test(arg)))
  assert.match(JSON.stringify(pod), new RegExp(`"secretName":"${secret}"`))
  assert.ok(!JSON.stringify(all('Role')).includes('gw-operator-webhook'))
  assert.ok(!all('ClusterRole').some(({ metadata }) => metadata.name.endsWith('-webhook')))
}

test('cert-manager issues the certificate, from a named issuer or an authority of the release', async () => {
  const made = await madeWith(...on('certificates.from=cert-manager'))
  isMounted(made, 'gw-webhook-certificate')
  assert.deepEqual(made.configuration?.metadata.annotations, {
    'cert-manager.io/inject-ca-from': 'gw-system/gw-webhook-certificate',
  })
  assert.equal(made.bundle, undefined)
  const own = [...made.all('Issuer'), ...made.all('Certificate')].map(
    ({ kind, metadata }) => `${kind} ${metadata.name}`,
  )
  assert.deepEqual(own.toSorted(), [
    'Certificate gw-webhook-certificate',
    'Certificate gw-webhook-certificate-authority',
    'Issuer gw-webhook-certificate-authority',
    'Issuer gw-webhook-certificate-self-signed',
  ])
  const issuer = on('certificates.issuerRef.name=pki', 'certificates.issuerRef.kind=ClusterIssuer')
  const named = await madeWith(...on('certificates.from=cert-manager'), ...issuer)
  assert.deepEqual(named.all('Issuer'), [])
  const [certificate, ...others] = named.all('Certificate')
  assert.deepEqual(others, [])
  assert.ok(certificate)
  const { issuerRef, dnsNames } = certificate.spec as Record<string, unknown>
  assert.deepEqual(issuerRef, { name: 'pki', kind: 'ClusterIssuer' })
  assert.deepEqual(dnsNames, ['gw-webhook.gw-system.svc'])
})

test('Helm creates an authority, and a certificate for the name of the Service', async () => {
  const made = await madeWith(...on('certificates.from=chart'))
  isMounted(made, 'gw-webhook-certificate')
  const secret = made
    .all('Secret')
    .find(({ metadata }) => metadata.name === 'gw-webhook-certificate')
  const data = secret?.data as Record<string, string>
  const [authority, leaf] = ['ca.crt', 'tls.crt'].map(
    (name) => new X509Certificate(Buffer.from(data[name] ?? '', 'base64')),
  )
  assert.ok(authority !== undefined && leaf !== undefined)
  assert.ok(leaf.verify(authority.publicKey))
  assert.equal(leaf.checkHost('gw-webhook.gw-system.svc'), 'gw-webhook.gw-system.svc')
  assert.equal(made.bundle, data['ca.crt'])
})

test('the operator mounts an existing Secret, which requires its name and its authority', async () => {
  const secret = on('certificates.from=secret')
  await assert.rejects(madeWith(...secret), /webhook\.certificates\.secretName: name the Secret/)
  const named = [...secret, ...on('certificates.secretName=mine')]
  await assert.rejects(madeWith(...named), /caBundle: the API server must know the authority/)
  const made = await madeWith(...named, `--set-string=webhook.certificates.caBundle=${CA}`)
  isMounted(made, 'mine')
  assert.equal(made.bundle, Buffer.from(CA).toString('base64'))
})
