/** Qdrant: `POST /collections/{name}/points/query`. */
import { listOf, recordOf } from '../json/values.ts'
import type { Found, OpenVectorStore, StoreSection } from './contract.ts'
import { bodyOf, HttpStore, pathPart } from './http.ts'

export const openQdrant: OpenVectorStore = (section, whole) => {
  const { api_key } = section
  const http = new HttpStore(section, whole, api_key === undefined ? {} : { 'api-key': api_key })
  const path = `/collections/${pathPart(section.collection)}/points/query`
  return {
    async search({ vector, limit, tenant }, signal) {
      const asked = {
        query: Array.from(vector),
        ...(section.vector_field !== undefined && { using: section.vector_field }),
        ...filterOf(section, tenant),
        limit,
        with_payload: true,
      }
      return pointsOf(bodyOf(await http.ask(path, signal, asked)))
    },
    close: () => http.close(),
  }
}

function filterOf({ tenant_field: key }: StoreSection, tenant: string): object {
  return key === undefined ? {} : { filter: { must: [{ key, match: { value: tenant } }] } }
}

function pointsOf({ result }: Readonly<Record<string, unknown>>): Found[] {
  const { points } = recordOf(result)
  if (!Array.isArray(points)) throw new Error('its answer makes no sense')
  return listOf(points).map((point) => {
    const { id, score, payload } = recordOf(point)
    return { id: String(id), score: Number(score), payload: recordOf(payload) }
  })
}
