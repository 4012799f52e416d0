/** The admission webhook as the chart renders it: whole where it is on, and nothing of it where it is off. */
import assert from 'node:assert/strict'
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

test('the admission webhook is off by default, and nothing of it is there', async () => {
  const text = await renderText('defaults', 'helm', ['--no-hooks'])
  assert.doesNotMatch(text.replace(/^ +description: .*$/gm, ''), /--webhook|gw-operator-webhook/)
  const kinds = objectsOf(text).map(({ kind }) => kind)
  assert.ok(!kinds.includes('ValidatingWebhookConfiguration'))
})

test('the admission webhook is asked through its Service, at the port and under the name that the operator serves', async () => {
  const objects = await render('everything')
  const named = (kind: string, name: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name)
  const configuration = named('ValidatingWebhookConfiguration', 'gw-system-gw')
  // The shape that Kubernetes gives it; what is missing fails below.
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
  assert.deepEqual(spec?.containers[0]?.args, [
    'operator',
    '--max-concurrent-rollouts=2',
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

test('the webhook is asked for the namespaces that the operator looks after, and never for its own', async () => {
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

test('the notes warn of one operator without which nothing can be edited', async () => {
  const on = ['--set=webhook.enabled=true,webhook.failurePolicy=Fail']
  const notesWith = async (...flags: readonly string[]) =>
    (await runHelm('helm4', ['install', 'gw', CHART, '--dry-run=client', ...on, ...flags])).stdout
  assert.match(await notesWith('--set=replicas=1'), /WARNING: webhook\.failurePolicy is Fail/)
  assert.doesNotMatch(await notesWith(), /WARNING: webhook/)
})
