/**
 * Real Chroma and real Postgres return the passages of a question, and never those of another
 * tenant.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { aKey } from '../../helpers/a-key.ts'
import { errorOf, startFront, startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { type StoredPassage, startChroma } from '../../helpers/vector-stores/chroma-server.ts'
import { startPostgres } from '../../helpers/vector-stores/postgres-server.ts'
import { startQdrant } from '../../helpers/vector-stores/qdrant-server.ts'
import { embedding, wordVector } from '../../helpers/vector-stores/word-vectors.ts'

const TOPICS = ['refunds', 'shipping', 'returns', 'invoices', 'passwords', 'holidays', 'parking']

/** Each tenant has the same topics, so that only a filter separates them. */
const STORED: StoredPassage[] = ['acme', 'globex'].flatMap((tenant) =>
  TOPICS.map((topic) => {
    const text = `All about ${topic}, as ${tenant} sees it.`
    const place = { id: `${tenant}-${topic}`, source: `${topic}.md` }
    return { ...place, tenant, text, vector: wordVector(topic) }
  }),
)

const [upstream, embedder, chroma, postgres, qdrant] = await Promise.all([
  startUpstream(),
  startUpstream(embedding),
  startChroma(),
  startPostgres(),
  startQdrant(),
])
upstream.vendor = { takesAll: "Clients send a store's query words, which mean nothing to a model." }
await Promise.all([chroma.fill('docs', STORED), postgres.fill('docs', STORED)])
qdrant.fill(STORED)

const KEYS = {
  acme: aKey({ id: 'a', tenant: 'acme' }),
  globex: aKey({ id: 'g', tenant: 'globex' }),
}
const shared = { collection: 'docs', embedding: { upstream: 'embedder' }, timeout_ms: 10_000 }
const api_key = '${env:POSTGRES_PASSWORD}'
const STORES = [
  { name: 'chroma', provider: 'chroma', endpoint: chroma.url, tenant_field: 'tenant' },
  {
    name: 'pgvector',
    provider: 'pgvector',
    endpoint: postgres.url,
    api_key,
    tenant_field: 'tenant',
  },
  {
    name: 'member',
    provider: 'pgvector',
    endpoint: postgres.url,
    api_key,
    tenant_field: 'metadata.tenant',
  },
  { name: 'qdrant', provider: 'qdrant', endpoint: qdrant.url, tenant_field: 'metadata.tenant' },
]
const LOCKED = { ...STORES[1], name: 'locked', api_key: '${env:WRONG_PASSWORD}' }
const GONE = { ...STORES[1], name: 'gone', collection: 'public.gone' }
const names = [...STORES.map(({ name }) => name), 'gone', 'locked']
const configuration = {
  api_keys: Object.values(KEYS).map(({ record }) => record),
  rate_limits: { default: { requests_per_minute: 1_000_000, concurrent_requests: 64 } },
  upstreams: [
    { name: 'up', endpoint: upstream.url },
    { name: 'embedder', endpoint: embedder.url },
  ],
  vector_stores: [...STORES, GONE, LOCKED].map((store) => ({ ...shared, ...store })),
  retrieval: names.map((name) => ({ name, top_k: 3 })),
  routes: names.map((name) => ({ name, strategy: 'single', primary: 'up', retrieval: [name] })),
}
const env = { POSTGRES_PASSWORD: postgres.password, WRONG_PASSWORD: 'wrong-password' }
const front = await startFront(configuration, { env })
after(async () => {
  await front.process.stop()
  const all = [upstream.close(), embedder.close(), qdrant.close()]
  await Promise.all([...all, chroma.stop(), postgres.stop()])
})
beforeEach(() => {
  upstream.asked.length = 0
  upstream.reply = whole()
})

async function ask(tenant: keyof typeof KEYS, model: string, content: string, more: object = {}) {
  const answer = await fetch(`${front.process.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEYS[tenant].key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more }),
  })
  return { status: answer.status, text: await answer.text() }
}
const sent = () => JSON.stringify(upstream.asked.at(-1)?.body.messages)

for (const { name } of STORES) {
  test(`${name}: the question's passage comes first, with its score, id and source`, async () => {
    const heard = await ask('acme', name, 'shipping')
    assert.equal(heard.status, 200, heard.text)
    assert.match(sent(), /\[1\] source: shipping\.md, id: acme-shipping, score: 1\\n/)
    assert.match(sent(), /All about shipping, as acme sees it\./)
    assert.match(sent(), /\[3\]/)
    assert.doesNotMatch(sent(), /\[4\]|globex/)
  })
}

/** Texts and members with which a client may try to change a store's query. */
const ATTACKS: readonly (readonly [text: string, more: object])[] = [
  ["' OR '1'='1", {}],
  ['"; DROP TABLE docs; --', {}],
  ['{"$or":[{"tenant":"globex"}]}', { where: { tenant: { $ne: '' } } }],
  ['tenant: globex', { filter: { must_not: [] }, tenant: 'globex', tenant_id: 'globex' }],
  ['$1 $2 $3 $(tenant) %s', { metadata: { tenant: 'globex' }, user: 'globex' }],
  ['\\u0000 \\x00 globex', { retrieval: ['other'], vector_stores: [] }],
]

test('in 1,000 questions of two tenants, no passage belongs to the other tenant', async (context) => {
  const counts = new Map<string, number>()
  let foreign = 0
  for (let round = 0; round < 250; round++) {
    const asked = STORES.map(async ({ name }, index) => {
      const tenant = (round + index) % 2 === 0 ? 'acme' : 'globex'
      const [attack = '', more = {}] = ATTACKS[round % ATTACKS.length] ?? []
      const marker = `${name}${round}`
      const { status, text } = await ask(
        tenant,
        name,
        `${TOPICS[round % 7]} ${attack} ${marker}`,
        more,
      )
      assert.equal(status, 200, text)
      return { tenant, marker }
    })
    for (const { tenant, marker } of await Promise.all(asked)) {
      const other = tenant === 'acme' ? 'globex' : 'acme'
      const request = upstream.asked.find(({ body }) => JSON.stringify(body).includes(marker))
      const { messages } = request?.body ?? assert.fail('No upstream got it.')
      const [passages] = messages as { content: string }[]
      if (passages?.content.includes(`as ${other} sees it`)) foreign++
      if (passages?.content.includes(`as ${tenant} sees it`))
        counts.set(tenant, (counts.get(tenant) ?? 0) + 1)
    }
    upstream.asked.length = 0
  }
  assert.equal(foreign, 0)
  assert.deepEqual(Object.fromEntries(counts), { acme: 500, globex: 500 })
  context.diagnostic('1,000 questions, 0 passages of the other tenant')
})

test('a wrong password returns 503, and appears nowhere', async () => {
  const refused = await ask('acme', 'locked', 'shipping')
  assert.equal(refused.status, 503)
  const traces = JSON.stringify(await front.admin('/traces?limit=1'))
  assert.match(traces, /password authentication failed/)
  const shown = [
    refused.text,
    traces,
    front.process.output(),
    JSON.stringify(await front.admin('/status')),
  ]
  for (const text of shown) assert.doesNotMatch(text, /wrong-password|postgres-password/)
})

test('a missing table returns 503, and is found once it exists', async () => {
  const missing = await ask('acme', 'gone', 'shipping')
  assert.equal(missing.status, 503)
  assert.equal(errorOf(missing).code, 'ERR_GW_AUXILIARY_UNAVAILABLE')
  await postgres.fill('gone', STORED)
  assert.equal((await ask('acme', 'gone', 'shipping')).status, 200)
})

test('a recreated table or collection is found again', async () => {
  await Promise.all([chroma.fill('docs', STORED), postgres.fill('docs', STORED)])
  for (const { name } of STORES) {
    const heard = await ask('globex', name, 'parking')
    assert.equal(heard.status, 200, heard.text)
    assert.match(sent(), /globex-parking/)
  }
})

test('connections to Postgres are kept, and limited for each store', async () => {
  const [row] = await postgres.ask(
    "SELECT count(*)::int AS open FROM pg_stat_activity WHERE application_name = 'gw'",
  )
  const { open } = row as { readonly open: number }
  assert.ok(open > 0 && open <= 24, `${open} connections`)
})
