/** A vector store finds the passages that are nearest to a vector. */
import type { Section } from '../schema/index.ts'

export type StoreSection = Section['vector_stores'][number]

export interface Search {
  readonly vector: Float32Array
  /** The most passages that are wanted. */
  readonly limit: number
  /** Only passages of this tenant are found, unless the store is shared. */
  readonly tenant: string
}

/** One passage as the store keeps it. */
export interface Found {
  readonly id: string
  /** Similarity: the higher, the nearer. */
  readonly score: number
  readonly payload: Readonly<Record<string, unknown>>
}

export interface VectorStore {
  /** Nearest first. The store itself applies the filter of the tenant. */
  search(search: Search, signal: AbortSignal): Promise<readonly Found[]>
  /** Searches that are under way still get their answers. */
  close(): void
}

export type OpenVectorStore = (section: StoreSection, whole: Section) => VectorStore
