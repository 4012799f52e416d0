/** The kinds of vector store, by the name of their provider. */
import { openChroma } from './chroma.ts'
import type { OpenVectorStore, StoreSection } from './contract.ts'
import { openPgvector } from './pgvector.ts'
import { openQdrant } from './qdrant.ts'

export const VECTOR_STORES: Readonly<Record<StoreSection['provider'], OpenVectorStore>> = {
  qdrant: openQdrant,
  pgvector: openPgvector,
  chroma: openChroma,
}
