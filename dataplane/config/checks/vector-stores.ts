/** Vector stores: their addresses, the names of their fields, and the tenants that may read them. */
import { PROVIDERS } from '../../providers/index.ts'
import type { Section } from '../../schema/index.ts'
import { type Finding, refuse, warn } from '../judgement/problems.ts'
import { at, type Check, quoted } from './contract.ts'
import { hasControls } from './upstreams/egress.ts'

type Store = Section['vector_stores'][number]

const SCHEMES: Readonly<Record<Store['provider'], readonly string[]>> = {
  qdrant: ['http:', 'https:'],
  chroma: ['http:', 'https:'],
  pgvector: ['postgres:', 'postgresql:'],
}
const EXAMPLES: Readonly<Record<Store['provider'], string>> = {
  qdrant: 'http://qdrant:6333',
  chroma: 'http://chroma:8000',
  pgvector: 'postgres://user@host:5432/database?sslmode=verify-full',
}
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full']
/** A name without special meaning in a path, a filter or a query; dots separate members. */
const FIELD = /^[A-Za-z_][A-Za-z0-9_ -]{0,62}(\.[A-Za-z_][A-Za-z0-9_ -]{0,62}){0,7}$/
const COLLECTION = /^(?!\.{1,2}$)[^/\\\p{C}]{1,255}$/u
const TABLE = /^[A-Za-z_][A-Za-z0-9_$-]{0,62}(\.[A-Za-z_][A-Za-z0-9_$-]{0,62})?$/

const embeddingIsThere: Check = ({ vector_stores, upstreams }) =>
  vector_stores.flatMap(({ embedding }, index) => {
    const path = at('vector_stores', index, 'embedding')
    if (embedding === undefined) {
      const message = 'is missing: a store needs vectors, and no upstream makes them'
      return [refuse(path, message, 'Add embedding: {upstream: NAME, model: NAME}.')]
    }
    const { provider } = upstreams.find(({ name }) => name === embedding.upstream) ?? {}
    const known = provider && PROVIDERS.get(provider)
    if (known === undefined || known.operations.embeddings !== undefined) return []
    const message = `cannot take effect: ${provider} has no embeddings`
    return [refuse([...path, 'upstream'], message, 'Name an upstream that makes vectors.')]
  })

const storeIsOfTenants: Check = ({ vector_stores }) =>
  vector_stores.flatMap(({ tenant_field, shared }, index) => {
    if ((tenant_field !== undefined) !== shared) return []
    if (!shared) {
      const message = 'is missing: every tenant could read the passages of all others'
      const fix = 'Name the payload field that holds the tenant, or write shared: true.'
      return [refuse(at('vector_stores', index, 'tenant_field'), message, fix)]
    }
    const message = 'contradicts tenant_field, which separates tenants'
    return [refuse(at('vector_stores', index, 'shared'), message, 'Remove one of the two.')]
  })

const addressFits: Check = ({ vector_stores }) =>
  vector_stores.flatMap(({ provider, endpoint }, index) => {
    // An unresolved reference is not an address yet.
    if (endpoint.includes('${')) return []
    const fault = addressFault(provider, URL.parse(endpoint))
    if (fault === undefined) return []
    const fix = `Write it like ${EXAMPLES[provider]}.`
    return [refuse(at('vector_stores', index, 'endpoint'), fault, fix)]
  })

function addressFault(provider: Store['provider'], url: URL | null): string | undefined {
  const schemes = SCHEMES[provider]
  if (url === null || url.hostname === '' || !schemes.includes(url.protocol))
    return `is no address of ${provider}: it must begin with ${schemes.join('// or ')}//`
  if (provider !== 'pgvector') {
    if (url.search !== '' || url.hash !== '')
      return 'holds a query or fragment, which would be lost'
    const isNamed = url.username !== '' || url.password !== ''
    return isNamed ? 'holds a user name or password; a credential belongs in api_key' : undefined
  }
  const unread = [...url.searchParams.keys()].find((name) => name !== 'sslmode')
  if (unread !== undefined)
    return `holds ${quoted(unread)}, which would be lost; only sslmode is read`
  const mode = url.searchParams.get('sslmode')
  if (mode === null || SSL_MODES.includes(mode)) return undefined
  return `sslmode ${quoted(mode)} is not one of ${SSL_MODES.join(', ')}`
}

const namesAreNames: Check = ({ vector_stores, retrieval }) => [
  ...vector_stores.flatMap((store, index) => {
    const isTable = store.provider === 'pgvector'
    const isNamed = (isTable ? TABLE : COLLECTION).test(store.collection)
    const what = isTable
      ? 'a table: letters, digits and _, optionally after a schema'
      : 'a collection'
    const fields = (['tenant_field', 'vector_field'] as const).flatMap((field) =>
      fieldFault(store[field], [...at('vector_stores', index), field]),
    )
    const path = at('vector_stores', index, 'collection')
    return isNamed
      ? fields
      : [
          refuse(path, `${quoted(store.collection)} is not a name of ${what}`, 'Correct it.'),
          ...fields,
        ]
  }),
  ...retrieval.flatMap(({ text_field }, index) =>
    fieldFault(text_field, at('retrieval', index, 'text_field')),
  ),
]

function fieldFault(field: string | undefined, path: Finding['path']): Finding[] {
  if (field === undefined || field.includes('${') || FIELD.test(field)) return []
  const message = `${quoted(field)} is not a name of a field`
  return [refuse(path, message, 'Use letters, digits, _ and -; a.b is the member b of a.')]
}

const vectorFieldIsUsed: Check = ({ vector_stores }) =>
  vector_stores.flatMap(({ provider, vector_field }, index) => {
    if (provider !== 'chroma' || vector_field === undefined) return []
    const message = 'cannot take effect: a collection of chroma has one vector for each passage'
    return [refuse(at('vector_stores', index, 'vector_field'), message, 'Remove it.')]
  })

const keysAreOneLine: Check = ({ vector_stores }) =>
  vector_stores.flatMap(({ api_key }, index) => {
    if (api_key === undefined || !hasControls(api_key)) return []
    const message = 'the value of the reference contains a line break or control character'
    const fix = 'Store the credential alone, on one line.'
    return [refuse(at('vector_stores', index, 'api_key'), message, fix)]
  })

const everythingIsUsed: Check = ({ vector_stores, retrieval, routes }) => {
  const asked = new Set(
    retrieval.flatMap(({ name, store }) => store ?? [name, only(vector_stores)]),
  )
  const used = new Set(routes.flatMap((route) => route.retrieval))
  return [
    ...vector_stores.flatMap(({ name }, index) =>
      asked.has(name)
        ? []
        : [unused(at('vector_stores', index, 'name'), `vector store ${quoted(name)}`, 'retrieval')],
    ),
    ...retrieval.flatMap(({ name }, index) =>
      used.has(name)
        ? []
        : [unused(at('retrieval', index, 'name'), `retrieval ${quoted(name)}`, 'route')],
    ),
  ]
}

function only(stores: Section['vector_stores']): string | undefined {
  return stores.length === 1 ? stores[0]?.name : undefined
}

function unused(path: Finding['path'], what: string, by: string): Finding {
  return warn(path, `${what} is not used by any ${by}`, `Name it in a ${by}, or remove it.`)
}

export const vectorStoreChecks: readonly Check[] = [
  embeddingIsThere,
  storeIsOfTenants,
  addressFits,
  namesAreNames,
  vectorFieldIsUsed,
  keysAreOneLine,
  everythingIsUsed,
]
