/** Passages that a store found for a request: what is kept of them, and why the others are not. */

export interface Passage {
  /** Name of the vector store. */
  readonly store: string
  /** As the store knows it. */
  readonly id: string
  /** Similarity to the question: the higher, the nearer. */
  readonly score: number
  readonly text: string
  /** Where the text comes from, where the store says so. */
  readonly source: string | undefined
  /** As the upstream counts them. */
  readonly tokens: number
  kept: boolean
  /** Why it is left out. */
  reason: 'max_context_tokens' | 'context_window' | undefined
}

/** As traces show it: the words stay in the store. */
export type ShownPassage = Omit<Passage, 'text'>
