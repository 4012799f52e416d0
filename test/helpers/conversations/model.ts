/** A conversation with an agent and one answer of a model, independent of an API. */

/** Arguments and schemas are JSON text, so that numbers keep theirs. */
export interface Call {
  /** Empty: the upstream gives none. */
  readonly id: string
  readonly name: string
  readonly args: string
}

export interface Thinking {
  readonly text: string
  readonly signature?: string
}

export interface Result {
  readonly id: string
  readonly text: string
  readonly picture?: boolean
  readonly isError?: boolean
  readonly mark?: boolean
}

export type Turn =
  | {
      readonly who: 'user'
      readonly texts: readonly string[]
      readonly picture?: boolean
      readonly mark?: boolean
    }
  | {
      readonly who: 'model'
      readonly text: string
      readonly thinking?: Thinking
      readonly calls: readonly Call[]
    }
  | { readonly who: 'tools'; readonly results: readonly Result[]; readonly then?: string }
  /** An answer as a client of the API keeps it: members of its list, as JSON text. */
  | { readonly who: 'given'; readonly items: readonly string[]; readonly answer: Answer }

export interface Tool {
  readonly name: string
  readonly description?: string
  readonly schema: string
}

export interface Conversation {
  /** The model by the upstream's name. */
  readonly model: string
  readonly system: readonly string[]
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly maxTokens?: number
  readonly effort?: string
  readonly user?: string
  /** Cache marks after the tools and the system prompt. */
  readonly marks?: 'tools' | 'system'
  /** The gateway should set marks if the client sets none. */
  readonly isAutoMarked?: boolean
  /** The schema of a structured answer. */
  readonly format?: string
  readonly choice?: 'auto' | 'required' | 'none'
}

export interface Answer {
  readonly thinking?: Thinking
  readonly text: string
  readonly calls: readonly Call[]
  /** A picture that the model has generated. */
  readonly picture?: boolean
}

/** How a server cuts and orders an answer. */
export interface Style {
  /** Chooses the places where bytes and texts are cut. */
  readonly seed: number
  readonly between?: 'words' | 'reasoning' | 'words in the chunk'
  readonly index?: 'shared' | 'absent'
  readonly id?: 'late' | 'repeated'
  readonly name?: 'late' | 'repeated'
  readonly arguments?: 'late'
  readonly calls?: 'together' | 'in turns'
  readonly usage?: 'first' | 'each' | 'with finish' | 'absent'
  readonly finish?: 'contradicts'
  readonly pieces?: 'whole'
  readonly ending?: 'cut' | 'broken event'
}

export interface Case {
  readonly api: string
  readonly provider: string
  readonly stream: boolean
  /** The upstream also supports the client's API. */
  readonly isNative?: boolean
  readonly conversation: Conversation
  readonly answer: Answer
  readonly style: Style
  /** The client sends back only the members of its API. */
  readonly forgets: boolean
}

export const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
