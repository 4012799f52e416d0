/** One target of a Portkey configuration as an upstream. */
import { ANY_MODEL } from '../../../dataplane/schema/constants.ts'
import { type Draft, type Fields, put } from '../draft.ts'
import type { Field } from '../field.ts'
import { variableName } from '../names.ts'
import { putParameters } from '../parameters.ts'
import { type Service, serviceNamed } from '../providers.ts'
import { addRoute } from '../routes.ts'
import {
  putEndpoint,
  putHeaders,
  putKey,
  putSeconds,
  putText,
  putUsualKey,
} from '../upstream-parts.ts'

/** undefined: the target has no place, and its fields say why. */
export function targetOf(target: Field, draft: Draft, wanted: string): Fields | undefined {
  const named = target.at('provider').exists ? target.at('provider') : target.at('virtual_key')
  const service = serviceOf(named)
  if (service === undefined) return refuse(target, 'gw has no provider of this name')
  const override = target.at('override_params')
  const [model] = [
    override.at('model'),
    target.at('azure_model_name'),
    target.at('deployment_id'),
    target.at('azure_deployment_id'),
  ].filter(({ exists }) => exists)
  // Without a model the other gateway sends the name that a client sends.
  const name = model?.text?.replace(/^@[^/]+\//, '') ?? ANY_MODEL
  const upstream: Fields = { name: draft.names.upstreams.free(target.at('name').text ?? wanted) }
  upstream.provider = service.provider
  upstream.model = name
  named.changed(`provider ${service.provider}`, upstream, 'provider')
  const note = name === model?.text ? undefined : 'the model alone'
  if (model !== undefined) put(model, upstream, 'model', { value: name, note })
  target.at('name').kept(upstream, 'name')
  putParameters(override, upstream, 'force')
  putConnection(target, draft, { upstream, service })
  draft.upstreams.push(upstream)
  return upstream
}

/** A provider, or a virtual key whose name begins with one. */
function serviceOf(named: Field): Service | undefined {
  const text = (named.text ?? '').replace(/^@/, '')
  const words = text.split(/[-_/ ]/)
  const beginnings = words.map((_, index) => words.slice(0, words.length - index).join('-'))
  for (const name of beginnings) {
    const service = serviceNamed(name)
    if (service !== undefined) return service
  }
  return undefined
}

function refuse(target: Field, why: string): undefined {
  target.hasNoPlace(why)
  return undefined
}

interface Connected {
  readonly upstream: Fields
  readonly service: Service
}

function putConnection(target: Field, draft: Draft, { upstream, service }: Connected): void {
  const virtual = target.at('virtual_key')
  const variable = variableName(virtual.text ?? String(upstream.name), 'API_KEY')
  putKey(target.at('api_key'), upstream, { variable, service })
  if (virtual.exists && upstream.api_key === undefined) {
    const note = `a key of the vault: put it into the variable ${variable}`
    put(virtual, upstream, 'api_key', { value: `\${env:${variable}}`, note })
  }
  putEndpoint(target.at('custom_host'), upstream)
  if (service.endpoint !== undefined) upstream.endpoint ??= service.endpoint
  const texts = {
    aws_region: 'region',
    vertex_region: 'region',
    vertex_project_id: 'project',
    api_version: 'api_version',
    azure_api_version: 'api_version',
    openai_project: 'project',
  }
  for (const [name, member] of Object.entries(texts)) putText(target.at(name), upstream, member)
  for (const name of ['resource_name', 'azure_resource_name']) {
    const resource = target.at(name)
    if (resource.text === undefined) continue
    const value = `https://${resource.text}.openai.azure.com`
    put(resource, upstream, 'endpoint', { value, note: 'the address of the resource' })
  }
  for (const name of ['aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'])
    target.at(name).hasNoPlace('gw reads the identity of the process: set the variables there')
  if (service.provider === 'azure_openai') upstream.endpoint ??= '${env:AZURE_API_BASE}'
  if (service.provider === 'bedrock') upstream.region ??= '${env:AWS_REGION}'
  if (target.at('openai_organization').exists) {
    const headers: Fields = {}
    putText(target.at('openai_organization'), headers, 'OpenAI-Organization', 'a header')
    upstream.headers = headers
  }
  putHeaders(target.at('custom_headers'), upstream)
  if (service.isOwn !== true && service.provider !== 'azure_openai')
    putUsualKey(draft, upstream, service)
  const timeout = target.at('request_timeout')
  const note = 'in seconds, until the first content of a stream, or the head of another answer'
  if (timeout.exists && !target.at('targets').exists)
    putSeconds(timeout, upstream, 'timeout_seconds', { factor: 0.001, note })
}

/** An account with its models; clients name them `SLUG/MODEL`. */
export function integrationOf(integration: Field, draft: Draft): Fields[] {
  const provider = integration.at('provider')
  const service = serviceNamed(provider.text ?? '')
  const slug = integration.at('slug')
  if (service === undefined || slug.text === undefined) {
    integration.hasNoPlace('gw has no provider of this name')
    return []
  }
  const models = integration.at('models').items
  if (models.length === 0) return [anyModelOf(integration, draft, { service, slug })]
  return models.flatMap((model) => {
    const name = model.at('slug').text
    if (name === undefined || (model.at('status').text ?? 'active') !== 'active') {
      model.hasNoPlace('the model is not active')
      return []
    }
    const wanted = `${slug.text}/${name}`
    const upstream: Fields = { name: draft.names.upstreams.free(wanted) }
    upstream.provider = service.provider
    upstream.model = name
    const variable = variableName(slug.text ?? '', 'API_KEY')
    putKey(integration.at('credentials', 'apiKey'), upstream, { variable, service })
    if (service.endpoint !== undefined) upstream.endpoint ??= service.endpoint
    if (service.isOwn !== true) putUsualKey(draft, upstream, service)
    draft.upstreams.push(upstream)
    const route = addRoute(draft, wanted, [{ upstream }])
    provider.changed(`provider ${service.provider}`, upstream, 'provider')
    model.at('slug').kept(upstream, 'model')
    model.at('status').changed('as gw does', upstream, 'model')
    slug.changed('a part of the name', route, 'name')
    return [route]
  })
}

interface Account {
  readonly service: Service
  readonly slug: Field
}

/** An account that lists no models serves each name behind its slug. */
function anyModelOf(integration: Field, draft: Draft, { service, slug }: Account): Fields {
  const wanted = slug.text ?? ''
  const upstream: Fields = {
    name: draft.names.upstreams.free(wanted),
    provider: service.provider,
    model: ANY_MODEL,
  }
  const variable = variableName(wanted, 'API_KEY')
  putKey(integration.at('credentials', 'apiKey'), upstream, { variable, service })
  if (service.endpoint !== undefined) upstream.endpoint ??= service.endpoint
  if (service.isOwn !== true) putUsualKey(draft, upstream, service)
  draft.upstreams.push(upstream)
  const route = addRoute(draft, wanted, [{ upstream }])
  draft.aliases[`${wanted}/*`] = route.name
  integration.at('provider').changed(`provider ${service.provider}`, upstream, 'provider')
  slug.changed('a part of the name', route, 'name')
  return route
}
