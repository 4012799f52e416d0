/** The destinations that the network allows the pods of a gateway. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { compile } from '../../operator/compile/compile.ts'
import { joinNeeds } from '../../operator/compile/needs.ts'
import { networkPolicyOf } from '../../operator/workload/network.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'

const LINK_LOCAL = '169.254.0.0/16'

function needsOf(gw: Readonly<Record<string, unknown>>) {
  const { configuration, problems } = compile({ gateway: aGateway({ gw }), keys: [], now: 0 })
  assert.ok(configuration, JSON.stringify(problems))
  return configuration.needs
}

/** The rules after that of DNS. */
function rulesOf(
  gw: Readonly<Record<string, unknown>>,
  spec: object = {},
  before: Readonly<Record<string, unknown>> | undefined = undefined,
): unknown[] {
  const policy = networkPolicyOf({
    gateway: aGateway(),
    spec: WorkloadSpec.parse(spec),
    needs: joinNeeds(needsOf(gw), before && needsOf(before)),
    drainSeconds: 30,
    release: { image: 'gw:1', version: '1', operatorNamespace: 'gw-system' },
  })
  assert.deepEqual(valueBelow(policy, 'spec', 'policyTypes'), ['Ingress', 'Egress'])
  const egress = valueBelow(policy, 'spec', 'egress')
  assert.ok(Array.isArray(egress))
  const [dns, ...rules] = egress
  assert.match(JSON.stringify(dns), /"port":53,"protocol":"UDP"/)
  return rules
}

function at(endpoint: string | undefined, provider = 'vllm') {
  const api_key = '${secret:model/key}'
  const address = endpoint === undefined ? {} : { endpoint }
  const upstreams = [{ name: 'local', provider, model: 'm', api_key, ...address }]
  return { upstreams }
}

const space = (name: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
})

test('a Service allows its namespace and nothing else, in any form of its name', () => {
  for (const host of ['llama.models.svc', 'llama.models.svc.cluster.local', 'a-0.llama.models.svc'])
    assert.deepEqual(rulesOf(at(`http://${host}:8000`)), [{ to: [space('models')] }], host)
  assert.deepEqual(rulesOf(at('http://llama:8000')), [{ to: [space('ai')] }])
})

test('a pool allows its namespace, and nothing outside the cluster', () => {
  const of = (pool: object) => ({
    upstreams: [{ name: 'local', provider: 'vllm', model: 'm', endpoints: 'pool', pool }],
  })
  assert.deepEqual(rulesOf(of({ name: 'x', namespace: 'models' })), [{ to: [space('models')] }])
  assert.deepEqual(rulesOf(of({ name: 'x.y' })), [{ to: [space('ai')] }])
})

test('an external name allows its port, but no link-local address', () => {
  for (const gw of [at('https://models.example.co.uk/v1'), at(undefined, 'openai')]) {
    const [rule, ...others] = rulesOf(gw)
    assert.deepEqual(others, [])
    assert.deepEqual(valueBelow(rule, 'ports'), [{ port: 443, protocol: 'TCP' }])
    assert.match(JSON.stringify(rule), new RegExp(LINK_LOCAL))
  }
})

test('a name that may be either allows both, and an address itself', () => {
  const rules = rulesOf(at('http://llama.models:8000'))
  assert.deepEqual(rules[0], { to: [space('models')] })
  assert.deepEqual(valueBelow(rules[1], 'ports'), [{ port: 8000, protocol: 'TCP' }])
  assert.deepEqual(rulesOf(at('http://10.1.2.3:8000')), [
    { to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: [{ port: 8000, protocol: 'TCP' }] },
  ])
})

const STORE = { collection: 'docs', embedding: { upstream: 'local' }, shared: true }

test('everything that the configuration names is reachable: Redis, webhooks, stores', () => {
  const rules = rulesOf({
    ...at('http://llama.models.svc:8000'),
    rate_limits: { backend: 'redis', redis: { url: 'redis://cache.data.svc:6379' } },
    alerts: { webhook_url: 'https://hooks.example.co.uk:8443/x' },
    vector_stores: [
      { ...STORE, name: 'a', provider: 'qdrant', endpoint: 'http://qdrant.vectors.svc:6333' },
      { ...STORE, name: 'b', provider: 'pgvector', endpoint: 'postgres://u@db.sql.svc/docs' },
    ],
  })
  const named = ['data', 'models', 'sql', 'vectors'].map(space)
  assert.deepEqual(rules[0], { to: named })
  assert.deepEqual(valueBelow(rules[1], 'ports'), [{ port: 8443, protocol: 'TCP' }])
})

test('receivers of usage are reachable, in the cluster or outside', () => {
  const rules = rulesOf({
    ...at('http://llama.models.svc:8000'),
    usage: {
      sinks: {
        webhook: { webhook_url: 'http://billing.finance.svc/events' },
        otlp: { otlp_endpoint: 'https://logs.example.co.uk:4318' },
      },
    },
  })
  assert.deepEqual(rules[0], { to: ['finance', 'models'].map(space) })
  assert.deepEqual(valueBelow(rules[1], 'ports'), [{ port: 4318, protocol: 'TCP' }])
})

test('sidecars of guardrails are reachable, in the namespace or outside', () => {
  const guardrail = (name: string, endpoint: string) => ({ name, endpoint })
  const rules = rulesOf({
    ...at('http://llama.models.svc:8000'),
    guardrails: [
      guardrail('pii', 'http://presidio.privacy.svc:9000'),
      guardrail('here', 'http://words:9000'),
      guardrail('hosted', 'https://guard.example.co.uk:9443/v1'),
    ],
  })
  assert.deepEqual(rules[0], { to: [space('ai'), space('models'), space('privacy')] })
  assert.deepEqual(valueBelow(rules[1], 'ports'), [{ port: 9443, protocol: 'TCP' }])
})

test('an address that only the pods can read allows all but link-local addresses', () => {
  const redis = { url: '${secret:redis/url}' }
  for (const gw of [at('${env:URL}'), { rate_limits: { backend: 'redis', redis } }]) {
    const [rule, ...others] = rulesOf(gw)
    assert.deepEqual(others, [])
    assert.ok(isRecord(rule) && !('ports' in rule))
    assert.match(JSON.stringify(rule), new RegExp(LINK_LOCAL))
  }
})

test('destinations of the last good configuration stay allowed for pods that start from it', () => {
  const rules = rulesOf(at('http://new.one.svc'), {}, at('http://old.two.svc'))
  assert.deepEqual(rules, [{ to: [space('one'), space('two')] }])
})

test('with named peers only these and DNS are allowed', () => {
  const egress = [{ to: [space('models')], ports: [{ port: 8000 }] }]
  assert.deepEqual(rulesOf(at('${env:URL}'), { networkPolicy: { egress } }), egress)
  assert.deepEqual(rulesOf(at('${env:URL}'), { networkPolicy: { egress: [] } }), [])
})
