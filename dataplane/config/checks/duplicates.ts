/** Names that must be unique and are not. */
import { type Finding, type Path, refuse, showPath } from '../judgement/problems.ts'
import { at, type Check, quoted } from './contract.ts'

interface Named {
  readonly name: string
  readonly path: Path
}

const uniqueUpstreamNames: Check = ({ upstreams }) =>
  repeated(
    upstreams.map(({ name }, index) => ({ name, path: at('upstreams', index, 'name') })),
    'upstream name',
  )

const uniqueRouteNames: Check = ({ routes }) =>
  repeated(
    routes.map(({ name }, index) => ({ name, path: at('routes', index, 'name') })),
    'route name',
  )

const uniqueKeyIds: Check = ({ api_keys }) =>
  repeated(
    api_keys.map(({ id }, index) => ({ name: id, path: at('api_keys', index, 'id') })),
    'key id',
  )

const uniqueKeyHashes: Check = ({ api_keys }) =>
  repeated(
    api_keys.map(({ hash }, index) => ({ name: hash, path: at('api_keys', index, 'hash') })),
    'key hash',
  )

const uniqueLimitTenants: Check = ({ rate_limits }) =>
  repeated(
    (rate_limits?.tenants ?? []).map(({ tenant }, index) => ({
      name: tenant,
      path: at('rate_limits', 'tenants', index, 'tenant'),
    })),
    'tenant rule',
  )

const uniqueBudgetTenants: Check = ({ budgets }) =>
  repeated(
    budgets.map(({ tenant }, index) => ({ name: tenant, path: at('budgets', index, 'tenant') })),
    'tenant budget',
  )

const uniquePrices: Check = ({ pricing }) =>
  repeated(
    (pricing?.models ?? []).map(({ model }, index) => ({
      name: model,
      path: at('pricing', 'models', index, 'model'),
    })),
    'price of model',
  )

const uniqueAuxiliaryNames: Check = ({ vector_stores, retrieval, guardrails }) => [
  ...repeated(
    vector_stores.map(({ name }, index) => ({ name, path: at('vector_stores', index, 'name') })),
    'vector store name',
  ),
  ...repeated(
    retrieval.map(({ name }, index) => ({ name, path: at('retrieval', index, 'name') })),
    'retrieval name',
  ),
  ...repeated(
    guardrails.map(({ name }, index) => ({ name, path: at('guardrails', index, 'name') })),
    'guardrail name',
  ),
]

const uniqueIssuerNames: Check = ({ auth }) =>
  repeated(
    auth.jwt.map(({ name }, index) => ({ name, path: at('auth', 'jwt', index, 'name') })),
    'issuer name',
  )

/** Lists in which naming the same thing twice has no meaning. */
const noEntryTwice: Check = ({ routes, api_keys, usage }) => [
  ...entriesTwice(usage.tags, at('usage', 'tags'), 'tag'),
  ...routes.flatMap((route, index) => [
    ...repeated(
      route.upstreams.map(({ name }, entry) => ({
        name,
        path: at('routes', index, 'upstreams', entry, 'name'),
      })),
      'upstream of the route',
    ),
    ...entriesTwice(route.fallback, at('routes', index, 'fallback'), 'fallback'),
    ...entriesTwice(route.retrieval, at('routes', index, 'retrieval'), 'retrieval'),
    ...entriesTwice(route.guardrails, at('routes', index, 'guardrails'), 'guardrail'),
  ]),
  ...api_keys.flatMap((key, index) => [
    ...entriesTwice(key.routes, at('api_keys', index, 'routes'), 'route of the key'),
    ...entriesTwice(key.scopes, at('api_keys', index, 'scopes'), 'scope of the key'),
  ]),
]

export const duplicateChecks = [
  uniqueUpstreamNames,
  uniqueRouteNames,
  uniqueKeyIds,
  uniqueKeyHashes,
  uniqueLimitTenants,
  uniqueBudgetTenants,
  uniquePrices,
  uniqueAuxiliaryNames,
  uniqueIssuerNames,
  noEntryTwice,
]

function entriesTwice(names: readonly string[], path: Path, what: string): Finding[] {
  return repeated(
    names.map((name, index) => ({ name, path: [...path, index] })),
    what,
  )
}

function repeated(entries: readonly Named[], what: string): Finding[] {
  const first = new Map<string, Path>()
  return entries.flatMap(({ name, path }) => {
    const earlier = first.get(name)
    if (earlier === undefined) {
      first.set(name, path)
      return []
    }
    const message = `duplicate ${what} ${quoted(name)}; first at ${showPath(earlier)}`
    return [refuse(path, message, 'Remove one of the two, or give it another name.')]
  })
}
