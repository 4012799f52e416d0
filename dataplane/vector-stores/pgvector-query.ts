/** The queries of pgvector: the columns of a table, and the rows of a tenant that are nearest to a vector. */
import type { Search, StoreSection } from './contract.ts'

export interface Column {
  readonly name: string
  readonly type: string
  /** The schema of the type. */
  readonly space: string
}

/** The facts about a table that a search needs. */
export interface Table {
  readonly vector: Column
  /** An expression of the row, and its parameter in addition to the tenant. */
  readonly tenant: { readonly expression: string; readonly path: readonly string[] } | undefined
  readonly id: string | undefined
}

export interface Query {
  readonly text: string
  readonly values: unknown[]
}

const VECTORS = new Set(['vector', 'halfvec'])
const DOCUMENTS = new Set(['json', 'jsonb'])

export function columnsOf(collection: string): Query {
  const text = `SELECT a.attname AS name, t.typname AS type, n.nspname AS space
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`
  return { text, values: [relation(collection)] }
}

/** Throws if the table lacks a column that the configuration needs. */
export function tableOf(section: StoreSection, columns: readonly Column[]): Table {
  const { collection, vector_field, tenant_field } = section
  if (columns.length === 0) throw new Error(`there is no table ${collection}`)
  const named = new Map(columns.map((column) => [column.name, column]))
  const vectors = columns.filter(({ type }) => VECTORS.has(type))
  const vector =
    vector_field === undefined && vectors.length === 1
      ? vectors[0]
      : vectors.find(({ name }) => name === (vector_field ?? 'embedding'))
  if (vector === undefined)
    throw new Error(`table ${collection} has no vectors in "${vector_field ?? 'embedding'}"`)
  const tenant = tenant_field === undefined ? undefined : tenantOf(tenant_field, named)
  if (tenant_field !== undefined && tenant === undefined)
    throw new Error(`table ${collection} has no field "${tenant_field}"`)
  return { vector, tenant, id: ['id', 'uuid'].find((name) => named.has(name)) }
}

/** A column, or a member of a JSON column: `metadata.tenant`. */
function tenantOf(field: string, columns: ReadonlyMap<string, Column>): Table['tenant'] {
  if (columns.has(field)) return { expression: `t.${quoted(field)}`, path: [] }
  const [first = '', ...path] = field.split('.')
  const column = columns.get(first)
  if (column === undefined || path.length === 0 || !DOCUMENTS.has(column.type)) return undefined
  return { expression: `(t.${quoted(first)} #>> $4::text[])`, path }
}

export function searchOf(
  { vector, tenant, id }: Table,
  { collection }: Pick<StoreSection, 'collection'>,
  { vector: asked, limit, tenant: whose }: Search,
): Query {
  const column = `t.${quoted(vector.name)}`
  const type = `${quoted(vector.space)}.${quoted(vector.type)}`
  const distance = `${column} OPERATOR(${quoted(vector.space)}.<=>) $1::${type}`
  const filter = tenant === undefined ? '' : ` AND ${tenant.expression} = $3`
  const name = id === undefined ? 't.ctid::text' : `t.${quoted(id)}::text`
  return {
    text: `SELECT ${name} AS id, 1 - (${distance}) AS score, to_jsonb(t) - ${literal(vector.name)} AS payload
      FROM ${relation(collection)} AS t
      WHERE ${column} IS NOT NULL${filter} ORDER BY ${distance} LIMIT $2`,
    values: [
      `[${asked.join(',')}]`,
      limit,
      ...(tenant === undefined ? [] : [whose]),
      ...(tenant === undefined || tenant.path.length === 0 ? [] : [tenant.path]),
    ],
  }
}

/** `schema.table` or `table`. */
function relation(collection: string): string {
  return collection.split('.').map(quoted).join('.')
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
