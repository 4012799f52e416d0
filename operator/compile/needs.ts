/** The needs of a configuration in its pod: Secrets to mount, variables, ports. */

import { splitReferences } from '../../dataplane/config/document/reference-syntax.ts'
import { hashOf, type Payload } from '../../dataplane/delivery/signed.ts'
import { isRecord, type Json, valueBelow } from '../../dataplane/json/values.ts'
import { type Destinations, destinationsOf } from './destinations.ts'
import { type PoolUpstream, poolUpstreamsOf, prefersZone } from './pool-upstreams.ts'
import { type ServiceUpstream, serviceUpstreamsOf } from './service-upstreams.ts'

export interface PodPorts {
  readonly listen: number
  readonly metrics: number
}

/** How clients connect: plain, over TLS, or over TLS with client certificates. */
export type ListenerSecurity = 'plain' | 'tls' | 'mutual'

export interface Needs {
  /** Names of Secrets, sorted: each is mounted as a separate folder. */
  readonly secrets: readonly string[]
  /** Names of environment variables, sorted. */
  readonly variables: readonly string[]
  readonly ports: PodPorts
  readonly listener: ListenerSecurity
  /** Hash of the settings that decide where counters are stored, and how many processes count there. */
  readonly store: string
  /** Processes of a pod; absent if there is one. */
  readonly workers?: number
  readonly destinations: Destinations
  /** Upstreams that use the pods of a Service; absent if there are none. */
  readonly services?: readonly ServiceUpstream[]
  /** The same for InferencePools. */
  readonly pools?: readonly PoolUpstream[]
  /** Whether an upstream prefers endpoints in the zone of a pod. */
  readonly prefersZone?: true
  /** As written: the longest time of a request determines how long a pod may take to end. */
  readonly requestTimeoutSeconds?: number
}

/** Mirrors the defaults of the schema: the payload holds only what was written. */
const PORTS: PodPorts = { listen: 8080, metrics: 9090 }

export function needsOf({ gw }: Payload): Needs {
  const secrets = new Set<string>()
  const variables = new Set<string>()
  for (const text of textsOf(gw)) {
    for (const piece of splitReferences(text)) {
      if (!('reference' in piece)) continue
      const { kind, target } = piece.reference
      if (kind === 'env') variables.add(target)
      // A name and a key, by the syntax of references.
      if (kind === 'secret') secrets.add(target.slice(0, target.indexOf('/')))
    }
  }
  const port = (member: string, absent: number) => {
    const value = valueBelow(gw, 'gateway', member)
    return typeof value === 'number' ? value : absent
  }
  const services = serviceUpstreamsOf(gw)
  const pools = poolUpstreamsOf(gw)
  const timeout = valueBelow(gw, 'gateway', 'request_timeout_seconds')
  const workers = Number(valueBelow(gw, 'gateway', 'workers') ?? 1)
  return {
    ...(typeof timeout === 'number' && { requestTimeoutSeconds: timeout }),
    destinations: destinationsOf(gw),
    ...(services.length > 0 && { services }),
    ...(pools.length > 0 && { pools }),
    ...(prefersZone(gw) && { prefersZone: true }),
    secrets: [...secrets].sort(),
    variables: [...variables].sort(),
    store: hashOf([
      ...(isShared(gw) ? ['redis', storeOf(gw)] : [null, null]),
      ...(workers > 1 ? [workers] : []),
    ]).slice(0, 12),
    ...(workers > 1 && { workers }),
    listener: listenerOf(gw),
    ports: {
      listen: port('listen_port', PORTS.listen),
      metrics: port('metrics_port', PORTS.metrics),
    },
  }
}

/** A reference that only pods can resolve may require certificates. */
function listenerOf(gw: Payload['gw']): ListenerSecurity {
  const tls = valueBelow(gw, 'gateway', 'tls')
  if (!isRecord(tls)) return 'plain'
  const auth = tls.client_auth ?? (tls.client_ca === undefined ? 'none' : 'require')
  return auth === 'none' || auth === 'request' ? 'tls' : 'mutual'
}

/** Pods apply the settings for outages at once, so a change of these needs no new pods. */
function storeOf(gw: Payload['gw']): Json | null {
  const redis = valueBelow(gw, 'rate_limits', 'redis')
  if (!isRecord(redis)) return null
  const { fail_open: _, timeout_ms: __, ...store } = redis
  return store
}

/** Counters stay in the pod by default, so writing that default needs nothing more. */
function isShared(gw: Payload['gw']): boolean {
  return valueBelow(gw, 'rate_limits', 'backend') === 'redis'
}

/** The pod serves the desired configuration or falls back to the last good one; it must be able to do both. */
export function joinNeeds(desired: Needs, lastKnownGood: Needs | undefined): Needs {
  if (lastKnownGood === undefined) return desired
  const union = (one: readonly string[], other: readonly string[]) =>
    [...new Set([...one, ...other])].sort()
  const services = [...(desired.services ?? []), ...(lastKnownGood.services ?? [])]
  const pools = [...(desired.pools ?? []), ...(lastKnownGood.pools ?? [])]
  return {
    ...desired,
    ...(services.length > 0 && { services }),
    ...(pools.length > 0 && { pools }),
    secrets: union(desired.secrets, lastKnownGood.secrets),
    variables: union(desired.variables, lastKnownGood.variables),
    destinations: {
      known: [...desired.destinations.known, ...lastKnownGood.destinations.known],
      hasUnknown: desired.destinations.hasUnknown || lastKnownGood.destinations.hasUnknown,
    },
  }
}

function* textsOf(value: unknown): Generator<string> {
  if (typeof value === 'string') {
    if (value.includes('${')) yield value
  } else if (Array.isArray(value)) {
    for (const entry of value) yield* textsOf(entry)
  } else if (isRecord(value)) {
    for (const entry of Object.values(value)) yield* textsOf(entry)
  }
}
