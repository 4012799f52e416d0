/** Writes a chat completion request for Bedrock's Converse API. */

import { type Json, recordOf, rowOf, textOf } from '../../json/values.ts'
import type { ChatBody, ChatRequest } from '../../wire/inner-form.ts'
import type { Capabilities } from '../../wire/models/capabilities.ts'
import type { ProviderSettings } from '../../wire/provider.ts'
import { membersLeftOut, refuseUnsupported } from '../../wire/unsupported.ts'
import { CANNOT, jsonInstruction, stopsOf } from '../anthropic/request.ts'
import { NO_THOUGHTS, thoughtsFor } from '../anthropic/thoughts.ts'
import { limitOf } from '../limits.ts'
import { unmarkedBody, withFewMarks } from '../marks.ts'
import { closedSchema, objectSchema } from '../schemas.ts'
import { facts } from './facts.ts'
import { conversationOf, systemOf } from './messages.ts'
import { metadataOf } from './metadata.ts'
import { toolsOf } from './tools.ts'
import { isClaude, traitsOf } from './traits.ts'

/** Members that the gateway translates for every model. */
const TAKEN = new Set([
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'model',
  'parallel_tool_calls',
  'response_format',
  'stop',
  'stream',
  'stream_options',
  'tool_choice',
  'tools',
])
const TIERS: Readonly<Record<string, string>> = {
  default: 'default',
  flex: 'flex',
  priority: 'priority',
}

export function converseRequest(
  request: ChatRequest,
  settings: Pick<ProviderSettings, 'capabilities' | 'model'>,
  bound: number | undefined,
): Json {
  const { capabilities, model } = settings
  const body =
    capabilities.marks === false ? unmarkedBody(request.body) : withFewMarks(request.body)
  refuseUnsupported(facts.name, body, CANNOT)
  const limit = limitOf(body, bound, capabilities)
  const thoughtsOf = thoughtsFor(model, request)
  const traits = traitsOf(request, settings, limit, thoughtsOf)
  const { sampling, effort, fields, wantsThoughts, maxTokens = limit } = traits
  const { toolConfig, choice } = toolsOf(body, capabilities)
  const stops = stopsOf(body)
  const inference = {
    ...(maxTokens !== undefined && { maxTokens }),
    ...sampling,
    ...(stops.length > 0 && { stopSequences: stops }),
  }
  const output = { ...textFormat(body, capabilities), ...(effort !== undefined && { effort }) }
  const system = systemOf(body.messages, jsonInstruction(body))
  const tier = rowOf(TIERS, body.service_tier)
  return {
    ...(system.length > 0 && { system }),
    messages: conversationOf(body.messages, wantsThoughts ? thoughtsOf : NO_THOUGHTS),
    ...filled('inferenceConfig', inference),
    ...(toolConfig && { toolConfig }),
    ...filled('additionalModelRequestFields', { ...fields, ...choice }),
    ...filled('outputConfig', output),
    ...filled('requestMetadata', metadataOf(body)),
    ...(tier !== undefined && { serviceTier: { type: tier } }),
  }
}

/** The members of the client's request that `sent` omits. */
export function leftOutOf(body: ChatBody, sent: Json): string[] {
  const { temperature, topP } = recordOf(sent.inferenceConfig)
  const { thinking, reasoningConfig, reasoning_effort } = recordOf(
    sent.additionalModelRequestFields,
  )
  const { effort } = recordOf(sent.outputConfig)
  const labels = recordOf(sent.requestMetadata)
  const said: Json = {
    temperature,
    top_p: topP,
    reasoning_effort: effort ?? thinking ?? reasoningConfig ?? reasoning_effort,
    service_tier: sent.serviceTier,
    user: labels.user,
    safety_identifier: labels.user,
    metadata: sent.requestMetadata,
  }
  return membersLeftOut(body, TAKEN, CANNOT).filter((name) => rowOf(said, name) === undefined)
}

function filled(name: string, members: Json): Json {
  return Object.keys(members).length > 0 ? { [name]: members } : {}
}

function textFormat(body: ChatBody, capabilities: Capabilities): Json {
  const format = recordOf(body.response_format)
  if (format.type !== 'json_schema') return {}
  const { schema, name, description } = recordOf(format.json_schema)
  const whole = objectSchema(schema)
  const jsonSchema = {
    schema: JSON.stringify(isClaude(capabilities) ? closedSchema(whole) : whole),
    ...(textOf(name) && { name }),
    ...(textOf(description) && { description }),
  }
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } }
}
