/** The printed form of a configuration. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { KeyTable } from '../../../dataplane/call/key-entry.ts'
import { effectiveSection } from '../../../dataplane/config/shown/effective.ts'
import { printResolved } from '../../../dataplane/config/shown/resolved.ts'
import { compile } from '../../../dataplane/config/snapshot.ts'
import { aDocument, hashOf, load } from './documents.ts'

const TOLERANT = aDocument(`  upstreams:
    - name: a
      provider: vLLM
      endpoint: http://\${env:HOST}:8000
      model: "yes"
      headers: {X-Plain: value, Authorization: "Bearer \${env:TOKEN}"}
    - {name: b, provider: open-ai, model: m, api_key: "\${secret:s/k}", project: "\${file:/p}"}
  tls: {min_version: 1.3}
  http_proxy: \${env:PROXY}
  no_proxy: localhost, .svc
  api_keys_file: keys.yaml`)
const WORLD = {
  env: { HOST: 'host', TOKEN: 'hunter2', PROXY: 'http://u:hunter2@p:1' },
  files: {
    'keys.yaml': `- {id: one, tenant: t, hash: "${hashOf('one')}", routes: [r]}\n`,
    '/var/run/secrets/gw/s/k': 'hunter2',
    '/p': 'hunter2',
  },
}

test('the resolved form validates, means the same, and is its own resolved form', () => {
  const first = load(TOLERANT, WORLD)
  assert.ok(first.configuration)
  const printed = printResolved(first)
  const second = load(printed, WORLD)
  assert.deepEqual(
    second.problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  assert.ok(second.configuration)
  const meant = effectiveSection(first.configuration.gw, 'file')
  const read = effectiveSection(second.configuration.gw, 'file')
  const { headers: _, ...upstream } = meant.upstreams[0] ?? {}
  const { headers: __, ...again } = read.upstreams[0] ?? {}
  assert.deepEqual(again, upstream)
  for (const section of [
    'gateway',
    'routes',
    'api_keys',
    'tls',
    'no_proxy',
    'http_proxy',
  ] as const) {
    assert.deepEqual(read[section], meant[section])
  }
  assert.equal(second.configuration.gw.upstreams[1]?.api_key, 'hunter2')
  assert.equal(printResolved(second), printed)
})

test('the resolved form has the value of every unwritten setting', () => {
  const printed = printResolved(
    load(`apiVersion: inference.gw/v1
kind: GatewayConfig
gw:
  upstreams:
    - { name: own, provider: vllm, endpoint: "http://a", model: m }
    - { name: other, provider: ollama, endpoint: "http://b", model: m, health_check: { interval_seconds: 5 } }
    - { name: hosted, provider: openai, endpoint: "http://c", model: m }
  routes:
    - { name: all, strategy: primary_with_fallback, primary: own, fallback: [other, hosted] }
    - { name: some, strategy: primary_with_fallback, primary: own, fallback: [hosted], overflow: { on_timeout: fallback } }
  rate_limits: { tenants: [{ tenant: t, requests_per_minute: 10 }] }
`),
  )
  const { upstreams, routes, rate_limits } = parse(printed).gw
  const probes = { timeout_seconds: 2, healthy_threshold: 2, unhealthy_threshold: 3 }
  // Hosted APIs are not probed unless a health check is written.
  assert.deepEqual(
    upstreams.map((one: { health_check?: unknown }) => one.health_check),
    [
      { path: '/health', interval_seconds: 10, ...probes },
      { path: '/api/version', interval_seconds: 5, ...probes },
      undefined,
    ],
  )
  for (const { circuit_breaker } of upstreams) {
    const breaker = { failure_threshold: 5, open_duration_seconds: 30, half_open_probes: 1 }
    assert.deepEqual(circuit_breaker, breaker)
  }
  assert.deepEqual(
    routes.map(({ overflow }: { overflow: object }) => Object.values(overflow)),
    [
      ['fallback', 'fallback', 'fallback', 'none'],
      ['none', 'none', 'fallback', 'none'],
    ],
  )
  assert.deepEqual(rate_limits, {
    default: { requests_per_minute: 120, burst: 30, concurrent_requests: 16, priority: 'normal' },
    tenants: [
      {
        tenant: 't',
        requests_per_minute: 10,
        burst: 30,
        concurrent_requests: 16,
        priority: 'normal',
      },
    ],
    backend: 'memory',
  })
})

test('a pod keeps idle connections for longer than any load balancer', () => {
  const { configuration } = load(aDocument())
  assert.ok(configuration)
  assert.equal(effectiveSection(configuration.gw, 'file').gateway.keepalive_seconds, 75)
  assert.equal(effectiveSection(configuration.gw, 'pod').gateway.keepalive_seconds, 3700)
  const delivered = { hash: 'h', keys: new KeyTable(), disabled: new Map() }
  assert.equal(compile(configuration).keepaliveMs, 75_000)
  assert.equal(compile(configuration, delivered).keepaliveMs, 3_700_000)
})

test('the resolved form shows references where credentials are, and hides literal ones', () => {
  const printed = printResolved(load(TOLERANT, WORLD))
  assert.doesNotMatch(printed, /hunter2/)
  for (const expected of [
    'endpoint: http://host:8000',
    'api_key: ${secret:s/k}',
    'project: ${file:/p}',
    'X-Plain: "***"',
    'Authorization: Bearer ${env:TOKEN}',
    'http_proxy: ${env:PROXY}',
    'model: "yes"',
    'min_version: TLSv1.3',
    'provider: openai',
    'api_keys_file: keys.yaml',
    'listen_port: 8080',
    'listen_address: 127.0.0.1 # 127.0.0.1 stand-alone; all addresses in a pod',
    'request_timeout_seconds: 600',
    'keepalive_seconds: 75',
    '# timeout_seconds: 30 for a stream; other answers have the whole timeout of the request',
  ]) {
    assert.ok(printed.includes(expected), `${expected} is not in\n${printed}`)
  }
  const literal = aDocument('  http_proxy: http://u:hunter2@p:1')
  assert.match(printResolved(load(literal)), /http_proxy: http:\/\/\*\*\*:\*\*\*@p:1/)
})
