/** Writes a chat completion request for Gemini's API. */

import { isRecord, type Json, listOf, recordOf, rowOf, textOf } from '../../../json/values.ts'
import type { ChatBody, ChatRequest } from '../../../wire/inner-form.ts'
import type { Capabilities } from '../../../wire/models/capabilities.ts'
import type { ProviderSettings } from '../../../wire/provider.ts'
import { membersLeftOut, refuseUnsupported, unsupported } from '../../../wire/unsupported.ts'
import { limitOf } from '../../limits.ts'
import { facts } from '../facts.ts'
import type { Signatures } from '../signatures.ts'
import { thinkingOf } from '../thinking.ts'
import { contentsOf } from './contents.ts'
import { systemOf } from './instructions.ts'
import { toolMembers } from './tools.ts'

const CHOICES_MAX = 8
const STOPS_MAX = 5
const SEED_MAX = 2_147_483_647
/** Modalities by OpenAI's names; other values request nothing here. */
const SERVICE_TIERS: Readonly<Record<string, string>> = { flex: 'flex', priority: 'priority' }
const NO_PICTURES =
  'ask it through /v1/chat/completions or /v1/responses, which support pictures, or use a model that answers in text'
/** Members that the API does not have. */
const CANNOT = ['audio', 'function_call', 'functions', 'logit_bias', 'web_search_options']
/** Members that the gateway translates. */
const TAKEN = new Set([
  'frequency_penalty',
  'logprobs',
  'max_completion_tokens',
  'max_tokens',
  'messages',
  'modalities',
  'model',
  'n',
  'parallel_tool_calls',
  'presence_penalty',
  'response_format',
  'stop',
  'stream',
  'stream_options',
  'temperature',
  'tool_choice',
  'tools',
  'top_logprobs',
  'top_p',
])

/** A request for the upstream, and the client's members that it omits. */
export interface Translated {
  readonly sent: Json
  readonly leftOut: readonly string[]
}

export function generateRequest(
  request: ChatRequest,
  settings: ProviderSettings,
  bound: number | undefined,
  signatures: Signatures,
): Translated {
  const { body } = request
  const { capabilities } = settings
  refuseUnsupported(facts.name, body, CANNOT)
  // The picture would cost money, and no client of this API could show it.
  if (capabilities.paints && !request.takesPictures)
    throw unsupported(facts.name, 'model', NO_PICTURES)
  const system = systemOf(body.messages)
  const hints = hintsOf(body, capabilities)
  const said = { ...configOf(body, bound, capabilities), ...modalitiesOf(body, capabilities) }
  const config = { ...said, ...hints.seed, ...hints.reasoning_effort }
  const sent = {
    contents: contentsOf(body.messages, signatures.of(settings, request)),
    ...(system !== '' && { systemInstruction: { parts: [{ text: system }] } }),
    ...toolMembers(body),
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
    ...hints.service_tier,
  }
  const leftOut = membersLeftOut(body, TAKEN, CANNOT)
  return { sent, leftOut: leftOut.filter((name) => rowOf(hints, name) === undefined) }
}

/** The members for hints that some models or values support; undefined: the gateway omits the hint. */
function hintsOf(body: ChatBody, capabilities: Capabilities) {
  const { seed } = body
  const isSeed = Number.isInteger(seed) && Math.abs(Number(seed)) <= SEED_MAX
  const tier = rowOf(SERVICE_TIERS, body.service_tier)
  return {
    seed: isSeed ? { seed } : undefined,
    service_tier: tier === undefined ? undefined : { serviceTier: tier },
    reasoning_effort: thinkingOf(body, capabilities),
  }
}

function configOf(body: ChatBody, bound: number | undefined, capabilities: Capabilities): Json {
  const limit = limitOf(body, bound, capabilities)
  const stops = stopsOf(body)
  return {
    ...(typeof limit === 'number' && { maxOutputTokens: limit }),
    ...numbersOf(body),
    ...(stops.length > 0 && { stopSequences: stops }),
    ...logprobsOf(body),
    ...formatOf(body),
  }
}

/** Other models answer with text alone anyway. */
function modalitiesOf({ modalities }: ChatBody, { paints }: Capabilities): Json {
  const asked = listOf(modalities)
  if (asked.length === 0 || (asked.every((one) => one === 'text') && !paints)) return {}
  if (asked.every((one) => one === 'text' || one === 'image'))
    return { responseModalities: asked.map((one) => String(one).toUpperCase()) }
  throw unsupported(facts.name, 'modalities', 'ask for text and image alone')
}

/** Values that equal OpenAI's defaults are omitted, because older models refuse some of them. */
function numbersOf(body: ChatBody): Json {
  const { n, temperature, top_p: topP } = body
  const { presence_penalty: presence, frequency_penalty: frequency } = body
  if (typeof n === 'number' && n > CHOICES_MAX) {
    throw unsupported(facts.name, 'n', `send at most n: ${CHOICES_MAX}`)
  }
  return {
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof topP === 'number' && { topP }),
    ...(typeof n === 'number' && n > 1 && { candidateCount: n }),
    ...(typeof presence === 'number' && presence !== 0 && { presencePenalty: presence }),
    ...(typeof frequency === 'number' && frequency !== 0 && { frequencyPenalty: frequency }),
  }
}

function stopsOf(body: ChatBody): unknown[] {
  const stops = typeof body.stop === 'string' ? [body.stop] : listOf(body.stop)
  const said = stops.filter((stop) => textOf(stop) !== undefined)
  if (said.length <= STOPS_MAX) return said
  throw unsupported(facts.name, 'stop', `send at most ${STOPS_MAX} of them`)
}

function logprobsOf(body: ChatBody): Json {
  if (body.logprobs !== true) return {}
  const top = body.top_logprobs
  return { responseLogprobs: true, ...(typeof top === 'number' && top > 0 && { logprobs: top }) }
}

function formatOf(body: ChatBody): Json {
  const format = recordOf(body.response_format)
  if (format.type !== 'json_object' && format.type !== 'json_schema') return {}
  const { schema } = recordOf(format.json_schema)
  const isGiven = format.type === 'json_schema' && isRecord(schema)
  return {
    responseMimeType: 'application/json',
    ...(isGiven && { responseJsonSchema: schema }),
  }
}
