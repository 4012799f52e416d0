/** The gateway's own listeners and clocks. */

import { keepaliveSeconds } from '../../schema/constants.ts'
import { refuse, warn } from '../judgement/problems.ts'
import { at, type Check } from './contract.ts'

const KEEPALIVE_SECONDS_ADVISED_MIN = 60

const portsDiffer: Check = ({ gateway }) => {
  const fields = ['listen_port', 'metrics_port', 'admin_port'] as const
  return fields.flatMap((field, index) => {
    if (gateway[field] === undefined) return []
    const other = fields.slice(0, index).find((earlier) => gateway[earlier] === gateway[field])
    if (other === undefined) return []
    const message = `port ${gateway[field]} is also ${other}`
    return [refuse(at('gateway', field), message, 'Give each listener a different port.')]
  })
}

const addressIsAHost: Check = ({ gateway }) => {
  const address = gateway.listen_address
  if (address === undefined || address.includes('${')) return []
  const isBareV6 = /^[0-9a-fA-F:.]+$/.test(address) && address.includes(':')
  const host = isBareV6 ? `[${address}]` : address
  if (/^(\[[^\]]*\]|[A-Za-z0-9._-]+)$/.test(host) && URL.canParse(`http://${host}`)) return []
  const path = at('gateway', 'listen_address')
  return [refuse(path, 'is not an address', 'Write an address such as 0.0.0.0, without a port.')]
}

const originsAreOrigins: Check = ({ gateway }) =>
  gateway.cors.allowed_origins.flatMap((origin, index) => {
    if (origin === '*' || origin.includes('${') || URL.parse(origin)?.origin === origin) return []
    const message = `${JSON.stringify(origin)} is not an origin and would match nothing`
    const fix = 'Write scheme://host or scheme://host:port in lower case, without a path.'
    return [refuse(at('gateway', 'cors', 'allowed_origins', index), message, fix)]
  })

const credentialsNeedOrigins: Check = ({ gateway: { cors } }) => {
  if (!cors.allow_credentials) return []
  const path = at('gateway', 'cors', 'allow_credentials')
  const fix = 'List the origins by name, or write allow_credentials: false.'
  if (cors.allowed_origins.includes('*')) {
    return [refuse(path, 'browsers refuse credentials when any origin ("*") may call', fix)]
  }
  const message = 'cannot take effect: no origin is allowed'
  return cors.allowed_origins.length === 0 ? [refuse(path, message, fix)] : []
}

const heartbeatIsHeard: Check = ({ gateway }) => {
  const idle = gateway.load_balancer_idle_seconds
  const heartbeat = gateway.sse.heartbeat_seconds
  if (idle === undefined || heartbeat < idle) return []
  const message = `heartbeats every ${heartbeat} s come too late: the load balancer cuts at ${idle} s`
  const fix = `Write less than ${idle}, ideally a third of it.`
  return [refuse(at('gateway', 'sse', 'heartbeat_seconds'), message, fix)]
}

const keepaliveOutlivesLoadBalancer: Check = ({ gateway }, { place }) => {
  const idle = gateway.load_balancer_idle_seconds
  const keepalive = keepaliveSeconds(gateway, place)
  if (idle === undefined || keepalive > idle) return []
  const message = `must exceed load_balancer_idle_seconds (${idle}), or the load balancer sends requests on closed connections`
  return [refuse(at('gateway', 'keepalive_seconds'), message, `Write more than ${idle}.`)]
}

const keepaliveIsLong: Check = ({ gateway }, { place }) =>
  keepaliveSeconds(gateway, place) < KEEPALIVE_SECONDS_ADVISED_MIN
    ? [
        warn(
          at('gateway', 'keepalive_seconds'),
          `under ${KEEPALIVE_SECONDS_ADVISED_MIN} s; most load balancers keep connections that long`,
          'Write more than the idle timeout of the load balancer; 75 is usual.',
        ),
      ]
    : []

const routeTimeoutsFit: Check = ({ gateway, routes }) => {
  const ceiling = gateway.request_timeout_seconds
  return routes.flatMap(({ timeout_seconds }, index) =>
    timeout_seconds !== undefined && timeout_seconds > ceiling
      ? [
          warn(
            at('routes', index, 'timeout_seconds'),
            `cannot be reached: gateway.request_timeout_seconds is ${ceiling}`,
            `Write at most ${ceiling}, or raise the gateway's.`,
          ),
        ]
      : [],
  )
}

export const listenerChecks = [
  portsDiffer,
  addressIsAHost,
  originsAreOrigins,
  credentialsNeedOrigins,
  heartbeatIsHeard,
  keepaliveOutlivesLoadBalancer,
  keepaliveIsLong,
  routeTimeoutsFit,
]
