/** Writes a chat completion request as Gemini's API wants it. */
import type { ChatBody, ChatRequest } from '../../../inner-form.ts'
import { isRecord, listOf, recordOf, rowOf, textOf } from '../../../json/values.ts'
import type { ProviderSettings } from '../../contract.ts'
import { thinkingOf } from '../models.ts'
import type { Signatures } from '../signatures.ts'
import { contentsOf } from './contents.ts'
import { systemOf } from './instructions.ts'
import { toolMembers } from './tools.ts'
import { unsupported } from './unsupported.ts'

type Json = Readonly<Record<string, unknown>>

const CHOICES_MAX = 8
const STOPS_MAX = 5
const SEED_MAX = 2_147_483_647
/** By OpenAI's names; the default and the others ask for nothing here. */
const SERVICE_TIERS: Readonly<Record<string, string>> = { flex: 'flex', priority: 'priority' }

export function generateRequest(
  request: ChatRequest,
  { model }: ProviderSettings,
  bound: number | undefined,
  signatures: Signatures,
): Json {
  const { body } = request
  refuseUntranslatable(body)
  const system = systemOf(body.messages)
  const config = configOf(body, model, bound)
  const tier = rowOf(SERVICE_TIERS, body.service_tier)
  return {
    contents: contentsOf(body.messages, signatures.of(model)),
    ...(system !== '' && { systemInstruction: { parts: [{ text: system }] } }),
    ...toolMembers(body),
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
    ...(tier && { serviceTier: tier }),
  }
}

/** Refuses members that would silently mean something else; hints are left out. */
function refuseUntranslatable(body: ChatBody): void {
  if (typeof body.n === 'number' && body.n > CHOICES_MAX) {
    throw unsupported('n', `There are at most ${CHOICES_MAX} choices.`)
  }
  if (Object.keys(recordOf(body.logit_bias)).length > 0) {
    throw unsupported('logit_bias', 'The API has no bias of tokens; leave logit_bias out.')
  }
  if (listOf(body.modalities).includes('audio')) {
    throw unsupported('modalities', 'Answers are text; leave modalities out.')
  }
  if (isRecord(body.web_search_options)) {
    throw unsupported('web_search_options', 'Searches are not translated.')
  }
  if (listOf(body.functions).length > 0) {
    throw unsupported('functions', 'Functions are not translated; send tools.')
  }
}

function configOf(body: ChatBody, model: string, bound: number | undefined): Json {
  const limit = body.max_completion_tokens ?? body.max_tokens ?? bound
  const stops = stopsOf(body)
  return {
    ...(typeof limit === 'number' && { maxOutputTokens: limit }),
    ...numbersOf(body),
    ...(stops.length > 0 && { stopSequences: stops }),
    ...logprobsOf(body),
    ...formatOf(body),
    ...thinkingOf(body, model),
  }
}

/** Those that equal the default of OpenAI's API ask for nothing, and older models refuse some of them. */
function numbersOf(body: ChatBody): Json {
  const { n, seed, temperature, top_p: topP } = body
  const { presence_penalty: presence, frequency_penalty: frequency } = body
  const isSeed = Number.isInteger(seed) && Math.abs(Number(seed)) <= SEED_MAX
  return {
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof topP === 'number' && { topP }),
    ...(typeof n === 'number' && n > 1 && { candidateCount: n }),
    ...(isSeed && { seed }),
    ...(typeof presence === 'number' && presence !== 0 && { presencePenalty: presence }),
    ...(typeof frequency === 'number' && frequency !== 0 && { frequencyPenalty: frequency }),
  }
}

function stopsOf(body: ChatBody): unknown[] {
  const stops = typeof body.stop === 'string' ? [body.stop] : listOf(body.stop)
  const said = stops.filter((stop) => textOf(stop) !== undefined)
  if (said.length <= STOPS_MAX) return said
  throw unsupported('stop', `There are at most ${STOPS_MAX} stops.`)
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
