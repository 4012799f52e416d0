/** The names of Bedrock's models, and what their families differ in as far as a request shows it. */

import { rowOf, textOf } from '../../json/values.ts'
import type { ChatBody } from '../../wire/inner-form.ts'
import {
  samplingOf as claudeSampling,
  thinkingOf as claudeThinking,
  isThinking,
} from '../anthropic/models.ts'
import type { ThoughtsOf } from '../anthropic/thoughts.ts'
import { type ModelName, namedIn } from './model-name.ts'

type Json = Readonly<Record<string, unknown>>

/** The members of a request that depend on its model. */
export interface Traits {
  /** `temperature` and `topP` of `inferenceConfig`. */
  readonly sampling: Json
  /** `effort` of `outputConfig`. */
  readonly effort?: string
  /** Of `additionalModelRequestFields`. */
  readonly fields: Json
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
  body: ChatBody,
  model: string,
  maxTokens: number | undefined,
  thoughtsOf: ThoughtsOf,
): Traits {
  if (isClaude(model)) return claudeTraits(body, namedIn(model).name, maxTokens, thoughtsOf)
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
  body: ChatBody,
  name: string,
  maxTokens: number = Number.POSITIVE_INFINITY,
  thoughtsOf: ThoughtsOf,
): Traits {
  const { effort, thinking } = claudeThinking(body, name, maxTokens, thoughtsOf)
  const { temperature, top_p: topP } = claudeSampling(body, name, '')
  return {
    // Thinking goes only with the default sampling.
    sampling: {
      ...(thinking === undefined && temperature !== undefined && { temperature }),
      ...(thinking === undefined && topP !== undefined && { topP }),
    },
    ...(effort !== undefined && { effort }),
    fields: { ...(thinking && { thinking }) },
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
