/** Qdrant, by its official client: the query of points. */
import type { QdrantClient } from '@qdrant/js-client-rest'
import { listOf, recordOf } from '../json/values.ts'
import type { Found, OpenVectorStore, StoreSection } from './contract.ts'
import { HttpStore, NO_HOST } from './http.ts'

export const openQdrant: OpenVectorStore = (section, whole) => {
  const http = new HttpStore(section, whole)
  let opened: Promise<QdrantClient> | undefined
  return {
    async search({ vector, limit, tenant }, signal) {
      opened ??= openClient(section)
      const api = (await opened).api()
      const asked = {
        collection_name: section.collection,
        query: Array.from(vector),
        ...(section.vector_field !== undefined && { using: section.vector_field }),
        ...filterOf(section, tenant),
        limit,
        with_payload: true,
      }
      const { data } = await http.ask(signal, (options) => api.queryPoints(asked, options))
      return pointsOf(data)
    },
    close: () => http.close(),
  }
}

/** The package is loaded with the first search, because most gateways have no such store. */
async function openClient({ api_key }: StoreSection): Promise<QdrantClient> {
  const { QdrantClient } = await import('@qdrant/js-client-rest')
  return new QdrantClient({
    host: NO_HOST,
    // As a header: given as a key, the client would choose https and warn.
    headers: api_key === undefined ? {} : { 'api-key': api_key },
    // Otherwise the client requests a version at once, and replaces our signal.
    checkCompatibility: false,
    timeout: Number.POSITIVE_INFINITY,
  })
}

function filterOf({ tenant_field: key }: StoreSection, tenant: string): object {
  return key === undefined ? {} : { filter: { must: [{ key, match: { value: tenant } }] } }
}

function pointsOf({ result }: Readonly<Record<string, unknown>>): Found[] {
  const { points } = recordOf(result)
  if (!Array.isArray(points)) throw new Error('its answer is not valid')
  return listOf(points).map((point) => {
    const { id, score, payload } = recordOf(point)
    return { id: String(id), score: Number(score), payload: recordOf(payload) }
  })
}
