/** The gateway asks Qdrant as its official client does, and reads the same passages out of the answer. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { QdrantClient } from '@qdrant/js-client-rest'
import { GatewaySection } from '../../../dataplane/config/schema/index.ts'
import { openQdrant } from '../../../dataplane/vector-stores/qdrant.ts'
import { startQdrant } from '../../helpers/vector-stores/qdrant-server.ts'

const qdrant = await startQdrant('my docs')
after(() => qdrant.close())

const VECTOR = Float32Array.of(1, 0.5)

test('requests and answers are those of the official client', async () => {
  const passage = { text: 'Hello.', tenant: 'acme', source: 'a.md' }
  qdrant.fill([
    { ...passage, id: 'a', vector: [1, 0.5] },
    { ...passage, id: 'b', vector: [0.5, 1], tenant: 'globex' },
  ])
  const whole = GatewaySection.parse({
    upstreams: [{ name: 'up', provider: 'openai', model: 'm' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    vector_stores: [
      {
        name: 'docs',
        provider: 'qdrant',
        endpoint: qdrant.url,
        collection: 'my docs',
        api_key: 'secret',
        tenant_field: 'metadata.tenant',
        vector_field: 'text',
      },
    ],
  })
  const store = openQdrant(whole.vector_stores[0] ?? assert.fail(), whole)
  const search = { vector: VECTOR, limit: 3, tenant: 'acme' }
  const found = await store.search(search, new AbortController().signal)
  store.close()

  const client = new QdrantClient({
    url: qdrant.url,
    headers: { 'api-key': 'secret' },
    checkCompatibility: false,
  })
  const { points } = await client.query('my docs', {
    query: [...VECTOR],
    using: 'text',
    filter: { must: [{ key: 'metadata.tenant', match: { value: 'acme' } }] },
    limit: 3,
    with_payload: true,
  })

  const [own, theirs] = qdrant.asked
  assert.equal(own?.path, theirs?.path)
  assert.deepEqual(own?.body, theirs?.body)
  assert.equal(own?.headers['api-key'], theirs?.headers['api-key'])
  assert.deepEqual(
    found,
    points.map(({ id, score, payload }) => ({ id, score, payload })),
  )
})
