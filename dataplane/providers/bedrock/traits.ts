/** The members of a request in which the families of Bedrock's models differ. */

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

/** Profiles and deployments have names of your choice, so what is written of them tells the family, too. */
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
  capabilities: Capabilities,
  limit: number | undefined,
  thoughtsOf: ThoughtsOf,
): Traits {
  const { effort, thinking, maxTokens } = claudeThinking(request, capabilities, limit, thoughtsOf)
  const { temperature, top_p: topP } = claudeSampling(request.body, capabilities, '')
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
