/** The facts about a model that affect requests, and the rows of the tables that contain them. */
import type { Encoding } from './encodings.ts'

/** From least to most. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/** How a request enables thinking: with a budget of tokens, without a limit, or by an effort. */
export const THINKING_FORMS = ['budget', 'adaptive', 'effort'] as const
export type ThinkingForm = (typeof THINKING_FORMS)[number]

/** The message members that return unsigned thinking. */
export const THINKING_MEMBERS = ['reasoning_content', 'reasoning', 'thinking'] as const
export type ThinkingMember = (typeof THINKING_MEMBERS)[number]

/** How conversations become one text for a runtime that does not do that. */
export const CHAT_TEMPLATES = ['chatml', 'llama3', 'inst', 'gemma'] as const
export type ChatTemplate = (typeof CHAT_TEMPLATES)[number]

/** An absent fact is unknown; the provider then treats the model like its newest ones. */
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
  readonly chatTemplate?: ChatTemplate
}

export type Fact = keyof Capabilities

/** The facts in the words of the page of models. */
export const FACTS: Readonly<Record<Fact, string>> = {
  contextWindow: 'most tokens of prompt and answer together',
  encoding: 'the encoding for exact counts of prompts',
  outputTokens: 'most tokens of an answer, with its thinking',
  thinkingTokens: 'most tokens of thinking',
  reasons: 'whether it accepts an effort; otherwise the gateway omits the effort',
  efforts: 'the efforts that it accepts; another effort becomes the next of these',
  thinking: 'how a request enables thinking: budget, adaptive or effort',
  budgets: 'whether it also accepts a budget of tokens',
  thinkingOff:
    'how a request disables thinking: by a type of thinking, by omission (unsaid), or not at all (never)',
  summary: 'whether it returns its thinking only if a summary is requested',
  sampling: 'whether it accepts temperature and top_p while it reasons',
  thinkingMember: 'the member that returns unsigned thinking; none: the gateway omits it',
  marks: 'whether it accepts cache marks',
  outputMost: 'the limit that replaces a larger limit of a client',
  nameMax: 'most letters in the name of a tool',
  idMax: 'most letters in the id of a call',
  responses: 'the chats that it accepts only as responses',
  limitMember: 'the only member that limits its answer',
  refused: 'members that it refuses: the gateway omits them, and a header names them',
  paints: 'whether it answers with pictures',
  ownPictures: 'whether its messages may contain its own pictures',
  signs: 'whether it refuses a history of calls without signatures',
  isClaude: 'whether it accepts additional members of Anthropic',
  vectors:
    'how a request asks for vectors: as a prediction, for the content, or with their purpose',
  sizesVectors: 'whether a request may set the length of its vectors',
  chatTemplate: 'how the gateway writes a conversation as one text',
}

/** The APIs that serve a model. */
export const WIRES = ['chat', 'responses', 'messages'] as const

/** The facts about an upstream's model that a configuration may set. */
export interface WrittenCapabilities {
  readonly reasoning?: boolean | undefined
  readonly efforts?: readonly Effort[] | undefined
  readonly thinking?: ThinkingForm | undefined
  readonly thinking_tokens?: number | undefined
  readonly thinking_member?: ThinkingMember | undefined
  readonly output_tokens?: number | undefined
  readonly tool_name_length?: number | undefined
  readonly call_id_length?: number | undefined
  readonly chat_template?: ChatTemplate | undefined
  readonly wires?: readonly (typeof WIRES)[number][] | undefined
}
export type WrittenName = keyof WrittenCapabilities

/** The configured facts with other names. */
export const WRITTEN_AS: Readonly<Record<Exclude<WrittenName, 'wires'>, Fact>> = {
  reasoning: 'reasons',
  efforts: 'efforts',
  thinking: 'thinking',
  thinking_tokens: 'thinkingTokens',
  thinking_member: 'thinkingMember',
  output_tokens: 'outputMost',
  tool_name_length: 'nameMax',
  call_id_length: 'idMax',
  chat_template: 'chatTemplate',
}

/** A row of a table. The first row that matches a model and has a fact defines it. */
export interface ModelRow extends Capabilities {
  /** The models by the provider's names, without a date. */
  readonly of: RegExp
  /** The day on which the source was read. */
  readonly checked: string
  /** The source: the vendor's document, or the package of types or prices. */
  readonly source: string
}
