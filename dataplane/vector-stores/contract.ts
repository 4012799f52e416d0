/** A vector store finds the passages that are nearest to a vector. */
import type { Section } from '../schema/index.ts'

export type StoreSection = Section['vector_stores'][number]

export interface Search {
  readonly vector: Float32Array
  /** The largest number of passages. */
  readonly limit: number
  /** Only passages of this tenant are found, unless the store is shared. */
  readonly tenant: string
}

/** One passage of the store. */
export interface Found {
  readonly id: string
  /** Similarity; higher is nearer. */
  readonly score: number
  readonly payload: Readonly<Record<string, unknown>>
}

export interface VectorStore {
  /** Nearest first. The store itself applies the filter of the tenant. */
  search(search: Search, signal: AbortSignal): Promise<readonly Found[]>
  /** Running searches still get their answers. */
  close(): void
}

export type OpenVectorStore = (section: StoreSection, whole: Section) => VectorStore
