/** The manifests for proxies and load balancers in front of a gateway. */
import assert from 'node:assert/strict'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { FRONTS } from '../../cli/expose/fronts.ts'
import { type Exposed, RECIPES } from '../../cli/expose/manifests.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { gw } from '../helpers/gw.ts'

const EXPOSED: Exposed = {
  name: 'chat',
  namespace: 'ai',
  port: 8000,
  host: 'models.test',
  parent: { name: 'public', namespace: 'edge' },
  hasRoute: false,
}

test('every front gets manifests with the name, the namespace and the host of the gateway', () => {
  for (const front of FRONTS) {
    const manifests = RECIPES[front].manifests(EXPOSED)
    assert.ok(manifests.length > 0, front)
    for (const { metadata } of manifests) {
      assert.equal(valueBelow(metadata, 'name'), 'chat', front)
      assert.equal(valueBelow(metadata, 'namespace'), 'ai', front)
    }
    assert.match(JSON.stringify(manifests), /"models\.test"/, front)
  }
})

test('what would cut a stream, or repeat a request, is switched off', () => {
  const textOf = (front: (typeof FRONTS)[number]) =>
    JSON.stringify(RECIPES[front].manifests(EXPOSED))
  for (const front of ['envoy-gateway', 'gke', 'agc'] as const) {
    assert.match(textOf(front), /"timeouts":\{"request":"0s","backendRequest":"0s"\}/, front)
  }
  assert.match(textOf('istio'), /"retries":\{"attempts":0\}/)
  // An absent timeout means no limit.
  assert.doesNotMatch(textOf('istio'), /"timeout"/)
  assert.match(textOf('istio'), /"idleTimeout":"60s"/)
  assert.match(textOf('envoy-gateway'), /"connectionIdleTimeout":"60s"/)
  assert.match(textOf('gke'), /"timeoutSec":3600/)
  assert.match(textOf('gke'), /"requestPath":"\/readyz"/)
  assert.match(textOf('alb'), /idle_timeout\.timeout_seconds=600/)
  assert.match(textOf('alb'), /"alb\.ingress\.kubernetes\.io\/healthcheck-path":"\/readyz"/)
  assert.match(textOf('nginx'), /"nginx\.org\/client-max-body-size":"16m"/)
  assert.match(textOf('nginx'), /"nginx\.org\/proxy-read-timeout":"1h"/)
  assert.match(textOf('openshift'), /"haproxy\.router\.openshift\.io\/timeout":"10m"/)
})

test('a route that the operator makes is not printed again', () => {
  for (const front of FRONTS) {
    const manifests = RECIPES[front].manifests({ ...EXPOSED, hasRoute: true })
    assert.ok(!manifests.some(({ kind }) => kind === 'HTTPRoute'), front)
  }
})

test('the command reads a file, takes options before it, and prints documents', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'gw-expose-')), 'gateway.yaml')
  const metadata = { name: 'chat', namespace: 'ai' }
  const route = { parentRefs: [{ name: 'public' }], hostnames: ['*.test', 'models.test'] }
  const spec = { service: { port: 8000 }, route }
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'inference.gw/v1',
      kind: 'GatewayConfig',
      metadata,
      spec,
      gw: {},
    }),
  )
  const { code, stdout } = await gw('expose', '--for', 'nginx', '-f', file, '-n', 'other')
  assert.equal(code, 0)
  const [ingress] = parseAllDocuments(stdout).map((document) => document.toJS())
  assert.deepEqual([ingress.metadata.name, ingress.metadata.namespace], ['chat', 'other'])
  assert.equal(ingress.spec.rules[0].host, 'models.test')
  assert.equal(ingress.spec.rules[0].http.paths[0].backend.service.port.number, 8000)
  const none = await gw('expose', '--for', 'agc', '-f', file)
  assert.deepEqual([none.code, none.stdout], [0, ''])
  assert.match(none.stderr, /operator creates the HTTPRoute/)
  const list = await gw('expose', '--for', 'gke', '--gateway', 'ai/chat', '-o', 'json')
  assert.deepEqual(
    JSON.parse(list.stdout).items.map(({ kind }: { kind: string }) => kind),
    ['HTTPRoute', 'GCPBackendPolicy', 'HealthCheckPolicy'],
  )
})

test('wrong names are wrong usage', async () => {
  const [wrong, missing, host] = await Promise.all([
    gw('expose', '--for', 'traefik'),
    gw('expose'),
    gw('expose', '--for', 'alb', '--host', 'Models.test'),
  ])
  for (const { code } of [wrong, missing, host]) assert.equal(code, 64)
  assert.match(wrong.stderr, /istio, envoy-gateway, alb, gke, agc, nginx, openshift/)
})
