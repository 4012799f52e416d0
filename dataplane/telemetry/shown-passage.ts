/** A passage that a vector store found for a request, without its text, as traces show it. */
export interface ShownPassage {
  /** Name of the vector store. */
  readonly store: string
  /** Id of the passage in the store. */
  readonly id: string
  /** Similarity to the question; higher is nearer. */
  readonly score: number
  /** The source of the text, if the store has it. */
  readonly source: string | undefined
  /** Tokens of the passage, as the upstream counts them. */
  readonly tokens: number
  kept: boolean
  /** Why the passage was left out. */
  reason: 'max_context_tokens' | 'context_window' | undefined
}
