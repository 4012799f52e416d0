/** Tolerant spellings and their canonical form. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalize, providerNamed } from '../../../dataplane/config/document/canonical.ts'
import { aDocument, load } from './documents.ts'

const SPELLINGS: [string, string][] = [
  ['azure-openai', 'azure_openai'],
  ['Azure_OpenAI', 'azure_openai'],
  ['azure', 'azure_openai'],
  ['llama.cpp', 'llamacpp'],
  ['llama-cpp', 'llamacpp'],
  ['llama_cpp', 'llamacpp'],
  ['VLLM', 'vllm'],
  ['SGLang', 'sglang'],
  ['amazon-bedrock', 'bedrock'],
]

for (const [written, canonical] of SPELLINGS) {
  test(`the provider ${written} is read as ${canonical}`, () => {
    assert.equal(providerNamed(written), canonical)
  })
}

test('an unknown provider stays as it was written', () => {
  for (const provider of ['nonsense', 'constructor', '__proto__']) {
    const { tree } = canonicalize({ gw: { upstreams: [{ provider }] } })
    assert.deepEqual(tree, { gw: { upstreams: [{ provider }] } })
  }
})

for (const written of ['1.2', '"1.2"', 'TLSv1.2', 'tls1.2', 'TLS 1.2', 'v1.2']) {
  test(`min_version ${written} is read as TLSv1.2, for all and for one upstream`, () => {
    const { configuration } = load(
      aDocument(`  tls: {min_version: ${written}}
  upstreams:
    - {name: a, provider: vllm, model: m, endpoint: "https://a", tls: {min_version: ${written}}}
    - {name: b, provider: vllm, model: m, endpoint: "https://b"}`),
    )
    assert.equal(configuration?.gw.tls?.min_version, 'TLSv1.2')
    assert.equal(configuration?.gw.upstreams[0]?.tls?.min_version, 'TLSv1.2')
  })
}

test('bare names and objects may be mixed in the upstreams of a route', () => {
  const { configuration } = load(
    aDocument(
      '  routes:\n    - {name: r, strategy: weighted, upstreams: [{name: a, weight: 70}, {name: b, weight: 30}]}\n    - {name: s, strategy: round_robin, upstreams: [a, {name: b}]}',
    ),
  )
  assert.deepEqual(configuration?.gw.routes[1]?.upstreams, [{ name: 'a' }, { name: 'b' }])
})

test('no_proxy is a list or a text with commas, which a variable may hold', () => {
  const proxy = '  http_proxy: http://p:1\n'
  const env = { NO_PROXY: 'localhost, .svc ,10.0.0.0/8' }
  const expected = ['localhost', '.svc', '10.0.0.0/8']
  for (const written of [
    'localhost,.svc, 10.0.0.0/8',
    '[localhost, .svc, 10.0.0.0/8]',
    '${env:NO_PROXY}',
  ]) {
    const { configuration } = load(aDocument(`${proxy}  no_proxy: ${written}`), { env })
    assert.deepEqual(configuration?.gw.no_proxy, expected)
  }
})

test('a bare price list becomes models, and its paths lead back to the written ones', () => {
  const { tree, sourceOf } = canonicalize({ gw: { pricing: [{ model: 'm' }] } })
  assert.deepEqual(tree, { gw: { pricing: { models: [{ model: 'm' }] } } })
  assert.deepEqual(sourceOf(['gw', 'pricing', 'models', 0, 'input']), ['gw', 'pricing', 0, 'input'])
})

test('text that is not one of our documents is left for the schema', () => {
  for (const tree of [null, 5, {}, { gw: 5 }, { gw: { routes: 5, upstreams: [5], tls: 5 } }]) {
    assert.deepEqual(canonicalize(tree).tree, tree)
  }
})
