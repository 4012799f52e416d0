/** The chart's policy checks exactly what the operator mounts: both read one table of spellings. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { needsOf } from '../../operator/compile/needs.ts'
import { deploymentOf } from '../../operator/workload/deployment.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { CHART } from '../helpers/kubernetes/chart.ts'

const TEMPLATE = readFileSync(join(CHART, 'templates/secret-policy.yaml'), 'utf8')

/** The policy's own expression; RE2 and this engine read it the same way. */
function askedAbout(text: string): string[] {
  const [, pattern = '', from = '', less = ''] =
    /findAll\('([^']+)'\)\.map\(one, one\.substring\((\d+), one\.size\(\) - (\d+)\)\)/.exec(
      TEMPLATE,
    ) ?? []
  assert.notEqual(pattern, '')
  const found = text.match(new RegExp(pattern, 'g')) ?? []
  return found.map((one) => one.slice(Number(from), one.length - Number(less)))
}

function mounted(text: string): readonly string[] {
  const { name, namespace = '' } = aGateway().metadata
  const metadata = { name, namespace }
  const gw = { upstreams: [{ headers: { [text]: 'x', a: [text] } }] }
  return needsOf({ apiVersion: '', kind: '', metadata, gw }).secrets
}

const SPELLINGS = [
  '${secret:a/k}',
  'Bearer ${secret:a/k}',
  '${secret:a.b-c/k}${secret:d/e}',
  '${env:X}${secret:a/k}',
  '$${secret:a/k}',
  '${secret:a/k}}',
  '${secret:a/k',
  '${${secret:a/k}}',
  '${ secret:a/k}',
  '${secret: a/k}',
  '${secret:a /k}',
  '${SECRET:a/k}',
  '${secret:../a/k}',
  '${secret:a/../k}',
  '${secret:a}',
  '${secret:/k}',
  '\\${secret:a/k}',
  '${secret:a/\u0000k}',
  '${file:/var/run/secrets/gw/a/k}',
]

for (const text of SPELLINGS) {
  test(`the policy checks everything mounted for ${JSON.stringify(text)}`, () => {
    const asked = askedAbout(text)
    for (const secret of mounted(text)) assert.ok(asked.includes(secret), secret)
  })
}

test('both find a good reference', () => {
  assert.deepEqual(mounted('a${secret:x/k}b'), ['x'])
  assert.deepEqual(askedAbout('a${secret:x/k}b'), ['x'])
})

test('a Deployment names Secrets only in the places that the policy reads', () => {
  const spec = WorkloadSpec.parse({
    env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'from-env', key: 'k' } } }],
    envFrom: [{ secretRef: { name: 'from-env-from' } }],
    imagePullSecrets: [{ name: 'pulls' }],
  })
  const gateway = aGateway()
  const { name, namespace = '' } = gateway.metadata
  const gw = { x: '${secret:referred/k}' }
  const needs = needsOf({ apiVersion: '', kind: '', metadata: { name, namespace }, gw })
  const release = { image: 'gw:1', version: '1', operatorNamespace: 'gw-system' }
  const deployment = deploymentOf({ gateway, spec, needs, drainSeconds: 1, release })
  const found: string[] = []
  JSON.stringify(deployment, (key, value) => {
    if (key === 'secretName') found.push(value)
    if (['secretKeyRef', 'secretRef', 'secret'].includes(key)) found.push(value.name ?? '')
    return value
  })
  assert.deepEqual(found.filter(Boolean).sort(), ['from-env', 'from-env-from', 'referred'])
  for (const place of ['secretKeyRef', 'secretRef', 'secret:']) assert.ok(TEMPLATE.includes(place))
})
