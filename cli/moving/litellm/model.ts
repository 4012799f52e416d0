/** One entry of LiteLLM's `model_list` as an upstream. */
import { type Draft, type Fields, put } from '../draft.ts'
import type { Field } from '../field.ts'
import { variableName } from '../names.ts'
import { putParameters } from '../parameters.ts'
import { type Service, serviceNamed, serviceOfModel } from '../providers.ts'
import {
  priceFields,
  putCount,
  putEndpoint,
  putHeaders,
  putKey,
  putPrice,
  putSeconds,
  putText,
  putUsualKey,
} from '../upstream-parts.ts'
import { putAzure, putBedrock, putVertex } from './clouds.ts'

export interface Deployment {
  readonly entry: Field
  readonly upstream: Fields
}

/** Modes whose paths the gateway serves. */
const MODES: readonly string[] = [
  ...['chat', 'completion', 'embedding', 'rerank', 'audio_transcription', 'responses'],
]

/** undefined: the entry has no place, and its fields say why. */
export function deploymentOf(entry: Field, draft: Draft): Deployment | undefined {
  const params = entry.at('litellm_params')
  const written = params.at('model').text
  if (written === undefined) return refuse(entry, 'the entry names no model')
  const mode = entry.at('model_info', 'mode')
  if (mode.text !== undefined && !MODES.includes(mode.text))
    return refuse(entry, `gw serves no ${mode.text}`)
  const named = nameOf(written, params)
  if ('why' in named) return refuse(entry, named.why)
  const { service, model } = named
  const names = entry.at('model_name').text ?? ''
  if (names.slice(0, -1).includes('*')) return refuse(entry, 'a pattern of gw has its * at the end')
  if (model.includes('*') && !names.endsWith('*'))
    return refuse(entry, 'any model needs a model_name that ends with *')
  const { provider } = service
  if (provider === 'gemini' && /^vertex/.test(named.prefix) && !/^(google\/)?gemini/.test(model))
    return refuse(entry, 'on Vertex AI gw reaches Gemini alone')
  const wanted = entry.at('model_name').text ?? model
  const isAny = model.includes('*')
  const base = wanted.replace(/\/?\*$/, '') || named.prefix
  const upstream: Fields = { name: draft.names.upstreams.free(base), provider }
  upstream.model = isAny ? '*' : model
  if (isAny && model !== '*') upstream.models = [model]
  const isSame = model === written
  put(params.at('model'), upstream, 'model', {
    value: upstream.model,
    note: isSame ? undefined : `provider ${provider}`,
  })
  params.at('custom_llm_provider').changed(`provider ${provider}`, upstream, 'provider')
  mode.changed('gw knows the operation by the path', upstream, 'model')
  putAddress(params, upstream, service)
  if (provider === 'azure_openai') putAzure(entry, upstream)
  if (provider === 'bedrock') putBedrock(params, draft, { upstream, region: named.region })
  if (/^vertex/.test(named.prefix)) putVertex(params, draft, upstream)
  const variable = variableName(String(upstream.name), 'API_KEY')
  putKey(params.at('api_key'), upstream, { variable, service })
  if (service.isOwn !== true && (provider !== 'azure_openai' || !upstream.headers))
    putUsualKey(draft, upstream, service)
  putRest(entry, draft, { upstream, mode: mode.text })
  draft.upstreams.push(upstream)
  return { entry, upstream }
}

function refuse(entry: Field, why: string): undefined {
  entry.hasNoPlace(why)
  return undefined
}

type Named =
  | { readonly service: Service; readonly prefix: string; readonly model: string; region?: string }
  | { readonly why: string }

function nameOf(written: string, params: Field): Named {
  const said = params.at('custom_llm_provider').text
  const slash = written.indexOf('/')
  const first = slash === -1 ? '' : written.slice(0, slash)
  const prefix = (said ?? (serviceNamed(first) === undefined ? '' : first)).toLowerCase()
  if (prefix === '') {
    const base = params.at('api_base').exists || params.at('base_url').exists
    const guess = serviceOfModel(written) ?? (base && slash === -1 ? 'openai' : undefined)
    const service = guess === undefined ? undefined : serviceNamed(guess)
    if (guess === undefined || service === undefined)
      return { why: `gw has no provider for ${slash === -1 ? 'this model' : `"${first}"`}` }
    return { service, prefix: guess, model: written }
  }
  const service = serviceNamed(prefix)
  if (service === undefined) return { why: `gw has no provider "${prefix}"` }
  const rest = first.toLowerCase() === prefix ? written.slice(slash + 1) : written
  const model = rest.replace(/^(converse|invoke|responses|chat|o_series)\//, '')
  if (model === '') return { why: 'the entry names no model' }
  const [, region, name] = /^([a-z]{2}(?:-[a-z]+)+-\d)\/(.+)$/.exec(model) ?? []
  if (service.provider === 'bedrock' && region !== undefined && name !== undefined)
    return { service, prefix, model: name, region }
  return { service, prefix, model }
}

function putAddress(params: Field, upstream: Fields, service: Service): void {
  const base = params.at('api_base').exists ? params.at('api_base') : params.at('base_url')
  putEndpoint(base, upstream)
  if (upstream.endpoint !== undefined) return
  if (service.endpoint !== undefined) upstream.endpoint = service.endpoint
  else if (service.isOwn === true)
    upstream.endpoint = `\${env:${variableName(service.provider, 'API_BASE')}}`
  else if (service.provider === 'azure_openai') upstream.endpoint = '${env:AZURE_API_BASE}'
}

interface Rest {
  readonly upstream: Fields
  readonly mode: string | undefined
}

function putRest(entry: Field, draft: Draft, { upstream, mode }: Rest): void {
  const params = entry.at('litellm_params')
  const info = entry.at('model_info')
  const price = String(upstream.model)
  putPrice(draft, priceFields(params, info), price, mode)
  putTimes(params, upstream)
  putParameters(params, upstream, 'default')
  putHeaders(params.at('extra_headers'), upstream)
  if (params.at('organization').exists) {
    const headers = (upstream.headers as Fields | undefined) ?? {}
    putText(params.at('organization'), headers, 'OpenAI-Organization', 'a header')
    upstream.headers = headers
  }
  const parallel = params.at('max_parallel_requests')
  if (parallel.exists) {
    const note = 'for each replica; more requests get 503'
    putCount(parallel, upstream, 'max_queue_depth', { most: 1_000_000, note })
  }
  const window = info.at('max_input_tokens')
  if (window.exists) {
    const note = 'question and answer together'
    putCount(window, upstream, 'context_window', { most: 1_000_000_000, note })
  }
  const output = info.at('max_output_tokens')
  if (output.exists) {
    const capabilities: Fields = {}
    if (putCount(output, capabilities, 'output_tokens', { most: 1_000_000_000 }))
      upstream.capabilities = capabilities
  }
  info.at('id').changed(`gw names it ${String(upstream.name)}`, upstream, 'name')
}

/** LiteLLM's `timeout` is for a whole answer; `stream_timeout` is for the first part of one. */
function putTimes(params: Field, upstream: Fields): void {
  const [stream, whole] = [params.at('stream_timeout'), params.at('timeout')]
  const note = 'until the first content of a stream, or the head of another answer'
  const first = stream.exists ? stream : whole
  if (first.exists) putSeconds(first, upstream, 'timeout_seconds', { note })
  if (stream.exists && whole.exists)
    whole.hasNoPlace('stream_timeout became the timeout of the upstream; a route may have another')
}
