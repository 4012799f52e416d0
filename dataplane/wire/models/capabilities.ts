/** The facts about a model, as far as a request shows them, and the row of a table that has them. */
import type { Encoding } from './encodings.ts'

/** From least to most. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/** How a model is asked to think: a budget of tokens, as long as it likes, or an effort. */
export const THINKING_FORMS = ['budget', 'adaptive', 'effort'] as const
export type ThinkingForm = (typeof THINKING_FORMS)[number]

/** The members of a message in which unsigned thinking goes back. */
export const THINKING_MEMBERS = ['reasoning_content', 'reasoning', 'thinking'] as const
export type ThinkingMember = (typeof THINKING_MEMBERS)[number]

/** A fact that is absent is not known, and what the provider does for its newest models holds. */
export interface Capabilities {
  readonly contextWindow?: number
  readonly encoding?: Encoding
  readonly outputTokens?: number
  readonly thinkingTokens?: number
  readonly reasons?: boolean
  readonly efforts?: readonly Effort[]
  readonly thinking?: ThinkingForm
  readonly budgets?: boolean
  readonly thinkingOff?: 'disabled' | 'between_tools' | 'unsaid' | 'never'
  readonly summary?: boolean
  readonly sampling?: boolean
  readonly thinkingMember?: ThinkingMember | 'none'
  readonly marks?: boolean
  readonly outputMost?: number
  readonly nameMax?: number
  readonly idMax?: number
  readonly responses?: 'with_effort' | 'with_tools' | 'always' | 'never'
  readonly limitMember?: 'max_tokens' | 'max_completion_tokens'
  readonly refused?: readonly string[]
  readonly paints?: boolean
  readonly ownPictures?: boolean
  readonly signs?: boolean
  readonly isClaude?: boolean
  readonly vectors?: 'predict' | 'content' | 'purpose'
  readonly sizesVectors?: boolean
}

export type Fact = keyof Capabilities

/** The facts as the page of models explains them. */
export const FACTS: Readonly<Record<Fact, string>> = {
  contextWindow: 'most tokens of prompt and answer together',
  encoding: 'the encoding with which prompts are counted exactly',
  outputTokens: 'most tokens of an answer with its thinking',
  thinkingTokens: 'most tokens of thinking',
  reasons: 'whether it takes an effort; else the effort is left out',
  efforts: 'the efforts that it takes; another one becomes the next of these',
  thinking: 'how it is asked to think: budget, adaptive or effort',
  budgets: 'whether it takes a budget of tokens besides',
  thinkingOff:
    'how it is asked for no thinking: a type of thinking, unsaid where it thinks only if asked, never where it always thinks',
  summary: 'whether it shows its thinking only if asked for a summary',
  sampling: 'whether it takes temperature and top_p while it reasons',
  thinkingMember: 'the member in which unsigned thinking goes back; none: it is left out',
  marks: 'whether it takes cache marks',
  outputMost: 'the limit in the place of a larger one of a client',
  nameMax: 'most letters in the name of a tool',
  idMax: 'most letters in the id of a call',
  responses: 'the chats that it takes as responses alone',
  limitMember: 'the only member that bounds its answer',
  refused: 'members that it refuses: they are left out, and a header names them',
  paints: 'whether it answers with pictures',
  ownPictures: 'whether its messages may hold the pictures that it painted',
  signs: 'whether it refuses a history of calls without signatures',
  isClaude: 'whether it takes what Anthropic has beside the members of the API',
  vectors: 'how it is asked for vectors: to predict, for the content, or with their purpose',
  sizesVectors: 'whether a request may say the length of its vectors',
}

/** APIs in which a model may be asked. */
export const WIRES = ['chat', 'responses', 'messages'] as const

/** The facts that a configuration writes about an upstream's model. */
export interface WrittenCapabilities {
  readonly reasoning?: boolean | undefined
  readonly efforts?: readonly Effort[] | undefined
  readonly thinking?: ThinkingForm | undefined
  readonly thinking_tokens?: number | undefined
  readonly thinking_member?: ThinkingMember | undefined
  readonly output_tokens?: number | undefined
  readonly tool_name_length?: number | undefined
  readonly call_id_length?: number | undefined
  readonly wires?: readonly (typeof WIRES)[number][] | undefined
}
export type WrittenName = keyof WrittenCapabilities

/** The facts that are written under other names. */
export const WRITTEN_AS: Readonly<Record<Exclude<WrittenName, 'wires'>, Fact>> = {
  reasoning: 'reasons',
  efforts: 'efforts',
  thinking: 'thinking',
  thinking_tokens: 'thinkingTokens',
  thinking_member: 'thinkingMember',
  output_tokens: 'outputMost',
  tool_name_length: 'nameMax',
  call_id_length: 'idMax',
}

/** A row of a table: the first row that matches a model and has a fact says it. */
export interface ModelRow extends Capabilities {
  /** The models, by their names as the provider has them, without a date. */
  readonly of: RegExp
  /** The day on which the source was read. */
  readonly checked: string
  /** The vendor's document, or the package of types or prices, that says it. */
  readonly source: string
}
