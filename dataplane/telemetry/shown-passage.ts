/** A text that a vector store found for a request, without its words, as traces show it. */
export interface ShownPassage {
  /** Name of the vector store. */
  readonly store: string
  /** As the store knows it. */
  readonly id: string
  /** Similarity to the question: the higher, the nearer. */
  readonly score: number
  /** The place of origin of the text, if the store has it. */
  readonly source: string | undefined
  /** As the upstream counts them. */
  readonly tokens: number
  kept: boolean
  /** Why it is left out. */
  reason: 'max_context_tokens' | 'context_window' | undefined
}
