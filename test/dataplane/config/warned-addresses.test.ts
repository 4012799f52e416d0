/** Credentials that would cross the Internet unencrypted: a warning, and refused if warnings are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDocument, load, type Row, testWarnings } from './documents.ts'

const upstream = (endpoint: string, fields: string) =>
  `  upstreams: [{name: a, provider: openai, endpoint: "${endpoint}", model: m, context_window: 8192, max_queue_depth: 5${fields}}] # here
  routes: [{name: r, strategy: single, primary: a}]
`
const KEY = ', api_key: "${env:K}"'
const row = (name: string, yaml: string, path: string, fix = 'https://'): Row => ({
  ...{ name, yaml, path: `gw.${path}`, fix },
  says: 'over the network unencrypted',
})

testWarnings([
  row(
    'a key for a public host',
    upstream('http://api.vendor.com/v1', KEY),
    'upstreams[0].endpoint',
  ),
  row('a key for a public address', upstream('http://8.8.8.8', KEY), 'upstreams[0].endpoint'),
  row(
    'a credential among the headers',
    upstream('http://api.vendor.com', ', headers: {x-goog-api-key: "${env:K}"}'),
    'upstreams[0].endpoint',
  ),
  row(
    'a credential under any name',
    upstream('http://api.vendor.com', ', headers: {x-pass: "${env:K}"}'),
    'upstreams[0].endpoint',
  ),
  row(
    'a key of a vector store',
    '  vector_stores: [{name: v, provider: qdrant, endpoint: "http://q.vendor.com", collection: c, api_key: "${env:K}"}] # here\n',
    'vector_stores[0].endpoint',
  ),
  row(
    'a credential of a guardrail',
    '  guardrails: [{name: g, endpoint: "http://g.vendor.com", apply: [input], headers: {authorization: "Bearer ${env:K}"}}] # here\n',
    'guardrails[0].endpoint',
  ),
  row(
    'a credential of alerts',
    '  alerts: {webhook_url: "http://h.vendor.com", headers: {authorization: "${env:K}"}} # here\n',
    'alerts.webhook_url',
  ),
  row(
    'a credential of the collector',
    '  telemetry: {otlp_endpoint: "http://o.vendor.com", otlp_headers: {authorization: "${env:K}"}} # here\n',
    'telemetry.otlp_endpoint',
  ),
  row(
    'a password for the proxy',
    '  http_proxy: "http://u:word@p.vendor.com:3128" # here\n',
    'http_proxy',
  ),
])

const clear = (yaml: string) =>
  load(aDocument(yaml), { env: { K: 'secret' } }).problems.filter(({ message }) =>
    message.includes('unencrypted'),
  ).length

for (const host of [
  ...['localhost', '127.0.0.1', '127.8.0.1', '[::1]', '10.1.2.3', '172.16.0.1', '172.31.9.9'],
  ...['192.168.1.1', '100.64.0.1', '[fd12::1]', '[::ffff:10.0.0.1]', 'vllm', 'vllm.models.svc'],
  ...['vllm.models.svc.cluster.local', 'vllm.models.svc.', 'a.localhost'],
  ...['host.docker.internal', 'nas.local', 'box.home.arpa'],
]) {
  test(`a key for ${host} stays in its network`, () => {
    assert.equal(clear(upstream(`http://${host}:8000`, KEY)), 0)
  })
}

for (const host of [
  ...[
    '172.32.0.1',
    '172.15.0.1',
    '11.0.0.1',
    '192.169.0.1',
    '100.128.0.1',
    '[2001:db8::1]',
    '[::ffff:8.8.8.8]',
  ],
  ...[
    'svc.vendor.com',
    'index.svc.vendor.com',
    'my-svc.com',
    'cluster.local.vendor.com',
    'internal.vendor.com',
    '0x08080808',
    'a.b',
  ],
]) {
  test(`a key for ${host} leaves it`, () => {
    assert.equal(clear(upstream(`http://${host}:8000`, KEY)), 1)
    assert.equal(clear(upstream(`https://${host}:8000`, KEY)), 0)
    assert.equal(clear(upstream(`http://${host}:8000`, '')), 0)
  })
}
