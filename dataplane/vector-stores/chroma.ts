/** Chroma, by version 2 of its API: the collection is looked up once, and asked by its id. */
import { listOf, recordOf, textOf, valueBelow } from '../json/values.ts'
import type { Found, OpenVectorStore, Search, StoreSection } from './contract.ts'
import { bodyOf, HttpStore, pathPart } from './http.ts'

const DATABASE = '/api/v2/tenants/default_tenant/databases/default_database'
const NOT_FOUND = 404

interface Collection {
  readonly id: string
  /** How it measures distances. */
  readonly space: string
}

export const openChroma: OpenVectorStore = (section, whole) => new Chroma(section, whole)

class Chroma {
  readonly #section: StoreSection
  readonly #http: HttpStore
  /** The path of the database, below the endpoint. */
  readonly #database: string
  #collection: Collection | undefined

  constructor(section: StoreSection, whole: Parameters<OpenVectorStore>[1]) {
    const { api_key, endpoint } = section
    this.#section = section
    this.#http = new HttpStore(section, whole, credentialOf(api_key))
    this.#database = new URL(endpoint).pathname.includes('/databases/') ? '' : DATABASE
  }

  async search(search: Search, signal: AbortSignal): Promise<readonly Found[]> {
    const known = this.#collection
    const collection = known ?? (await this.#find(signal))
    const answered = await this.#query(collection, search, signal)
    // A collection that was made anew has another id.
    if (answered.status !== NOT_FOUND || known === undefined)
      return passagesOf(bodyOf(answered), collection)
    this.#collection = undefined
    const fresh = await this.#find(signal)
    return passagesOf(bodyOf(await this.#query(fresh, search, signal)), fresh)
  }

  close(): void {
    this.#http.close()
  }

  async #find(signal: AbortSignal): Promise<Collection> {
    const path = `${this.#database}/collections/${pathPart(this.#section.collection)}`
    const body = bodyOf(await this.#http.ask(path, signal))
    const id = textOf(body.id)
    if (id === undefined) throw new Error('its answer makes no sense')
    this.#collection = { id, space: spaceOf(body.configuration_json) }
    return this.#collection
  }

  #query({ id }: Collection, { vector, limit, tenant }: Search, signal: AbortSignal) {
    const { tenant_field: field } = this.#section
    return this.#http.ask(`${this.#database}/collections/${pathPart(id)}/query`, signal, {
      query_embeddings: [Array.from(vector)],
      n_results: limit,
      ...(field !== undefined && { where: { [field]: { $eq: tenant } } }),
      include: ['documents', 'metadatas', 'distances'],
    })
  }
}

/** Chroma's cloud reads the first, most proxies before a separate server the second. */
function credentialOf(key: string | undefined): Readonly<Record<string, string>> {
  return key === undefined ? {} : { 'x-chroma-token': key, authorization: `Bearer ${key}` }
}

function spaceOf(configuration: unknown): string {
  const spaces = ['hnsw', 'spann'].map((index) => valueBelow(configuration, index, 'space'))
  return spaces.map(textOf).find((space) => space !== undefined) ?? 'l2'
}

/** Chroma answers with a list for each vector that it was asked about: one. */
function passagesOf(body: Readonly<Record<string, unknown>>, { space }: Collection): Found[] {
  const { ids, documents, metadatas, distances } = body
  if (!Array.isArray(ids)) throw new Error('its answer makes no sense')
  const [texts, facts, measured] = [documents, metadatas, distances].map((one) =>
    listOf(listOf(one)[0]),
  )
  return listOf(ids[0]).map((id, index) => ({
    id: String(id),
    score: similarity(Number(measured?.[index]), space),
    payload: { document: texts?.[index], ...recordOf(facts?.[index]) },
  }))
}

/** Chroma measures distances: 0 is the same. */
function similarity(distance: number, space: string): number {
  return space === 'l2' ? 1 / (1 + distance) : 1 - distance
}
