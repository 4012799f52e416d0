/** The addresses to which a pod connects, as far as the text of its configuration shows them. */

import { isIP } from 'node:net'
import { parseRedisUrl } from '../../dataplane/config/redis-url.ts'
import { isRecord, listBelow, textOf, valueBelow } from '../../dataplane/json/values.ts'
import { poolUpstreamsOf } from './pool-upstreams.ts'

export interface EgressDestination {
  /** Absent: an external host of the provider. */
  readonly host?: string
  readonly port: number
}

export interface Destinations {
  readonly known: readonly EgressDestination[]
  /** Whether an address is in a reference that only pods can read, or a server names further addresses. */
  readonly hasUnknown: boolean
}

/** Fields below `gw` with an address, in any section. */
const FIELDS = new Set(['endpoint', 'webhook_url', 'otlp_endpoint', 'http_proxy'])
const PORTS: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'postgres:': 5432,
  'postgresql:': 5432,
}
const HTTP = 80
const HTTPS = 443

export function destinationsOf(gw: unknown): Destinations {
  const found: (EgressDestination | 'unknown')[] = [
    ...[...textsOf(gw)].map(placeOf),
    ...hosted(gw),
    ...poolPlaces(gw),
    ...redisPlaces(gw),
    ...listBelow(gw, 'auth', 'jwt').flatMap(keySetPlace),
  ]
  const known = found.filter((one) => one !== 'unknown')
  return { known, hasUnknown: known.length < found.length }
}

function* textsOf(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    for (const entry of value) yield* textsOf(entry)
  } else if (isRecord(value)) {
    for (const [name, child] of Object.entries(value)) {
      if (FIELDS.has(name) && typeof child === 'string') yield child
      else yield* textsOf(child)
    }
  }
}

function placeOf(text: string): EgressDestination | 'unknown' {
  if (text.includes('${') || !URL.canParse(text)) return 'unknown'
  const { protocol, hostname, port } = new URL(text)
  const number = port === '' ? PORTS[protocol] : Number(port)
  return number === undefined ? 'unknown' : { host: bare(hostname), port: number }
}

/** The APIs of providers use HTTPS if no endpoint differs. */
function hosted(gw: unknown): EgressDestination[] {
  const upstreams = valueBelow(gw, 'upstreams')
  const isHosted = (upstream: unknown) =>
    valueBelow(upstream, 'endpoint') === undefined && valueBelow(upstream, 'pool') === undefined
  return Array.isArray(upstreams) && upstreams.some(isHosted) ? [{ port: HTTPS }] : []
}

/** Their pods are in their namespace, like those of a Service with that name. */
function poolPlaces(gw: unknown): EgressDestination[] {
  return poolUpstreamsOf(gw).map(({ namespace }) => ({
    host: namespace === undefined ? 'pool' : `pool.${namespace}.svc`,
    port: HTTP,
  }))
}

function keySetPlace(issuer: unknown): (EgressDestination | 'unknown')[] {
  const url = textOf(valueBelow(issuer, 'jwks', 'url'))
  return url === undefined ? [] : [placeOf(url)]
}

function redisPlaces(gw: unknown): (EgressDestination | 'unknown')[] {
  if (valueBelow(gw, 'rate_limits', 'backend') !== 'redis') return []
  const url = valueBelow(gw, 'rate_limits', 'redis', 'url')
  if (typeof url !== 'string' || url.includes('${')) return ['unknown']
  try {
    const { kind, nodes } = parseRedisUrl(url)
    const places = nodes.map(({ host, port }) => ({ host: bare(host), port }))
    // Sentinels and nodes of a cluster name other servers; for a namespace, those are in the same one.
    const namesOthers = kind === 'sentinel' || kind === 'cluster'
    const isTold = !namesOthers || places.every(({ host }) => namespacesOf(host, '').length > 0)
    return isTold ? places : [...places, 'unknown']
  } catch {
    return ['unknown']
  }
}

function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}

/** Namespaces of the pods behind a name, by the forms of Service names. */
export function namespacesOf(host: string, own: string): string[] {
  if (isIP(host) !== 0) return []
  const labels = host.replace(/\.$/, '').split('.')
  if (labels.length === 1) return [own]
  const service = labels.indexOf('svc')
  // `service.namespace`, or an external name.
  const name = service >= 2 ? labels[service - 1] : labels.length <= 3 ? labels.at(-1) : undefined
  return name !== undefined && /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name) ? [name] : []
}

/** Whether it can only be a name of this cluster. */
export function isOfCluster(host: string): boolean {
  const labels = host.split('.')
  return isIP(host) === 0 && (labels.length === 1 || labels.indexOf('svc') >= 2)
}
