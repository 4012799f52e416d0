/** The names of Bedrock's models, and what their families differ in as far as a request shows it. */

import { type Json, rowOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import type { Cacheable } from '../../wire/provider-facts.ts'
import { cacheable as ofClaude } from '../anthropic/cacheable.ts'
import {
  samplingOf as claudeSampling,
  thinkingOf as claudeThinking,
  isThinking,
} from '../anthropic/models.ts'
import type { ThoughtsOf } from '../anthropic/thoughts.ts'
import { type ModelName, namedIn } from './model-name.ts'

/** The members of a request that depend on its model. */
export interface Traits {
  /** `temperature` and `topP` of `inferenceConfig`. */
  readonly sampling: Json
  /** `effort` of `outputConfig`. */
  readonly effort?: string
  /** Of `additionalModelRequestFields`. */
  readonly fields: Json
  /** The limit of tokens that its budget of thinking needs, where the request has none. */
  readonly maxTokens?: number
  /** Whether it is asked to think, and wants its earlier thinking back. */
  readonly wantsThoughts?: boolean
}

/** How the efforts of the API are called by models that know three of them. */
const THREE_EFFORTS: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
}

export function isClaude(model: string): boolean {
  return namedIn(model).name.startsWith('claude-')
}

export function traitsOf(
  request: ChatRequest,
  model: string,
  maxTokens: number | undefined,
  thoughtsOf: ThoughtsOf,
): Traits {
  const { body } = request
  if (isClaude(model)) return claudeTraits(request, namedIn(model).name, maxTokens, thoughtsOf)
  const fields = reasoningFields(body, namedIn(model))
  // Reasoning goes only with the default sampling in the one family, and with any in the other.
  const isFixed = 'reasoningConfig' in fields
  return { sampling: isFixed ? {} : samplingOf(body), fields }
}

function samplingOf({ temperature, top_p: topP }: ChatBody): Json {
  return {
    ...(typeof temperature === 'number' && { temperature: Math.min(temperature, 1) }),
    ...(typeof topP === 'number' && { topP }),
  }
}

function claudeTraits(
  request: ChatRequest,
  name: string,
  limit: number | undefined,
  thoughtsOf: ThoughtsOf,
): Traits {
  const { effort, thinking, maxTokens } = claudeThinking(request, name, limit, thoughtsOf)
  const { temperature, top_p: topP } = claudeSampling(request.body, name, '')
  return {
    // Thinking goes only with the default sampling.
    sampling: {
      ...(thinking === undefined && temperature !== undefined && { temperature }),
      ...(thinking === undefined && topP !== undefined && { topP }),
    },
    ...(effort !== undefined && { effort }),
    fields: { ...(thinking && { thinking }) },
    ...(maxTokens !== undefined && { maxTokens }),
    wantsThoughts: isThinking(thinking),
  }
}

function reasoningFields(body: ChatBody, { maker, name }: ModelName): Json {
  const asked = textOf(body.reasoning_effort)
  if (asked === undefined || asked === 'none') return {}
  const effort = rowOf(THREE_EFFORTS, asked)
  if (effort !== undefined && maker === 'amazon' && name.startsWith('nova-2')) {
    return { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } }
  }
  return effort !== undefined && name.startsWith('gpt-oss') ? { reasoning_effort: effort } : {}
}

/** 2026-11-26, https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html. */
const OLD_CLAUDE = /^claude-(?:instant|3-(?:opus|sonnet|haiku|5-sonnet))/
const NOVA = /^nova-(?:micro|lite|pro|premier)$/
const OF_NOVA: Cacheable = { from: 1_000, to: 20_000 }

/** undefined for a model that takes no marks, and for one whose name does not say what it is. */
export function cacheable(model: string): Cacheable | undefined {
  const { name } = namedIn(model)
  if (name.startsWith('claude-')) return OLD_CLAUDE.test(name) ? undefined : ofClaude(name)
  return NOVA.test(name) ? OF_NOVA : undefined
}
