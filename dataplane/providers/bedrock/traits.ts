/** The request members that differ between Bedrock's model families. */

import type { Json } from '../../json/values.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import {
  samplingOf as claudeSampling,
  thinkingOf as claudeThinking,
  isThinking,
} from '../anthropic/thinking.ts'
import type { ThoughtsOf } from '../anthropic/thoughts.ts'
import { effortAmong } from '../efforts.ts'
import { namedIn } from './model-name.ts'

type Settings = Pick<ProviderSettings, 'capabilities' | 'model'>

/** The request members that depend on the model. */
export interface Traits {
  /** `temperature` and `topP` of `inferenceConfig`. */
  readonly sampling: Json
  /** `effort` of `outputConfig`. */
  readonly effort?: string
  /** Members of `additionalModelRequestFields`. */
  readonly fields: Json
  /** The token limit that the thinking budget requires if the request has none. */
  readonly maxTokens?: number
  /** Whether the request enables thinking, so that the model needs its earlier thinking. */
  readonly wantsThoughts?: boolean
}

/** Profiles and deployments have custom names, so the configured facts also identify the family. */
export function isClaude({ isClaude: ofFamily, thinking }: Capabilities): boolean {
  return ofFamily === true || thinking === 'budget' || thinking === 'adaptive'
}

export function traitsOf(
  request: ChatRequest,
  settings: Settings,
  maxTokens: number | undefined,
  thoughtsOf: ThoughtsOf,
): Traits {
  const { capabilities } = settings
  if (isClaude(capabilities)) return claudeTraits(request, capabilities, maxTokens, thoughtsOf)
  const { body } = request
  const fields = reasoningFields(body, settings)
  // Reasoning requires the default sampling in one family; the other accepts any sampling.
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
  capabilities: Capabilities,
  limit: number | undefined,
  thoughtsOf: ThoughtsOf,
): Traits {
  const { effort, thinking, maxTokens } = claudeThinking(request, capabilities, limit, thoughtsOf)
  const { temperature, top_p: topP } = claudeSampling(request.body, capabilities, '')
  return {
    // Thinking requires the default sampling.
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

function reasoningFields(body: ChatBody, { capabilities, model }: Settings): Json {
  const { thinking, reasons = true, efforts = [] } = capabilities
  const asked = body.reasoning_effort
  const isAsked = reasons && thinking === 'effort' && asked !== 'none'
  const effort = isAsked ? effortAmong(asked, efforts) : undefined
  if (effort === undefined) return {}
  return namedIn(model).maker === 'amazon'
    ? { reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } }
    : { reasoning_effort: effort }
}
