/**
 * POST /v1/rerank and /v2/rerank through a gateway process, between Cohere's SDKs and scripted
 * upstreams.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CohereClient, CohereClientV2 } from 'cohere-ai'
import { failing, type Reply, startFront, startUpstream } from '../helpers/fake-upstream.ts'

type Fields = Readonly<Record<string, unknown>>

const TOKENS = 7
const DOCUMENTS = ['zero', 'one', 'two']

/**
 * Answers as vLLM does: each document with its text, in the order of the request; later ones have
 * better scores.
 */
const scoring: Reply = (outgoing, { body }) => {
  const results = [body.documents].flat().map((text, index) => ({
    index,
    document: { text },
    relevance_score: index / 4,
  }))
  const usage = { prompt_tokens: TOKENS, total_tokens: TOKENS }
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify({ id: 'rerank-1', model: 'served', usage, results }))
}

/** Answers as Cohere does: no text, no tokens, and the billed amount. */
const searching: Reply = (outgoing, { body }) => {
  const all = [body.documents].flat().map((_, index) => ({ index, relevance_score: index / 4 }))
  const results = all.reverse().slice(0, Number(body.top_n ?? all.length))
  const meta = { api_version: { version: '2' }, billed_units: { search_units: 1 } }
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify({ id: 'r-1', results, meta }))
}

const runtime = await startUpstream(scoring)
const spare = await startUpstream(scoring)
const vendor = await startUpstream(searching)
const [url, health_check] = [runtime.url, { path: '/ok' }]
const front = await startFront({
  upstreams: [
    { name: 'own', provider: 'vllm', endpoint: url, health_check },
    { name: 'spare', provider: 'vllm', endpoint: spare.url, health_check },
    { name: 'other', provider: 'vllm', endpoint: spare.url, health_check, model: 'another' },
    { name: 'small', provider: 'vllm', endpoint: url, health_check, context_window: 100 },
    { name: 'hosted', provider: 'cohere', endpoint: vendor.url, model: 'rank-v4' },
    { name: 'talker', provider: 'anthropic', endpoint: url },
  ],
  routes: [
    { name: 'order', strategy: 'single', primary: 'own' },
    { name: 'safe', strategy: 'primary_with_fallback', primary: 'own', fallback: ['spare'] },
    { name: 'strict', strategy: 'primary_with_fallback', primary: 'own', fallback: ['other'] },
    { name: 'short', strategy: 'single', primary: 'small' },
    { name: 'search', strategy: 'single', primary: 'hosted' },
    { name: 'words', strategy: 'single', primary: 'talker' },
  ],
  pricing: [
    { model: 'served', input: 10, output: 1000 },
    { model: 'rank-v4', input: 0, output: 0, search: 0.002 },
  ],
  budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000 }],
})
after(() => Promise.all([front.process, runtime, spare, vendor].map(close)))

const close = (one: { stop(): Promise<unknown> } | { close(): Promise<unknown> }) =>
  'stop' in one ? one.stop() : one.close()

async function post(body: Fields, path = '/v1/rerank') {
  const answer = await fetch(front.process.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'order', query: 'Which?', documents: DOCUMENTS, ...body }),
  })
  const json = JSON.parse(await answer.text())
  return { status: answer.status, headers: answer.headers, json, error: json.error }
}

const scores = (...indices: readonly number[]) =>
  indices.map((index) => ({ index, relevance_score: index / 4 }))

test("both of Cohere's SDKs read a ranking from a runtime and from the vendor", async () => {
  const settings = { token: front.key, environment: front.process.url }
  for (const model of ['order', 'search']) {
    const asked = { model, query: 'Which?', documents: DOCUMENTS, topN: 2 }
    const second = await new CohereClientV2(settings).rerank(asked)
    assert.deepEqual(
      second.results.map(({ index, relevanceScore }) => [index, relevanceScore]),
      [
        [2, 0.5],
        [1, 0.25],
      ],
    )
    const first = await new CohereClient(settings).rerank({ ...asked, returnDocuments: true })
    assert.deepEqual(
      first.results.map(({ document }) => document?.text),
      ['two', 'one'],
    )
    if (model === 'search') assert.equal(first.meta?.billedUnits?.searchUnits, 1)
  }
  assert.equal(vendor.asked.at(-1)?.path, '/v2/rerank')
  assert.equal(vendor.asked.at(-1)?.headers.authorization, 'Bearer upstream-credential')
})

test('the best documents come first, and their texts only if a client asks for them', async () => {
  const { json } = await post({ documents: ['zero', { text: 'one' }, 'two'], user: 'u' })
  assert.deepEqual(json, {
    id: 'rerank-1',
    model: 'served',
    results: scores(2, 1, 0),
    usage: { prompt_tokens: TOKENS, total_tokens: TOKENS },
  })
  const { path, body } = runtime.asked.at(-1)!
  assert.equal(path, '/v1/rerank')
  assert.deepEqual(body, { model: 'served', query: 'Which?', documents: DOCUMENTS })
  const shown = await post({ top_n: 1, return_documents: true }, '/v2/rerank')
  assert.deepEqual(shown.json.results, [
    { index: 2, relevance_score: 0.5, document: { text: 'two' } },
  ])
})

test('the answer names members of documents that no model reads', async () => {
  const { headers } = await post({ documents: ['zero', { text: 'one', title: 'One', id: 1 }] })
  assert.equal(headers.get('x-gw-dropped-parameters'), 'documents.title, documents.id')
  assert.deepEqual(runtime.asked.at(-1)?.body.documents, ['zero', 'one'])
})

test('a search is charged at its price', async () => {
  const cost = () => front.value('gw_cost_usd_total{route="search",upstream="hosted"}')
  const before = await cost()
  assert.equal((await post({ model: 'search' })).status, 200)
  assert.ok(Math.abs((await cost()) - before - 0.002) < 1e-12)
})

test('documents of a large body are returned too', async () => {
  const documents = [`zero ${'x'.repeat(600_000)}`, 'one', `two ${'y'.repeat(600_000)}`]
  const { status, json } = await post({ documents, return_documents: true })
  assert.equal(status, 200)
  assert.deepEqual(
    json.results.map((one: { document: Fields }) => one.document.text),
    documents.toReversed(),
  )
})

test('an invalid request is refused by name and reaches no upstream', async () => {
  const before = runtime.asked.length
  const wrong: readonly (readonly [Fields, string])[] = [
    [{ query: undefined }, 'query'],
    [{ query: '' }, 'query'],
    [{ documents: undefined }, 'documents'],
    [{ documents: 'one' }, 'documents'],
    [{ documents: [] }, 'documents'],
    [{ documents: Array(10_001).fill('a') }, 'documents'],
    [{ documents: ['a', ''] }, 'documents[1]'],
    [{ documents: ['a', { title: 'b' }] }, 'documents[1]'],
    [{ top_n: -1 }, 'top_n'],
    [{ return_documents: 'yes' }, 'return_documents'],
    [{ max_tokens_per_doc: 0 }, 'max_tokens_per_doc'],
  ]
  for (const [body, param] of wrong) {
    const { status, error } = await post(body)
    assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_INVALID_REQUEST', param])
  }
  assert.equal(runtime.asked.length, before)
})

test('each document must fit the context window together with the query', async () => {
  const many = { model: 'short', documents: Array(20).fill('x'.repeat(100)) }
  assert.equal((await post(many)).status, 200)
  const { status, error } = await post({ model: 'short', documents: ['a', 'x'.repeat(500)] })
  assert.deepEqual(
    [status, error.code, error.param],
    [400, 'ERR_GW_CONTEXT_OVERFLOW', 'documents[1]'],
  )
})

test('documents that only the upstream finds too long are refused by name', async () => {
  runtime.script.push(failing(400, { code: 'context_length_exceeded' }))
  const { status, error } = await post({})
  assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_CONTEXT_OVERFLOW', 'documents'])
})

test('a route without an upstream that ranks refuses with the name of the provider', async () => {
  const { status, error } = await post({ model: 'words' })
  assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_INVALID_REQUEST', 'model'])
  assert.match(error.message, /rerank \(anthropic/)
})

test('the next upstream of the same model answers for a failed one, and another model never does', async () => {
  runtime.script.push(failing(500))
  const { status, headers, json } = await post({ model: 'safe' })
  assert.deepEqual([status, headers.get('x-gw-upstream')], [200, 'spare'])
  assert.deepEqual(json.results, scores(2, 1, 0))
  const before = spare.asked.length
  runtime.reply = failing(500)
  assert.equal((await post({ model: 'strict' })).status, 502)
  runtime.reply = scoring
  assert.equal(spare.asked.length, before)
})

test('the tokens of query and documents are charged and traced, and estimated if the upstream reports none', async () => {
  const spent = 'gw_budget_tokens_used{tenant="acme",window="day"}'
  const before = await front.value(spent)
  const { json, headers } = await post({
    model: 'search',
    query: '1234',
    documents: ['12345678', '1234'],
  })
  // The query is read with each of them.
  assert.equal(json.usage.prompt_tokens, 5)
  const trace = await front.admin(`/traces/${headers.get('x-request-id')}`)
  assert.deepEqual(
    [
      trace.path,
      trace.operation,
      trace.prompt_tokens,
      trace.completion_tokens,
      trace.usage_estimated,
    ],
    ['/v1/rerank', 'rerank', 5, 0, true],
  )
  await post({})
  assert.equal(await front.value(spent), before + 5 + TOKENS)
  const timed = 'gw_request_duration_seconds_count{route="order",upstream="own",operation="rerank"}'
  assert.ok((await front.value(timed)) > 0)
})

test('explain predicts the result of a request', async () => {
  const { verdict } = await front.admin('/explain?model=words&operation=rerank&prompt_tokens=50')
  assert.match(JSON.stringify(verdict), /no upstream for rerank/)
  const fine = await front.admin('/explain?model=order&operation=rerank&prompt_tokens=50')
  assert.equal(fine.verdict.status, 200)
})
