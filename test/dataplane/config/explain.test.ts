/** A configuration in words, and as a JSON schema. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { kindOf } from '../../../dataplane/admin/hypothesis.ts'
import { makeJsonSchema } from '../../../dataplane/config/json-schema.ts'
import { explain } from '../../../dataplane/config/shown/explain.ts'
import { explainOrder } from '../../../dataplane/config/shown/explain-attempts.ts'
import { listBelow, valueBelow } from '../../../dataplane/json/values.ts'
import { aDocument, load } from './documents.ts'

test('an explanation has the facts about each model, and marks the written ones', () => {
  const { configuration } = load(
    aDocument(`  upstreams:
    - {name: c, provider: anthropic, endpoint: "https://c.example", model: claude-opus-4-6}
    - {name: p, provider: openai, endpoint: "https://p.example", model: m, capabilities: {reasoning: false, wires: [chat]}}
  routes:
    - {name: r, strategy: weighted, upstreams: [{name: c, weight: 1}, {name: p, weight: 1}]}`),
  )
  assert.ok(configuration)
  const text = explain(configuration)
  assert.match(
    text,
    /model claude-opus-4-6 of c: efforts low, medium, high, max; thinking adaptive; output_tokens 128000\n/,
  )
  assert.match(text, /model m of p: reasoning no \(written\); wires chat \(written\)/)
})

test('an explanation shows who may call which route, in which order, and for how long', () => {
  const { configuration } = load(
    aDocument(`  gateway: {request_timeout_seconds: 40}
  pricing: [{model: m, input: 0.5, output: 1.5}]
  slo: {ttft_p95_ms: 500, window_seconds: 60}
  aliases: {gpt-4o: r}
  routes:
    - name: r
      strategy: primary_with_fallback
      primary: a
      fallback: [b]
      overflow: {on_timeout: fallback}
      retry: {max_attempts: 2}
      timeout_seconds: 20
    - {name: s, on_unsupported: drop, strategy: weighted, upstreams: [{name: a, weight: 75}, {name: b, weight: 25}]}`),
  )
  assert.ok(configuration)
  const text = explain(configuration)
  for (const expected of [
    'route r\n  reached by model: r, or by alias gpt-4o',
    'who may call: k (tenant t)',
    'tenant t: 120 requests a minute, 30 at once, 16 simultaneous, in each replica',
    'objective: 95 % of streams begin within 500 ms, over 60 s; else an alert',
    'upstream: a (vllm m',
    'fallback 1: b (vllm m',
    'goes to a fallback: when it is silent too long, and at once while the primary is unhealthy',
    'attempts: 2 in all (retry.max_attempts)',
    'cannot do: the next upstream is asked without a failed attempt; 400 when none can',
    'cannot do: left out, and named in X-Gw-Dropped-Parameters',
    'at most 20 s in all, set by the route',
    'first content of a stream within: a 20 s, b 20 s; then the next attempt, else 504',
    'an answer that is not a stream within: a 20 s, b 20 s',
    'first content of a stream within: a 30 s, b 30 s; then 504',
    'an answer that is not a stream within: a 40 s, b 40 s',
    'at most 40 s in all, set by gateway.request_timeout_seconds',
    'every 15 s',
    'up to 8192 tokens',
    'cost of 1000 prompt and 1000 answer tokens: a 0.002 USD, b 0.002 USD',
    'a: 75 %',
    'b: 25 %',
  ]) {
    assert.ok(text.includes(expected), `${expected} is not in\n${text}`)
  }
})

test('a route with cache marks lists its upstreams that get some', () => {
  const { configuration, problems } = load(
    aDocument(`  upstreams:
    - {name: a, provider: vllm, endpoint: "http://a:8000", model: m, context_window: 8192, max_queue_depth: 1}
    - {name: b, provider: anthropic, api_key: "\${env:KEY}", model: claude-opus-5, context_window: 8192, max_queue_depth: 1, cache: auto}
  routes:
    - {name: both, strategy: primary_with_fallback, primary: b, fallback: [a], cache: auto}
    - {name: none, strategy: single, primary: b, cache: none}`),
    { env: { KEY: 'secret' } },
  )
  assert.deepEqual(problems, [])
  assert.ok(configuration)
  const [both = '', none = ''] = explain(configuration).split('\n\n')
  const line =
    'a client that sets no cache marks: b gets some; a gets none, because vllm has no cache marks'
  assert.ok(both.includes(line), both)
  assert.doesNotMatch(none, /cache mark/)
})

test('an upstream with several endpoints is explained by their source', () => {
  const { configuration } = load(aDocument())
  assert.ok(configuration)
  const { gw } = configuration
  const [first] = gw.upstreams
  const [route] = gw.routes
  assert.ok(first && route)
  for (const [endpoints, words] of [
    ['dns', 'the addresses of its name'],
    ['pods', 'the pods of its Service'],
    ['pool', 'the pods of its InferencePool'],
  ] as const) {
    const [text] = explainOrder({ ...gw, upstreams: [{ ...first, endpoints }] }, route, undefined)
    assert.match(text ?? '', new RegExp(`a \\(vllm m, the less loaded of ${words}, `))
  }
})

test('the places of an upstream are multiplied by the known numbers of pods and endpoints', () => {
  const upstreams = `  upstreams:
    - {name: a, provider: vllm, endpoint: "http://a:8000", model: m, context_window: 8192, max_queue_depth: 50}
    - {name: b, provider: vllm, endpoint: "http://b:8000", endpoints: dns, model: m, context_window: 8192, max_queue_depth: 20}
`
  const explained = (document: string) => {
    const { configuration, problems } = load(document)
    assert.ok(configuration, JSON.stringify(problems))
    return explain(configuration)
  }
  const alone = explained(aDocument(upstreams))
  assert.match(alone, /full at 50 in flight,/)
  assert.match(alone, /full at 20 in flight at each endpoint: endpoints x 20,/)
  const pods = explained(`${aDocument(upstreams)}spec: {replicas: 3}\n`)
  assert.match(pods, /full at 50 in flight from each pod: 3 pods x 50 = 150,/)
  assert.match(
    pods,
    /full at 20 in flight from each pod at each endpoint: 3 pods x endpoints x 20,/,
  )
})

test('for vectors it does not mention streams, answer tokens or passages', () => {
  const { configuration } = load(
    aDocument(`  pricing: [{model: m, input: 0.5, output: 1.5}]
  slo: {ttft_p95_ms: 500, window_seconds: 60}
  budgets: [{tenant: t, tokens_per_day: 5}]
  vector_stores: [{name: docs, provider: qdrant, endpoint: "http://q", collection: c, shared: true, embedding: {upstream: a}}]
  retrieval: [{name: docs}]
  guardrails: [{name: words, endpoint: "http://g"}]
  routes: [{name: r, strategy: single, primary: a, retrieval: [docs], guardrails: [words]}]`),
  )
  assert.ok(configuration)
  for (const operation of ['embeddings', 'rerank'] as const) {
    const text = explain(configuration, kindOf(operation))
    assert.doesNotMatch(text, /\bstreams?\b|heartbeat|max_tokens|objective|passages|answer token/)
    assert.match(text, /an answer within: a \d+ s; then 504/)
    assert.match(text, /each text up to 8192 tokens, else 400/)
    assert.match(text, /cost of 1000 prompt tokens: a 0\.0005 USD/)
    assert.match(text, /judged by guardrails: words/)
  }
  const completions = explain(configuration, kindOf('completions'))
  assert.match(completions, /first content of a stream/)
  assert.doesNotMatch(completions, /passages/)
  assert.match(explain(configuration), /passages of docs/)
})

test('the generated JSON schema is up to date', () => {
  const file = new URL('../../../dataplane/config/schema.generated.json', import.meta.url)
  const generated: unknown = JSON.parse(readFileSync(file, 'utf8'))
  assert.deepEqual(generated, JSON.parse(JSON.stringify(makeJsonSchema())), 'run make generate')
})

test('the JSON schema accepts both forms of each union', () => {
  const gw = ['properties', 'gw', 'properties']
  const places: [string[], string[]][] = [
    [
      [...gw, 'pricing'],
      ['array', 'object'],
    ],
    [
      [...gw, 'no_proxy'],
      ['string', 'array'],
    ],
    [
      [...gw, 'routes', 'items', 'properties', 'upstreams', 'items'],
      ['string', 'object', 'object'],
    ],
    [
      [...gw, 'routes', 'items', 'properties', 'fallback', 'items'],
      ['string', 'object'],
    ],
    [
      [...gw, 'upstreams', 'items', 'properties', 'model'],
      ['string', 'array'],
    ],
  ]
  const schema = makeJsonSchema()
  for (const [path, types] of places) {
    const forms = listBelow(schema, ...path, 'anyOf').map((form) => valueBelow(form, 'type'))
    assert.deepEqual(forms, types)
  }
})
