/** Several endpoints of one upstream, and the choice between them. */
import { isIP } from 'node:net'
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import type { Section, UpstreamSection } from '../../../schema/index.ts'
import { type Finding, type Path, refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, type CheckContext } from '../contract.ts'

type EndpointCheck = (
  upstream: UpstreamSection,
  path: Path,
  section: Section,
  place: CheckContext['place'],
) => Finding[]

const balanceHasEndpoints: EndpointCheck = (upstream, path) => {
  if ((upstream.endpoints ?? 'url') !== 'url') return []
  return (['balance', 'balance_header'] as const)
    .filter((field) => upstream[field] !== undefined)
    .map((field) => {
      const message = 'cannot take effect: the upstream has one endpoint'
      return refuse([...path, field], message, 'Add endpoints: dns, pods or pool, or remove it.')
    })
}

const headerHasAffinity: EndpointCheck = ({ endpoints, balance, balance_header }, path) => {
  if ((endpoints ?? 'url') === 'url' || balance === 'affinity' || balance_header === undefined)
    return []
  const message = 'cannot take effect: endpoints are chosen by their load'
  return [refuse([...path, 'balance_header'], message, 'Add balance: affinity, or remove it.')]
}

/** A proxy resolves names itself. If no_proxy has entries, only the connecting gateway can tell. */
const endpointsAreDialled: EndpointCheck = ({ endpoints }, path, { http_proxy, no_proxy }) => {
  if (endpoints === 'pool' || (endpoints ?? 'url') === 'url') return []
  if (http_proxy === undefined || no_proxy.length > 0) return []
  const message = 'cannot take effect: http_proxy chooses the address of this upstream'
  return [refuse([...path, 'endpoints'], message, 'Add its host to no_proxy, or remove endpoints.')]
}

const nameHasAddresses: EndpointCheck = ({ endpoints, endpoint }, path) => {
  const url = endpoint === undefined ? null : URL.parse(endpoint)
  if (endpoints !== 'dns' || url === null || isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0)
    return []
  const message = 'has no effect: the endpoint is an address, so there is only one'
  const fix = 'Write the name of a headless Service, or remove endpoints.'
  return [warn([...path, 'endpoints'], message, fix)]
}

/** A name of one part, `service.namespace`, or the long name of a Service. */
const SERVICE = /^[a-z0-9-]+(\.[a-z0-9-]+(\.svc(\.[a-z0-9.-]+)?)?)?$/

const podsStandBehindAService: EndpointCheck = ({ endpoints, endpoint }, path) => {
  if (endpoints !== 'pods' || endpoint?.includes('${')) return []
  const host = endpoint === undefined ? '' : (URL.parse(endpoint)?.hostname ?? '')
  if (isIP(host) === 0 && SERVICE.test(host)) return []
  const message = 'cannot take effect: the endpoint is not the name of a Service'
  const fix = 'Write http://SERVICE.NAMESPACE.svc:PORT, or endpoints: dns.'
  return [refuse([...path, 'endpoints'], message, fix)]
}

const zoneIsKnown: EndpointCheck = ({ endpoints, prefer_zone }, path) => {
  if (!prefer_zone || endpoints === 'pods' || endpoints === 'pool') return []
  const message = 'cannot take effect: only the operator knows the zones of endpoints'
  return [refuse([...path, 'prefer_zone'], message, 'Add endpoints: pods or pool, or remove it.')]
}

const poolIsNamed: EndpointCheck = ({ endpoints, endpoint, pool, provider }, path, _, place) => {
  if (endpoints !== 'pool') {
    if (pool === undefined) return []
    const message = 'cannot take effect: requests do not go to it'
    return [refuse([...path, 'pool'], message, 'Add endpoints: pool, or remove it.')]
  }
  if (pool === undefined)
    return [refuse([...path, 'pool'], 'required', 'Write pool: {name: NAME} of an InferencePool.')]
  if (PROVIDER_FACTS[provider].hosted) {
    const message = `cannot take effect: ${provider} is a hosted API`
    return [refuse([...path, 'endpoints'], message, 'Name the runtime of the pods as provider.')]
  }
  if (endpoint !== undefined) {
    const message = 'cannot take effect: the pool defines the addresses of its pods'
    return [refuse([...path, 'endpoint'], message, 'Remove it.')]
  }
  if (place === 'pod') return []
  const fix = 'Run the gateway in the cluster, or write endpoint: and endpoints: dns.'
  return [refuse([...path, 'endpoints'], 'needs the operator, which reads the pool', fix)]
}

const CHECKS: readonly EndpointCheck[] = [
  balanceHasEndpoints,
  headerHasAffinity,
  endpointsAreDialled,
  nameHasAddresses,
  podsStandBehindAService,
  poolIsNamed,
  zoneIsKnown,
]

export const endpointChecks: readonly Check[] = CHECKS.map(
  (check): Check =>
    (section, { place }) =>
      section.upstreams.flatMap((upstream, index) =>
        check(upstream, at('upstreams', index), section, place),
      ),
)
