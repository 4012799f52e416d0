/** Requests that wait for an upstream where no server listens. */
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import { refuse, warn } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'

/** The vendor's API never scales to zero. */
const endpointIsOwn: Check = ({ upstreams }) =>
  upstreams.flatMap(({ cold_start, endpoint, provider }, index) => {
    if (cold_start === undefined || endpoint !== undefined) return []
    if (!PROVIDER_FACTS[provider].hosted) return []
    const message = `cannot take effect: the API of ${provider} is always up`
    return [refuse(at('upstreams', index, 'cold_start'), message, 'Remove it.')]
  })

/** A proxy answers even if no server listens. */
const endpointIsDialled: Check = ({ upstreams, http_proxy, no_proxy }) =>
  upstreams.flatMap(({ cold_start, endpoints }, index) => {
    if (cold_start === undefined || endpoints === 'pool') return []
    if (http_proxy === undefined || no_proxy.length > 0) return []
    const message = 'cannot take effect: http_proxy is between the gateway and the upstream'
    const fix = 'Add its host to no_proxy, or remove cold_start.'
    return [refuse(at('upstreams', index, 'cold_start'), message, fix)]
  })

const primaryIsPreferred: Check = ({ upstreams, routes }) => {
  const primaries = new Set(
    routes
      .filter(({ strategy }) => strategy === 'primary_with_fallback')
      .map(({ primary }) => primary),
  )
  return upstreams.flatMap(({ cold_start, name }, index) => {
    if (cold_start?.prefer_wait !== true || primaries.has(name)) return []
    const message = 'cannot take effect: no route with primary_with_fallback has it as its primary'
    return [refuse(at('upstreams', index, 'cold_start', 'prefer_wait'), message, 'Remove it.')]
  })
}

const waitFitsTheGateway: Check = ({ upstreams, gateway }) =>
  upstreams.flatMap(({ cold_start }, index) => {
    const most = gateway.request_timeout_seconds
    if (cold_start === undefined || cold_start.max_wait_seconds < most) return []
    return [
      warn(
        at('upstreams', index, 'cold_start', 'max_wait_seconds'),
        `${cold_start.max_wait_seconds} s leave no time for an answer: gateway.request_timeout_seconds is ${most}`,
        `Write less than ${most}, or raise the gateway's.`,
      ),
    ]
  })

export const coldStartChecks = [
  endpointIsOwn,
  endpointIsDialled,
  primaryIsPreferred,
  waitFitsTheGateway,
]
