/** agentgateway's configuration file: `llm` with its models, and backends of listeners. */
import { type Draft, type Fields, put } from '../draft.ts'
import type { Field } from '../field.ts'
import { addFallback, addRoute, routeNamed } from '../routes.ts'
import { putBinds } from './binds.ts'
import { upstreamOf } from './upstream.ts'

export function readAgentgateway(root: Field, draft: Draft): void {
  const llm = root.at('llm')
  const hidden = new Map<string, Fields>()
  for (const entry of llm.at('models').items) {
    const upstream = upstreamOf(entry, draft, llm.at('providers'))
    if (upstream === undefined) continue
    const name = entry.at('name')
    const visibility = entry.at('visibility')
    if (visibility.text === 'internal') {
      hidden.set(name.text ?? '', upstream)
      name.changed(
        `the upstream ${String(upstream.name)}, which clients cannot name`,
        upstream,
        'name',
      )
      visibility.changed('no route has this name', upstream, 'name')
      continue
    }
    const wanted = name.text ?? ''
    const isPattern = wanted.endsWith('*')
    const route = addRoute(draft, isPattern ? String(upstream.name) : wanted, [{ upstream }])
    if (isPattern) draft.aliases[wanted] = route.name
    if (route.name === name.text) name.kept(route, 'name')
    else name.changed(`named ${String(route.name)}, with an alias`, route, 'name')
    visibility.changed('clients may name it', route, 'name')
  }
  for (const entry of llm.at('virtualModels').items) putVirtual(entry, draft, hidden)
  const port = llm.at('port')
  if (port.number !== undefined) put(port, draft.gateway, 'listen_port', { value: port.number })
  putBinds(root.at('binds'), draft)
  for (const name of ['mcp', 'ui', 'workloads', 'services', 'tcpRoutes'])
    root.at(name).hasNoPlace('gw serves models only')
  llm.at('policies').hasNoPlace('see auth, limits and guardrails of gw')
}

/** A name that leads to several models. */
function putVirtual(entry: Field, draft: Draft, hidden: ReadonlyMap<string, Fields>): void {
  const [kind] = entry.at('routing').members
  const targets = kind?.at('targets').items ?? []
  const name = entry.at('name').text
  if (kind === undefined || name === undefined || !['weighted', 'failover'].includes(kind.name)) {
    entry.hasNoPlace('gw has no routes by condition')
    return
  }
  const found = targets.flatMap((target) => {
    const upstream = upstreamNamed(target.at('model').text ?? '', draft, hidden)
    if (upstream === undefined) target.hasNoPlace('no model has this name')
    return upstream === undefined ? [] : [{ target, upstream }]
  })
  if (found.length === 0) {
    entry.hasNoPlace('none of its models has a place')
    return
  }
  if (kind.name === 'weighted') {
    const members = found.map(({ target, upstream }) => ({ upstream, weight: target.at('weight') }))
    const route = addRoute(draft, name, members)
    entry.at('name').kept(route, 'name')
    for (const { target } of found) target.at('model').kept(route, 'upstreams')
    return
  }
  const ordered = found.toSorted(
    (one, other) =>
      (one.target.at('priority').number ?? 0) - (other.target.at('priority').number ?? 0),
  )
  putFailover(entry, draft, { name, ordered })
}

interface Failover {
  readonly name: string
  readonly ordered: readonly { readonly target: Field; readonly upstream: Fields }[]
}

function putFailover(entry: Field, draft: Draft, { name, ordered }: Failover): void {
  const [first, ...rest] = ordered
  if (first === undefined) return
  const route = addRoute(draft, name, [{ upstream: first.upstream }])
  entry.at('name').kept(route, 'name')
  const others = rest.map(({ upstream }) => ({ strategy: 'single', upstreams: [upstream.name] }))
  if (others.length > 0) addFallback(route, others)
  for (const { target } of ordered) {
    target.at('model').changed('in the order of the priorities', route, 'fallback')
    target.at('priority').changed('the order of the list', route, 'fallback')
  }
}

function upstreamNamed(name: string, draft: Draft, hidden: ReadonlyMap<string, Fields>) {
  const own = hidden.get(name)
  if (own !== undefined) return own
  const route = routeNamed(draft, name)
  const [first] = (route?.upstreams ?? []) as readonly unknown[]
  return draft.upstreams.find((one) => one.name === first)
}
