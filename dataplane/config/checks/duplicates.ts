/** Names that must be unique and are not. */
import { type Finding, type Path, refuse, showPath } from '../judgement/problems.ts'
import { at, type Check, type CheckContext, quoted } from './contract.ts'

interface NamedPath {
  readonly name: string
  readonly path: Path
}

const uniqueUpstreamNames: Check = ({ upstreams }, context) =>
  repeated(
    upstreams.map(({ name }, index) => ({ name, path: at('upstreams', index, 'name') })),
    'upstream name',
    context,
  )

const uniqueRouteNames: Check = ({ routes }, context) =>
  repeated(
    routes.map(({ name }, index) => ({ name, path: at('routes', index, 'name') })),
    'route name',
    context,
  )

const uniqueKeyIds: Check = ({ api_keys }, context) =>
  repeated(
    api_keys.map(({ id }, index) => ({ name: id, path: at('api_keys', index, 'id') })),
    'key id',
    context,
  )

const uniqueKeyHashes: Check = ({ api_keys }, context) =>
  repeated(
    api_keys.map(({ hash }, index) => ({ name: hash, path: at('api_keys', index, 'hash') })),
    'key hash',
    context,
  )

const uniqueLimitTenants: Check = ({ rate_limits }, context) =>
  repeated(
    (rate_limits?.tenants ?? []).map(({ tenant }, index) => ({
      name: tenant,
      path: at('rate_limits', 'tenants', index, 'tenant'),
    })),
    'tenant rule',
    context,
  )

const uniquePrices: Check = ({ pricing }, context) =>
  repeated(
    (pricing?.models ?? []).map(({ model }, index) => ({
      name: model,
      path: at('pricing', 'models', index, 'model'),
    })),
    'price of model',
    context,
  )

const uniqueAuxiliaryNames: Check = ({ vector_stores, retrieval, guardrails }, context) => [
  ...repeated(
    vector_stores.map(({ name }, index) => ({ name, path: at('vector_stores', index, 'name') })),
    'vector store name',
    context,
  ),
  ...repeated(
    retrieval.map(({ name }, index) => ({ name, path: at('retrieval', index, 'name') })),
    'retrieval name',
    context,
  ),
  ...repeated(
    guardrails.map(({ name }, index) => ({ name, path: at('guardrails', index, 'name') })),
    'guardrail name',
    context,
  ),
]

const uniqueIssuerNames: Check = ({ auth }, context) =>
  repeated(
    auth.jwt.map(({ name }, index) => ({ name, path: at('auth', 'jwt', index, 'name') })),
    'issuer name',
    context,
  )

const uniqueCertificateNames: Check = ({ auth: { certificates } }, context) => [
  ...repeated(
    certificates.map(({ name }, index) => ({
      name,
      path: at('auth', 'certificates', index, 'name'),
    })),
    'certificate entry',
    context,
  ),
  ...repeated(
    certificates.flatMap(({ san }, index) =>
      san.map((name, entry) => ({ name, path: at('auth', 'certificates', index, 'san', entry) })),
    ),
    'name of certificates',
    context,
  ),
]

/** Lists in which a repeated name has no meaning. */
const noEntryTwice: Check = ({ upstreams, routes, api_keys, usage }, context) => [
  ...upstreams.flatMap(({ native = [] }, index) =>
    entriesTwice(native, at('upstreams', index, 'native'), 'native API', context),
  ),
  ...upstreams.flatMap(({ capabilities = {} }, index) => [
    ...entriesTwice(
      capabilities.efforts ?? [],
      at('upstreams', index, 'capabilities', 'efforts'),
      'effort',
      context,
    ),
    ...entriesTwice(
      capabilities.wires ?? [],
      at('upstreams', index, 'capabilities', 'wires'),
      'API of the model',
      context,
    ),
  ]),
  ...entriesTwice(usage.tags, at('usage', 'tags'), 'tag', context),
  ...entriesTwice(usage.required_tags, at('usage', 'required_tags'), 'required tag', context),
  ...routes.flatMap((route, index) => [
    ...repeated(
      route.upstreams.map(({ name }, entry) => ({
        name,
        path: at('routes', index, 'upstreams', entry, 'name'),
      })),
      'upstream of the route',
      context,
    ),
    ...entriesTwice(route.fallback, at('routes', index, 'fallback'), 'fallback', context),
    ...entriesTwice(route.retrieval, at('routes', index, 'retrieval'), 'retrieval', context),
    ...entriesTwice(route.guardrails, at('routes', index, 'guardrails'), 'guardrail', context),
  ]),
  ...api_keys.flatMap((key, index) => [
    ...entriesTwice(key.routes, at('api_keys', index, 'routes'), 'route of the key', context),
    ...entriesTwice(key.scopes, at('api_keys', index, 'scopes'), 'scope of the key', context),
  ]),
]

export const duplicateChecks = [
  uniqueUpstreamNames,
  uniqueRouteNames,
  uniqueCertificateNames,
  uniqueKeyIds,
  uniqueKeyHashes,
  uniqueLimitTenants,
  uniquePrices,
  uniqueAuxiliaryNames,
  uniqueIssuerNames,
  noEntryTwice,
]

type Sources = Pick<CheckContext, 'sourceOf'>

function entriesTwice(
  names: readonly string[],
  path: Path,
  what: string,
  sources: Sources,
): Finding[] {
  const entries = names.map((name, index) => ({ name, path: [...path, index] }))
  return repeated(entries, what, sources)
}

export function repeated(
  entries: readonly NamedPath[],
  what: string,
  { sourceOf }: Sources,
): Finding[] {
  const first = new Map<string, Path>()
  return entries.flatMap(({ name, path }) => {
    const earlier = first.get(name)
    if (earlier === undefined) {
      first.set(name, path)
      return []
    }
    const message = `duplicate ${what} ${quoted(name)}; first at ${showPath(sourceOf(earlier))}`
    return [refuse(path, message, 'Remove one of the two, or give it another name.')]
  })
}
