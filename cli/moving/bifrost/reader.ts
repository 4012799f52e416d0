/** Bifrost's `config.json`: its providers with their keys; `bifrost-governance.ts` has virtual keys. */
import { ANY_MODEL } from '../../../dataplane/schema/constants.ts'
import { type Draft, type Fields, put } from '../draft.ts'
import type { Field } from '../field.ts'
import { serviceNamed } from '../providers.ts'
import { addRoute, putRetries, type RouteEntry } from '../routes.ts'
import { putCount, putEndpoint, putHeaders, putSeconds, putUsualKey } from '../upstream-parts.ts'
import { putGovernance } from './governance.ts'
import { putKeyOf } from './keys.ts'

export function readBifrost(root: Field, draft: Draft): void {
  const routes = new Map<string, RouteEntry[]>()
  const retries: { readonly field: Field; readonly prefix: string }[] = []
  for (const provider of root.at('providers').members) {
    for (const [name, members] of membersOf(provider, draft))
      routes.set(name, [...(routes.get(name) ?? []), ...members])
    const field = provider.at('network_config', 'max_retries')
    if (field.exists) retries.push({ field, prefix: `${provider.name}/` })
  }
  for (const [name, members] of routes) addNamed(draft, name, members)
  for (const { field, prefix } of retries) {
    const own = draft.routes.filter(({ name }) => `${String(name)}/`.startsWith(prefix))
    putRetries(field, own)
  }
  putGovernance(root.at('governance'), draft)
  putClient(root.at('client'), draft)
  for (const name of ['config_store', 'logs_store', 'vector_store', 'mcp', 'plugins', 'framework'])
    root.at(name).hasNoPlace(REASONS[name] ?? '')
  root.at('$schema').changed('a schema for editors, which gw has too')
}

const REASONS: Readonly<Record<string, string>> = {
  config_store: 'gw keeps its configuration in the file',
  logs_store: 'gw writes its log to standard output',
  vector_store: 'gw keeps no answers; retrieval searches stores of yours',
  mcp: 'gw serves no tools',
  plugins: 'gw has no plugins; see guardrails',
  framework: '`gw pricing import` takes prices from a list',
}

/** Clients write the provider before any model, so a route for all of them has an alias for this beginning. */
function addNamed(draft: Draft, name: string, members: readonly RouteEntry[]): void {
  if (!name.endsWith(`/${ANY_MODEL}`)) addRoute(draft, name, members)
  else draft.aliases[name] = addRoute(draft, name.slice(0, -2), members).name
}

/** The upstreams of a provider, by the names that clients send: `openai/gpt-4o`. */
function membersOf(provider: Field, draft: Draft): Map<string, RouteEntry[]> {
  const routes = new Map<string, RouteEntry[]>()
  const base = provider.at('custom_provider_config', 'base_provider_type')
  const service = serviceNamed(base.text ?? provider.name)
  if (service === undefined) {
    provider.hasNoPlace(`gw has no provider "${base.text ?? provider.name}"`)
    return routes
  }
  for (const key of provider.at('keys').items) {
    const models = modelsOf(key)
    if (models.length === 0) {
      key.hasNoPlace('the key names no model that gw can name')
      continue
    }
    const weight = key.at('weight')
    for (const model of models) {
      const name = `${provider.name}/${model.name}`
      const isAny = model.name === ANY_MODEL
      const upstream: Fields = { name: draft.names.upstreams.free(isAny ? provider.name : name) }
      upstream.provider = service.provider
      upstream.model = model.name
      base.changed(`provider ${service.provider}`, upstream, 'provider')
      model.field?.kept(upstream, 'model')
      putNetwork(provider, upstream)
      if (service.endpoint !== undefined) upstream.endpoint ??= service.endpoint
      putKeyOf(key, upstream, { service, model: model.name })
      if (service.isOwn !== true && service.provider !== 'azure_openai')
        putUsualKey(draft, upstream, service)
      draft.upstreams.push(upstream)
      const member = { upstream, weight: weight.exists ? weight : undefined }
      routes.set(name, [...(routes.get(name) ?? []), member])
    }
  }
  return routes
}

interface Model {
  readonly name: string
  /** undefined: the key names no model, so it may use all. */
  readonly field: Field | undefined
}

/** The models that a key names, or has deployments of; a key with neither may use any model. */
function modelsOf(key: Field): Model[] {
  const excluded = key.at('blacklisted_models').items.map(({ text }) => text)
  const listed = key.at('models').items.flatMap((field) => {
    const { text } = field
    return text === undefined || (text !== ANY_MODEL && text.includes('*'))
      ? []
      : [{ name: text, field }]
  })
  const deployed = key.at('azure_key_config', 'deployments').members.map((field) => ({
    name: field.name,
    field,
  }))
  const isOpen = key.at('models').items.length === 0 && deployed.length === 0
  const named = listed.length > 0 ? listed : deployed
  const models = isOpen ? [{ name: ANY_MODEL, field: undefined }] : named
  return models.filter(({ name }) => !excluded.includes(name))
}

function putNetwork(provider: Field, upstream: Fields): void {
  const network = provider.at('network_config')
  putEndpoint(network.at('base_url'), upstream)
  putHeaders(network.at('extra_headers'), upstream)
  const timeout = network.at('default_request_timeout_in_seconds')
  const note = 'until the first content of a stream, or the head of another answer'
  if (timeout.exists) putSeconds(timeout, upstream, 'timeout_seconds', { note })
  const most = provider.at('concurrency_and_buffer_size', 'concurrency')
  if (most.exists)
    putCount(most, upstream, 'max_queue_depth', { most: 1_000_000, note: 'for each replica' })
}

function putClient(client: Field, draft: Draft): void {
  const size = client.at('max_request_body_size_mb')
  if (size.number !== undefined && size.number >= 1) {
    const value = Math.min(1_073_741_824, Math.floor(size.number * 1_048_576))
    put(size, draft.gateway, 'max_request_bytes', { value, note: 'in bytes' })
  }
  const origins = client.at('allowed_origins')
  if (origins.items.length > 0) {
    const cors: Fields = { allowed_origins: origins.items.map(({ text }) => text ?? '') }
    draft.gateway.cors = cors
    origins.kept(cors, 'allowed_origins')
  }
  for (const name of ['enforce_auth_on_inference', 'enforce_governance_header'])
    if (client.at(name).flag === true) client.at(name).changed('gw always asks for a key')
}
