/** POST /vector-stores/test of the admin API: the passages that a store finds for a question. */
import { AuxiliaryError } from '../../auxiliaries/auxiliary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { parsed, recordOf, textOf } from '../../json/values.ts'
import { type Enquiry, passagesOf, searchStore } from '../../retrieval/look-up.ts'

const TENANT = 'test'
const QUERY = 'test'
const PASSAGES = 5
const TEXT_LENGTH_MAX = 200

/** undefined if no store has the name. */
export async function testVectorStore(name: string, body: string, gateway: Gateway) {
  const { retrievals, clock } = gateway
  const store = retrievals.store(name)
  if (store === undefined) return undefined
  const { query, tenant } = recordOf(parsed(body))
  const enquiry: Enquiry = {
    text: textOf(query) ?? QUERY,
    tenant: textOf(tenant) ?? TENANT,
    requestId: gateway.newRequestId(),
    totalAt: Number.POSITIVE_INFINITY,
  }
  const { provider, collection, embedding, shared } = store.section
  const whose = shared ? {} : { tenant: enquiry.tenant }
  const facts = { name, provider, collection, embedding, ...whose, query: enquiry.text }
  const began = clock.now()
  try {
    const found = await searchStore(store, PASSAGES, enquiry, gateway)
    const passages = passagesOf(found, store, retrievals.readerOf(store)).map(
      ({ id, score, source, text }) => ({
        id,
        score,
        source,
        text: text.slice(0, TEXT_LENGTH_MAX),
      }),
    )
    const ms = clock.now() - began
    return { ...facts, ok: true, ms, passages, without_text: found.length - passages.length }
  } catch (error) {
    if (!(error instanceof AuxiliaryError)) throw error
    return { ...facts, ok: false, ms: clock.now() - began, failure: error.message }
  }
}
