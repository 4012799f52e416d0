/** Resources of Envoy AI Gateway: routes by the header of the model, their backends and policies. */
import type { Draft, Fields } from '../draft.ts'
import type { Field } from '../field.ts'
import { addFallback, addRoute, putRetries, type RouteEntry } from '../routes.ts'
import { upstreamOf } from './backend.ts'
import { namedIn, Resources } from './resources.ts'

const MODEL_HEADER = 'x-ai-eg-model'

export function readEnvoy(root: Field, draft: Draft): void {
  const resources = new Resources(root.items)
  for (const one of root.items) putHead(one)
  for (const route of resources.of('AIGatewayRoute')) {
    const made = route.at('spec', 'rules').items.flatMap((rule) => rulesOf(rule, draft, resources))
    putTraffic(route, made, resources)
    putMetadata(route, draft)
    for (const cost of route.at('spec', 'llmRequestCosts').items)
      cost.changed('gw counts all tokens by itself')
  }
}

/** Pods of a pool are found by the operator alone. */
function putMetadata(route: Field, draft: Draft): void {
  if (draft.metadata.name !== undefined || !draft.upstreams.some(({ pool }) => pool)) return
  route.at('metadata', 'name').kept(draft.metadata, 'name')
  draft.metadata.name = namedIn(route)
  const namespace = route.at('metadata', 'namespace')
  draft.metadata.namespace = namespace.text ?? 'default'
  namespace.kept(draft.metadata, 'namespace')
}

const NO_KIND: Readonly<Record<string, string>> = {
  Deployment: 'apply it as it is',
  Service: 'apply it as it is',
  ServiceAccount: 'apply it as it is',
  Secret: 'apply it as it is; credentials refer to it',
  GatewayClass: 'the chart of gw has a Deployment and a Service instead',
  Gateway: 'the chart of gw has a Deployment and a Service instead',
  EnvoyProxy: 'the chart of gw has a Deployment and a Service instead',
  HTTPRoute: '`gw expose` prints routes for a controller in front',
  MCPRoute: 'gw serves no tools',
  SecurityPolicy: 'gw takes tokens of issuers: see auth.jwt',
  ClientTrafficPolicy: 'see gateway.max_request_bytes and the bounds beside it',
}

/** Members that every resource has. */
function putHead(one: Field): void {
  const kind = one.at('kind').text ?? ''
  const why = NO_KIND[kind]
  if (why !== undefined) {
    one.hasNoPlace(why)
    return
  }
  for (const name of ['apiVersion', 'kind']) one.at(name).changed('a resource became a section')
  one.at('metadata', 'namespace').hasNoPlace('gw has one namespace: that of its GatewayConfig')
  one.at('metadata', 'name').changed('a resource became a section')
  for (const member of ['parentRefs', 'targetRefs', 'targetRef'])
    for (const reference of one.at('spec', member).items)
      reference.changed('a resource became a section')
}

/** One route for each model that a rule matches. */
function rulesOf(rule: Field, draft: Draft, resources: Resources): Fields[] {
  const names = rule.at('matches').items.flatMap((match) => {
    const headers = match.at('headers').items
    const model = headers.find((one) => one.at('name').text?.toLowerCase() === MODEL_HEADER)
    const value = model?.at('value')
    const isExact = (model?.at('type').text ?? 'Exact') === 'Exact'
    if (headers.length !== 1 || value?.text === undefined || !isExact) {
      match.hasNoPlace('gw routes by the name of the model alone')
      return []
    }
    for (const member of ['name', 'type']) model?.at(member).changed('the name of the model')
    return [value]
  })
  const made = names.flatMap((value): Fields[] => {
    const name = value.text ?? ''
    const backends = rule.at('backendRefs').items.flatMap((ref) => {
      const upstream = upstreamOf(ref, draft, { resources, model: name })
      return upstream === undefined ? [] : [{ ref, upstream }]
    })
    const route = routeOf(backends, draft, name)
    if (route === undefined) value.hasNoPlace('none of its backends has a place')
    else if (route.name === name) value.kept(route, 'name')
    else value.changed(`named ${String(route.name)}, with an alias`, route, 'name')
    return route === undefined ? [] : [route]
  })
  const timeout = rule.at('timeouts', 'request')
  const seconds = /^(\d+)s$/.exec(timeout.text ?? '')?.[1]
  for (const route of seconds === undefined ? [] : made) {
    route.timeout_seconds = Number(seconds)
    timeout.changed('in seconds', route, 'timeout_seconds')
  }
  return made
}

interface Backend {
  readonly ref: Field
  readonly upstream: Fields
}

/** Backends of the first priority share requests; the others are fallbacks in their order. */
function routeOf(backends: readonly Backend[], draft: Draft, name: string): Fields | undefined {
  const priorityOf = ({ ref }: Backend) => ref.at('priority').number ?? 0
  const ordered = backends.toSorted((one, other) => priorityOf(one) - priorityOf(other))
  const [best] = ordered
  if (best === undefined) return undefined
  const first = ordered.filter((one) => priorityOf(one) === priorityOf(best))
  const rest = ordered.slice(first.length)
  const members = first.map(({ ref, upstream }): RouteEntry => {
    const weight = ref.at('weight')
    return { upstream, weight: weight.exists ? weight : undefined }
  })
  const route = addRoute(draft, name, members)
  const others = rest.map(({ upstream }) => ({ upstreams: [upstream.name] }))
  const why = others.length === 0 ? undefined : addFallback(route, others)
  for (const { ref } of ordered) {
    ref.at('priority').changed('the order of the list', route, 'fallback')
    if (why !== undefined && rest.some((one) => one.ref === ref)) ref.hasNoPlace(why)
  }
  return route
}

/** Retries and timeouts of the policy whose target is the route. */
function putTraffic(route: Field, made: readonly Fields[], resources: Resources): void {
  const name = namedIn(route)
  for (const policy of resources.of('BackendTrafficPolicy')) {
    const targets = [...policy.at('spec', 'targetRefs').items, policy.at('spec', 'targetRef')]
    const isOwn = targets.some((one) => one.at('name').text === name)
    const retries = policy.at('spec', 'retry', 'numRetries')
    if (isOwn && retries.exists) putRetries(retries, made)
    const timeout = policy.at('spec', 'timeout', 'http', 'requestTimeout')
    const seconds = /^(\d+)s$/.exec(timeout.text ?? '')?.[1]
    if (!isOwn || seconds === undefined) continue
    for (const one of made) {
      one.timeout_seconds = Number(seconds)
      timeout.changed('in seconds', one, 'timeout_seconds')
    }
  }
}
