/** Vector stores that cannot be searched, or would show one tenant the passages of another. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDocument, load, type Row, testRefusals, testWarnings } from './documents.ts'

/** A document with one store that is used; `fields` come after, and win. */
function withStore(fields: Readonly<Record<string, string>>, others = ''): string {
  const all: Record<string, string> = {
    name: 'docs',
    provider: 'qdrant',
    endpoint: '"http://q:6333"',
    collection: 'docs',
    embedding: '{upstream: a}',
    tenant_field: 'tenant',
    ...fields,
  }
  const lines = Object.entries(all).filter(([, value]) => value !== '')
  const store = lines.map(([field, value]) => `      ${field}: ${value}`).join('\n')
  return `  vector_stores:\n${store.replace('     ', '    -')}\n${others || RETRIEVAL}`
}
const RETRIEVAL = `  retrieval:
    - {name: docs}
  routes:
    - {name: r, strategy: single, primary: a, retrieval: [docs]}`

const row = (name: string, field: string, value: string, says: string, fix: string): Row => ({
  name,
  yaml: withStore({ [field]: `${value} # here` }),
  path: `gw.vector_stores[0].${field}`,
  says,
  fix,
})

const PGVECTOR = { provider: 'pgvector', endpoint: '"postgres://u@h/d"' }

testRefusals([
  {
    name: 'no embedding',
    yaml: withStore({ name: 'docs # here', embedding: '' }),
    path: 'gw.vector_stores[0].embedding',
    says: 'no upstream makes them',
    fix: 'Add embedding',
  },
  {
    name: 'an embedding upstream without embeddings',
    yaml: `  upstreams:\n    - {name: a, provider: anthropic, model: m, api_key: "\${env:K}"}\n${withStore({ embedding: '\n        upstream: a # here' })}`,
    path: 'gw.vector_stores[0].embedding.upstream',
    says: 'anthropic has no embeddings',
    fix: 'makes vectors',
  },
  {
    name: 'a store that keeps no tenants apart',
    yaml: withStore({ name: 'docs # here', tenant_field: '' }),
    path: 'gw.vector_stores[0].tenant_field',
    says: 'every tenant could read the passages of all others',
    fix: 'shared: true',
  },
  row('shared and kept apart', 'shared', 'true', 'contradicts tenant_field', 'Remove one'),
  row('an address that is no URL', 'endpoint', 'q', 'must begin with http://', 'http://qdrant'),
  row('another scheme', 'endpoint', '"postgres://q/d"', 'is no address of qdrant', 'http://qdrant'),
  row('a query', 'endpoint', '"http://q/?a=b"', 'would be lost', 'http://qdrant'),
  row('a user', 'endpoint', '"http://u:p@q"', 'belongs in api_key', 'http://qdrant'),
  row('a path as a collection', 'collection', '"../other"', 'is not a name of', 'Correct it'),
  row('dots as a collection', 'collection', '".."', 'is not a name of', 'Correct it'),
  row('an operator as a field', 'tenant_field', '"$or"', 'is not a name of a field', 'letters'),
  row('a literal credential', 'api_key', 'secret', 'never a literal', '${env:NAME}'),
  {
    name: 'a query of SQL as a table',
    yaml: withStore({ ...PGVECTOR, collection: '"docs; DROP TABLE docs" # here' }),
    path: 'gw.vector_stores[0].collection',
    says: 'is not a name of a table',
    fix: 'Correct it',
  },
  {
    name: 'a parameter of the connection that is not read',
    yaml: withStore({ ...PGVECTOR, endpoint: '"postgres://u@h/d?host=x" # here' }),
    path: 'gw.vector_stores[0].endpoint',
    says: 'only sslmode is read',
    fix: 'postgres://',
  },
  {
    name: 'TLS that verifies nothing',
    yaml: withStore({ ...PGVECTOR, endpoint: '"postgres://u@h/d?sslmode=no-verify" # here' }),
    path: 'gw.vector_stores[0].endpoint',
    says: 'sslmode "no-verify" is not one of',
    fix: 'verify-full',
  },
  {
    name: 'a vector of chroma',
    yaml: withStore({
      provider: 'chroma',
      endpoint: '"http://c:8000"',
      vector_field: 'v # here',
    }),
    path: 'gw.vector_stores[0].vector_field',
    says: 'one vector for each passage',
    fix: 'Remove it',
  },
])

testWarnings([
  {
    name: 'a store that is never asked',
    yaml: `  vector_stores:
    - {name: docs, provider: qdrant, endpoint: "http://q:6333", collection: docs, embedding: {upstream: a}, shared: true} # here`,
    path: 'gw.vector_stores[0].name',
    says: 'not used by any retrieval',
    fix: 'Name it in a retrieval',
  },
  {
    name: 'a retrieval that no route names',
    yaml: withStore({}, '  retrieval:\n    - {name: docs} # here'),
    path: 'gw.retrieval[0].name',
    says: 'not used by any route',
    fix: 'Name it in a route',
  },
  {
    name: 'a retrieval without a store that no route names',
    yaml: `  retrieval:
    - {name: docs, top_k: 5, max_context_tokens: 2000, overflow_strategy: truncate_lowest_score} # here`,
    path: 'gw.retrieval[0].name',
    says: 'not used by any route',
    fix: 'Name it in a route',
  },
  {
    name: 'a password in a connection string',
    yaml: withStore({ ...PGVECTOR, endpoint: '"postgres://u:secret@h/d" # here' }),
    path: 'gw.vector_stores[0].endpoint',
    says: 'holds a password',
    fix: '${env:NAME}',
  },
])

test('a store in use that separates its tenants is accepted', () => {
  for (const fields of [{}, PGVECTOR, { tenant_field: 'metadata.tenant', timeout_ms: '500' }]) {
    const { problems } = load(aDocument(withStore(fields)))
    const errors = problems.filter(({ severity }) => severity === 'error')
    assert.deepEqual(errors, [])
  }
})

test('a retrieval that no route names needs no store yet', () => {
  const { problems, configuration } = load(aDocument('  retrieval:\n    - {name: docs, top_k: 5}'))
  assert.deepEqual(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  assert.ok(configuration !== undefined)
})
