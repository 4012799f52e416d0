/** Queries of pgvector hold names in quotes and values as parameters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { searchOf, tableOf } from '../../../dataplane/vector-stores/pgvector-query.ts'

const SECTION = {
  name: 'docs',
  provider: 'pgvector',
  endpoint: 'postgres://h/d',
  collection: 'public.docs',
  shared: false,
  timeout_ms: 2000,
} as const
const COLUMNS = [
  { name: 'id', type: 'text', space: 'pg_catalog' },
  { name: 'tenant', type: 'text', space: 'pg_catalog' },
  { name: 'metadata', type: 'jsonb', space: 'pg_catalog' },
  { name: 'embedding', type: 'vector', space: 'extensions' },
]
const SEARCH = { vector: Float32Array.of(1, 0.5), limit: 3, tenant: "acme' OR '1'='1" }

test('a tenant is a parameter, and names are in quotes', () => {
  const section = { ...SECTION, tenant_field: 'tenant' }
  const { text, values } = searchOf(tableOf(section, COLUMNS), section, SEARCH)
  assert.match(text, /FROM "public"\."docs" AS t/)
  assert.match(text, /t\."tenant" = \$3/)
  assert.match(text, /OPERATOR\("extensions"\.<=>\) \$1::"extensions"\."vector"/)
  assert.deepEqual(values, ['[1,0.5]', 3, SEARCH.tenant])
})

test('a tenant may be a member of a JSON column, whose path is a parameter', () => {
  const section = { ...SECTION, tenant_field: 'metadata.owner.name' }
  const { text, values } = searchOf(tableOf(section, COLUMNS), section, SEARCH)
  assert.match(text, /\(t\."metadata" #>> \$4::text\[\]\) = \$3/)
  assert.deepEqual(values[3], ['owner', 'name'])
})

test('quotes in a name stay a part of it', () => {
  const columns = [{ name: 'a"b\'c', type: 'vector', space: 'public' }]
  const { text } = searchOf(tableOf(SECTION, columns), { collection: 'x"; --' }, SEARCH)
  assert.match(text, /FROM "x""; --" AS t/)
  assert.match(text, /t\."a""b'c"/)
  assert.match(text, /- 'a"b''c'/)
})

for (const [what, fields, columns, says] of [
  ['no table', {}, [], /no table public\.docs/],
  ['no field of the tenant', { tenant_field: 'team' }, COLUMNS, /no field "team"/],
  ['a member of a text', { tenant_field: 'tenant.name' }, COLUMNS, /no field "tenant\.name"/],
  ['no vectors', {}, COLUMNS.slice(0, 3), /no vectors in "embedding"/],
  ['another vector', { vector_field: 'other' }, COLUMNS, /no vectors in "other"/],
] as const) {
  test(`${what} is an error that names it`, () => {
    assert.throws(() => tableOf({ ...SECTION, ...fields }, columns), says)
  })
}

test('of several vectors the named one is searched', () => {
  const columns = [...COLUMNS, { name: 'other', type: 'halfvec', space: 'public' }]
  assert.equal(tableOf(SECTION, columns).vector.name, 'embedding')
  assert.equal(tableOf({ ...SECTION, vector_field: 'other' }, columns).vector.name, 'other')
})
