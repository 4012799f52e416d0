/** One model of agentgateway's `llm` as an upstream. */
import { ANY_MODEL } from '../../../dataplane/schema/constants.ts'
import { type Draft, type Fields, put } from '../draft.ts'
import type { Field } from '../field.ts'
import { variableName } from '../names.ts'
import { type Service, serviceNamed } from '../providers.ts'
import { putEndpoint, putHeaders, putKey, putText, putUsualKey } from '../upstream-parts.ts'

/** undefined: the entry has no place, and its fields say why. */
export function upstreamOf(entry: Field, draft: Draft, providers: Field): Fields | undefined {
  const reference = entry.at('provider', 'reference')
  const shared = providers.items.find((one) => one.at('name').text === reference.text)
  const named = shared?.at('provider') ?? entry.at('provider')
  const service = serviceNamed(named.text ?? '')
  const name = entry.at('name').text
  if (service === undefined || name === undefined)
    return refuse(entry, `gw has no provider "${named.text ?? 'custom'}"`)
  const params = entry.at('params')
  const isPattern = name.endsWith(ANY_MODEL)
  const model = params.at('model').text ?? (isPattern ? ANY_MODEL : name)
  if (name.slice(0, -1).includes('*')) return refuse(entry, 'a pattern of gw has its * at the end')
  if (model.includes('*') && !(isPattern && model === ANY_MODEL))
    return refuse(entry, 'any model needs a name that ends with *')
  const upstream: Fields = {
    name: draft.names.upstreams.free(name.replace(/\/?\*$/, '') || service.provider),
    provider: service.provider,
    model,
  }
  named.changed(`provider ${service.provider}`, upstream, 'provider')
  if (reference.exists && shared !== undefined) {
    reference.changed('written out', upstream, 'provider')
    shared.at('name').changed('written out at each model', upstream, 'provider')
    putParams(shared.at('params'), upstream, service)
  }
  params.at('model').kept(upstream, 'model')
  entry.at('id').changed(`gw names it ${String(upstream.name)}`, upstream, 'name')
  putParams(params, upstream, service)
  if (service.endpoint !== undefined) upstream.endpoint ??= service.endpoint
  if (service.isOwn !== true) putUsualKey(draft, upstream, service)
  putHeaders(entry.at('requestHeaders', 'set'), upstream)
  draft.upstreams.push(upstream)
  return upstream
}

function refuse(entry: Field, why: string): undefined {
  entry.hasNoPlace(why)
  return undefined
}

function putParams(params: Field, upstream: Fields, service: Service): void {
  putSecret(params.at('apiKey'), upstream, service)
  putEndpoint(
    params.at('baseUrl').exists ? params.at('baseUrl') : params.at('hostOverride'),
    upstream,
  )
  const texts = {
    awsRegion: 'region',
    vertexRegion: 'region',
    vertexProject: 'project',
    azureApiVersion: 'api_version',
  }
  for (const [name, member] of Object.entries(texts)) putText(params.at(name), upstream, member)
  const resource = params.at('azureResourceName')
  if (resource.text === undefined) return
  const value = `https://${resource.text}.openai.azure.com`
  put(resource, upstream, 'endpoint', { value, note: 'the address of the resource' })
}

/** A text, or the path of a file. */
export function putSecret(field: Field, upstream: Fields, service: Service): void {
  const path = field.at('file')
  if (path.text !== undefined) {
    const value = `\${file:${path.text}}`
    put(path, upstream, 'api_key', { value, note: 'the content of the file' })
    return
  }
  putKey(field, upstream, { variable: variableName(String(upstream.name), 'API_KEY'), service })
}
