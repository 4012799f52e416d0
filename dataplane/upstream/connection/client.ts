/** Connection pools to upstreams, direct or through the egress proxy. The only file that knows undici. */
import { TLSSocket } from 'node:tls'
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici'
import type { Section, UpstreamSection } from '../../config/schema/index.ts'
import type { UpstreamSettings } from '../../config/snapshot.ts'
import { type Tls, tlsOf } from '../../config/tls-files.ts'
import { AddressDeniedError, checkedLookup, isDeniedHost } from './addresses.ts'
import { type EgressProxy, proxyFor } from './egress-proxy.ts'
import { watchHandshakeEnd } from './handshake-end.ts'
import type { PoolHandler, PoolRequest, RequestPool } from './http1/contract.ts'
import { type Connect, Http1Pool } from './http1/pool.ts'
import { secureContextOf } from './secure-context.ts'
import { watchStaleness } from './stale-connection.ts'

/** Idle connections are dropped before uvicorn's 5 s would drop them under a request. */
const IDLE_MS = 4000
const IDLE_MS_MAX = 60_000
/** A connection that has gone wrong unseen, such as by an answer that nobody asked for, does not go on so for ever. */
const REQUESTS_MAX = 1000
const AGE_MS_MAX = 600_000
const HEADER_BYTES_MAX = 65_536

/** What has to be known of an upstream, or of anything else that is reached in the same way. */
export interface Destination extends Pick<UpstreamSettings, 'origin' | 'timeoutMs'> {
  readonly section: Pick<UpstreamSection, 'connect_timeout_seconds' | 'tls'>
}

/**
 * Never throws: where no connection may or can be made, every request fails with the reason. The
 * exchange keeps its own clocks: undici's do not fire while the client reads slowly.
 */
export function openPool(
  upstream: Destination,
  whole: Section,
  connections: number | undefined,
): Dispatcher {
  const shared = {
    connections: connections ?? null,
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS_MAX,
    maxHeaderSize: HEADER_BYTES_MAX,
    maxRequestsPerClient: REQUESTS_MAX,
    clientTtl: AGE_MS_MAX,
  }
  const timeout = timeoutOf(upstream)
  try {
    const url = new URL(upstream.origin)
    const connect = connectOptions(url, tlsOf(upstream.section, whole), timeout)
    const proxy = proxyFor(url, whole)
    if (proxy === undefined)
      return new Pool(url, { ...shared, connect: watched(buildConnector(connect)) })
    const proxyConnect = connectOptions(new URL(proxy.origin), whole.tls, timeout)
    return new ProxiedPool(upstream.origin, proxy, { shared, connect, proxyConnect })
  } catch (error) {
    return new Pool(upstream.origin, {
      ...shared,
      connect: (_, callback) => callback(error as Error, null),
    })
  }
}

/**
 * Where clients' requests go. Without a proxy they have a pool of our own, which takes three quarters of the processor
 * time of undici's; only its connections are made by the same hand. Never throws either.
 */
export function openRequestPool(
  upstream: Destination,
  whole: Section,
  connections: number | undefined,
): RequestPool {
  const url = new URL(upstream.origin)
  if (proxyFor(url, whole) !== undefined) {
    return new ProxiedRequests(upstream.origin, openPool(upstream, whole, connections))
  }
  return new Http1Pool({
    connect: connectTo(url, upstream, whole),
    host: url.host,
    connections: connections ?? Number.POSITIVE_INFINITY,
    idleMs: IDLE_MS,
    idleMsMax: IDLE_MS_MAX,
    requestsMax: REQUESTS_MAX,
    ageMsMax: AGE_MS_MAX,
    random: Math.random,
  })
}

function connectTo(url: URL, upstream: Destination, whole: Section): Connect {
  try {
    const options = connectOptions(url, tlsOf(upstream.section, whole), timeoutOf(upstream))
    const connect = buildConnector(options)
    const { host, protocol, port } = url
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
    return (callback) =>
      connect({ host, hostname, protocol, port }, (...[error, socket]) => {
        if (error === null && socket instanceof TLSSocket) watchHandshakeEnd(socket)
        callback(error, error === null ? socket : null)
      })
  } catch (error) {
    return (callback) => callback(error as Error, null)
  }
}

/** A request in undici's words. */
class ProxiedRequests implements RequestPool {
  readonly #origin: string
  readonly #pool: Dispatcher

  constructor(origin: string, pool: Dispatcher) {
    this.#origin = origin
    this.#pool = pool
  }

  dispatch(request: PoolRequest, handler: PoolHandler): void {
    const { path, headers, requestId, ownHeaders = [], body } = request
    const all = [...headers, ...ownHeaders, 'x-request-id', requestId]
    this.#pool.dispatch({ origin: this.#origin, path, method: 'POST', headers: all, body }, handler)
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  destroy(): Promise<void> {
    return this.#pool.destroy()
  }
}

function timeoutOf({ section, timeoutMs }: Destination): number {
  return Math.min(section.connect_timeout_seconds * 1000, timeoutMs)
}

/** Every connection goes through these options: its address is checked, and its certificate. */
function connectOptions({ hostname, protocol }: URL, tls: Tls | undefined, timeout: number) {
  if (isDeniedHost(hostname)) throw new AddressDeniedError(hostname, hostname)
  return {
    timeout,
    allowH2: false,
    lookup: checkedLookup(),
    // NODE_TLS_REJECT_UNAUTHORIZED would turn verification off for whoever does not insist.
    rejectUnauthorized: true,
    ...(protocol === 'https:' && { secureContext: secureContextOf(tls) }),
  }
}

type ConnectOptions = ReturnType<typeof connectOptions>

interface ProxiedOptions {
  readonly shared: Pool.Options
  readonly connect: ConnectOptions
  readonly proxyConnect: ConnectOptions
}

/**
 * The pool of one upstream behind a proxy: https in a tunnel (CONNECT), http forwarded with the
 * whole URL as its target, because many proxies allow tunnels to port 443 only.
 */
class ProxiedPool extends ProxyAgent {
  readonly #origin: string

  constructor(origin: string, proxy: EgressProxy, options: ProxiedOptions) {
    const { shared, connect, proxyConnect } = options
    super({
      uri: proxy.origin,
      ...(proxy.authorization !== undefined && { token: proxy.authorization }),
      requestTls: connect,
      proxyTls: proxyConnect,
      // undici hands its own pools none of our limits.
      factory: (target, given) => new Pool(target, { ...shared, ...connectorOf(given) }),
      clientFactory: (target, given) =>
        new Pool(target, {
          ...shared,
          ...connectorOf(given),
          connections: null,
          // A proxy that never answers CONNECT must not hold the place of a connection for ever.
          headersTimeout: proxyConnect.timeout,
        }),
    })
    this.#origin = origin
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    return super.dispatch({ ...options, origin: this.#origin }, handler)
  }
}

/** undici types what it gives to factories as `object`; there is a connector in it. */
function connectorOf(given: object): Pick<Pool.Options, 'connect'> {
  const { connect } = given as { readonly connect: buildConnector.connector }
  return { connect: watched(connect) }
}

function watched(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null)
        return
      }
      if (socket instanceof TLSSocket) watchHandshakeEnd(socket)
      watchStaleness(socket)
      callback(null, socket)
    })
}
