/** Chroma, by its official client: the collection is looked up once, and searched by its id. */
import type { ChromaClient } from 'chromadb'
import { listOf, recordOf, textOf, valueBelow } from '../json/values.ts'
import type { Found, OpenVectorStore, Search, StoreSection } from './contract.ts'
import { HttpStore, NO_HOST } from './http.ts'
import { StoreRefusal } from './store-answer.ts'

/** The end of an endpoint that names a database. */
const DATABASE = /\/api\/v2\/tenants\/([^/]+)\/databases\/([^/]+)\/*$/
const NOT_FOUND = 404

interface Collection {
  readonly id: string
  /** The distance measure of the collection. */
  readonly space: string
}

export const openChroma: OpenVectorStore = (section, whole) => new Chroma(section, whole)

class Chroma {
  readonly #section: StoreSection
  readonly #http: HttpStore
  readonly #place: { readonly tenant: string; readonly database: string }
  #collection: Collection | undefined

  constructor(section: StoreSection, whole: Parameters<OpenVectorStore>[1]) {
    const { endpoint, timeout_ms } = section
    const [named = '', tenant = 'default_tenant', database = 'default_database'] =
      DATABASE.exec(new URL(endpoint).pathname) ?? []
    this.#section = section
    this.#place = { tenant: decodeURIComponent(tenant), database: decodeURIComponent(database) }
    const server = endpoint.replace(/\/+$/, '').slice(0, -named.length || undefined)
    this.#http = new HttpStore({ endpoint: server, timeout_ms }, whole, needed)
  }

  async search(search: Search, signal: AbortSignal): Promise<readonly Found[]> {
    const known = this.#collection
    try {
      return await this.#ask(search, signal)
    } catch (error) {
      // A recreated collection has another id.
      const isGone = error instanceof StoreRefusal && error.status === NOT_FOUND
      if (!isGone || known === undefined) throw error
      this.#collection = undefined
      return await this.#ask(search, signal)
    }
  }

  close(): void {
    this.#http.close()
  }

  #ask(search: Search, signal: AbortSignal): Promise<Found[]> {
    return this.#http.ask(signal, async (fetchOptions) => {
      const { ChromaClient } = await import('chromadb')
      const headers = credentialOf(this.#section.api_key)
      const place = { host: NO_HOST, port: 80, ssl: false, ...this.#place }
      return await this.#query(new ChromaClient({ ...place, headers, fetchOptions }), search)
    })
  }

  async #query(client: ChromaClient, { vector, limit, tenant }: Search): Promise<Found[]> {
    const { tenant_field: field, collection: name } = this.#section
    this.#collection ??= await find(client, name)
    const { id, space } = this.#collection
    const { ids, documents, metadatas, distances } = await client.collection(id).query({
      queryEmbeddings: [Array.from(vector)],
      nResults: limit,
      ...(field !== undefined && { where: { [field]: { $eq: tenant } } }),
      include: ['documents', 'metadatas', 'distances'],
    })
    return listOf(ids[0]).map((one, index) => ({
      id: String(one),
      score: similarity(Number(listOf(distances[0])[index]), space),
      payload: { document: listOf(documents[0])[index], ...recordOf(listOf(metadatas[0])[index]) },
    }))
  }
}

async function find(client: ChromaClient, name: string): Promise<Collection> {
  const { id, configuration } = await client.getCollection({ name })
  const spaces = ['hnsw', 'spann'].map((index) => valueBelow(configuration, index, 'space'))
  return { id, space: spaces.map(textOf).find((space) => space !== undefined) ?? 'l2' }
}

/**
 * The client imports modules with the names of embedding functions in a collection's configuration and schema, even
 * harmful ones. So neither reaches it.
 */
function needed(body: Readonly<Record<string, unknown>>): object | undefined {
  const { ids, documents, metadatas, distances, include } = body
  if (Array.isArray(ids)) return { ids, documents, metadatas, distances, include }
  const { id, name, tenant, database, configuration_json } = body
  if (textOf(id) === undefined) return undefined
  const spaces = ['hnsw', 'spann'].map((index) => {
    return [index, { space: textOf(valueBelow(configuration_json, index, 'space')) }]
  })
  return { id, name, tenant, database, configuration_json: Object.fromEntries(spaces) }
}

/** Chroma's cloud reads the first, most proxies in front of a server the second. */
function credentialOf(key: string | undefined): Record<string, string> {
  return key === undefined ? {} : { 'x-chroma-token': key, authorization: `Bearer ${key}` }
}

/** Chroma measures distances: 0 means equal. */
function similarity(distance: number, space: string): number {
  return space === 'l2' ? 1 / (1 + distance) : 1 - distance
}
