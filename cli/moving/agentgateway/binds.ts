/** agentgateway's `binds`: the AI backends of routes, by listener. */
import { ANY_MODEL } from '../../../dataplane/schema/constants.ts'
import { type Draft, type Fields, put } from '../draft.ts'
import type { Field } from '../field.ts'
import { addRate, perMinute, putRequests } from '../limits.ts'
import { serviceNamed } from '../providers.ts'
import { addFallback, addRoute } from '../routes.ts'
import { putEndpoint, putText, putUsualKey } from '../upstream-parts.ts'
import { putSecret } from './upstream.ts'

export function putBinds(binds: Field, draft: Draft): void {
  const [first] = binds.items
  const port = first?.at('port')
  if (port?.number !== undefined) put(port, draft.gateway, 'listen_port', { value: port.number })
  const routes = binds.items.flatMap((bind) =>
    bind.at('listeners').items.flatMap((listener) => listener.at('routes').items),
  )
  const made = routes.map((route) => routeOf(route, draft)).filter((one) => one !== undefined)
  if (made.length !== 1) return
  // The configured model replaces the one that a client names.
  const [only] = made
  draft.aliases['*'] = only?.name
  const text = 'Every name leads here: in the other gateway the path chose the route.'
  draft.remarks.push({ owner: draft.aliases, member: '*', text })
}

function routeOf(route: Field, draft: Draft): Fields | undefined {
  const groups = route.at('backends').items.flatMap((backend) => {
    const ai = backend.at('ai')
    if (!ai.exists) {
      backend.hasNoPlace('gw serves models only')
      return []
    }
    const groups = ai.at('groups').items.map((group) => group.at('providers').items)
    return groups.length > 0 ? groups : [[ai]]
  })
  const auth = route.at('policies', 'backendAuth', 'key')
  const found = groups
    .map((providers) =>
      providers.map((one) => upstreamOf(one, draft, auth)).filter((one) => one !== undefined),
    )
    .filter((upstreams) => upstreams.length > 0)
  const [first, ...rest] = found
  if (first === undefined) return undefined
  const [{ name: upstream, model } = {}] = first
  const wanted = route.at('name').text ?? String(model === ANY_MODEL ? upstream : model)
  const made = addRoute(
    draft,
    wanted,
    first.map((upstream) => ({ upstream })),
  )
  route.at('name').kept(made, 'name')
  const others = rest.map((upstreams) => ({ upstreams: upstreams.map(({ name }) => name) }))
  const why = others.length === 0 ? undefined : addFallback(made, others)
  if (why !== undefined) {
    const later = groups.slice(1).flat()
    for (const one of later) one.hasNoPlace(why)
  }
  putLimits(route.at('policies', 'localRateLimit'), draft, made)
  putCors(route.at('policies', 'cors'), draft)
  return made
}

function upstreamOf(entry: Field, draft: Draft, auth: Field): Fields | undefined {
  const [provider] = entry.at('provider').members
  const service = serviceNamed(provider?.name ?? '')
  const model = provider?.at('model')
  if (provider === undefined || service === undefined) {
    entry.hasNoPlace(`gw has no provider "${provider?.name ?? ''}"`)
    return undefined
  }
  // Without a model the other gateway sends the name that a client sends.
  const wanted = model?.text ?? ANY_MODEL
  if (wanted !== ANY_MODEL && wanted.includes('*')) {
    entry.hasNoPlace('a pattern of gw is an alias, not the model of an upstream')
    return undefined
  }
  const name = entry.at('name')
  const upstream: Fields = {
    name: draft.names.upstreams.free(name.text ?? (wanted === ANY_MODEL ? provider.name : wanted)),
    provider: service.provider,
    model: wanted,
  }
  name.kept(upstream, 'name')
  model?.kept(upstream, 'model')
  if (provider.members.length === 0)
    provider.changed('clients name the model', upstream, 'provider')
  putText(provider.at('region'), upstream, 'region')
  putText(provider.at('projectId'), upstream, 'project')
  putEndpoint(entry.at('hostOverride'), upstream)
  const own = entry.at('policies', 'backendAuth', 'key')
  putSecret(own.exists ? own : auth, upstream, service)
  if (service.isOwn !== true) putUsualKey(draft, upstream, service)
  draft.upstreams.push(upstream)
  return upstream
}

/** gw has one list of origins for all routes. */
function putCors(field: Field, draft: Draft): void {
  const origins = field.at('allowOrigins')
  if (origins.items.length === 0) return
  const cors = (draft.gateway.cors ?? { allowed_origins: [] }) as { allowed_origins: string[] }
  const listed = origins.items.map(({ text }) => text ?? '')
  const all = [...new Set([...cors.allowed_origins, ...listed])]
  draft.gateway.cors = Object.assign(cors, { allowed_origins: all })
  origins.changed('for every route', cors, 'allowed_origins')
  const credentials = field.at('allowCredentials')
  if (credentials.flag !== undefined)
    put(credentials, cors, 'allow_credentials', { value: credentials.flag })
}

function putLimits(field: Field, draft: Draft, route: Fields): void {
  for (const one of field.items) {
    const [fill, interval] = [one.at('tokensPerFill'), one.at('fillInterval')]
    const rate = perMinute(fill.number ?? Number.NaN, interval.text ?? '')
    if (rate === undefined || Number.isNaN(rate)) {
      one.hasNoPlace('it has no rate that gw can read')
      continue
    }
    const limit = addRate(draft, `${String(route.name)}-rate`, { route: route.name })
    if (one.at('type').text === 'tokens') {
      limit.tokens_per_minute = rate
      fill.changed('a minute', limit, 'tokens_per_minute')
    } else {
      putRequests(fill, limit, rate, 'a minute')
      const most = one.at('maxTokens')
      if (most.number !== undefined) put(most, limit, 'burst', { value: Math.max(1, most.number) })
    }
    one.at('type').changed('the name of the limit', limit, 'name')
    interval.changed('a minute', limit, 'name')
  }
}
