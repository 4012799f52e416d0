/** Connection pools to upstreams, direct or through the egress proxy. The only file that knows undici. */
import { isIP, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Dispatcher } from 'undici'
import type { UpstreamSettings } from '../config/snapshot.ts'
import { type Tls, tlsOf } from '../config/tls-files.ts'
import type { Section, UpstreamSection } from '../schema/index.ts'
import { AddressDeniedError, checkedLookup, isDeniedAddress, isDeniedHost } from './addresses.ts'
import { type EgressProxy, proxyFor } from './egress-proxy.ts'
import { watchHandshakeEnd } from './handshake-end.ts'
import type { RequestPool } from './http1/contract.ts'
import { type Connect, Http1Pool } from './http1/pool.ts'
import { SharedReads } from './http1/shared-reads.ts'
import { refusedByProxy } from './http1/wire-error.ts'
import { secureContextOf } from './secure-context.ts'
import { openTunnel } from './tunnel.ts'
import { buildConnector, DecoratorHandler, Pool } from './undici.ts'

/** Idle connections are closed before uvicorn closes them after 5 s, perhaps during a request. */
const IDLE_MS = 4000
const IDLE_MS_MAX = 60_000
/** Bounds that end a connection with an unnoticed fault, such as an answer without a request. */
const REQUESTS_MAX = 1000
const AGE_MS_MAX = 600_000
const HEADER_BYTES_MAX = 65_536
const PROXY_AUTHENTICATION = 407

/** An upstream, or another server that is reached in the same way. */
export interface Destination extends Pick<UpstreamSettings, 'origin' | 'timeoutMs'> {
  readonly section: Pick<UpstreamSection, 'connect_timeout_seconds' | 'tls'>
  /** Where its connections lead, or what says so for each; absent: where the name of the origin does. */
  readonly at?: PeerAddress | (() => PeerAddress | undefined) | undefined
}

interface PeerAddress {
  readonly address: string
  readonly port: number
}

/**
 * A pool of undici, for scrapes, alerts and trials. Never throws: if no connection is allowed or possible, every
 * request fails with the reason.
 */
export function openPool(
  upstream: Destination,
  whole: Section,
  connections: number | undefined,
): Dispatcher {
  const { url, proxy, connect } = transportTo(upstream, whole)
  const pool = new Pool(url, {
    connections: connections ?? null,
    pipelining: 1,
    allowH2: false,
    // Callers have their own timeouts, because those of undici do not fire while an answer is read slowly.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS_MAX,
    maxHeaderSize: HEADER_BYTES_MAX,
    maxRequestsPerClient: REQUESTS_MAX,
    clientTtl: AGE_MS_MAX,
    connect: (_, callback) => connect(callback as Connected),
  })
  return proxy === undefined ? pool : pool.compose(forwarding(url, proxy))
}

/** The pool for clients' requests, which needs three quarters of the processor time of undici's pool. It never throws either. */
export function openRequestPool(
  upstream: Destination,
  whole: Section,
  connections: number | undefined,
): RequestPool {
  const { url, proxy, connect } = transportTo(upstream, whole, true)
  return new Http1Pool({
    connect,
    host: url.host,
    proxy,
    connections: connections ?? Number.POSITIVE_INFINITY,
    idleMs: IDLE_MS,
    idleMsMax: IDLE_MS_MAX,
    requestsMax: REQUESTS_MAX,
    ageMsMax: AGE_MS_MAX,
    random: Math.random,
  })
}

/** How connections to an upstream are made, and the form of requests on them. */
export interface Transport {
  readonly url: URL
  /** Set if a proxy forwards the requests. */
  readonly proxy: EgressProxy | undefined
  readonly connect: Connect
}

/**
 * Direct, or through the egress proxy: to https in a tunnel (CONNECT), to http with the whole URL as the target of each
 * request, because many proxies allow tunnels to port 443 only. `shares`: connections without TLS read through one buffer.
 */
export function transportTo(upstream: Destination, whole: Section, shares = false): Transport {
  const url = new URL(upstream.origin)
  const proxy = proxyFor(url, whole)
  const isForwarded = url.protocol === 'http:'
  try {
    const timeout = timeoutOf(upstream)
    const terms = { timeout, shares: shares && isForwarded }
    const dial = dialOf(url, tlsOf(upstream.section, whole), terms, upstream.at)
    if (proxy === undefined) return { url, proxy, connect: (callback) => dial(callback) }
    const dialProxy = dialer(new URL(proxy.origin), whole.tls, terms)
    if (isForwarded) return { url, proxy, connect: (callback) => dialProxy(callback) }
    const { authorization } = proxy
    const options = { authority: authorityOf(url), authorization, timeoutMs: timeout }
    const connect: Connect = (callback) =>
      dialProxy((error, socket) => {
        if (socket === null) callback(error, null)
        else
          openTunnel(socket, options, (refused) => {
            if (refused === null) dial(callback, socket)
            else callback(refused, null)
          })
      })
    return { url, proxy: undefined, connect }
  } catch (error) {
    return { url, proxy: undefined, connect: (callback) => callback(error as Error, null) }
  }
}

type Connected = Parameters<Connect>[0]
/** Makes a connection, through another one if `over` is given. */
type Dial = (callback: Connected, over?: Socket) => void

interface ClientSettings {
  readonly timeout: number
  /** Whether connections without TLS read into the shared buffer. */
  readonly shares: boolean
}

function dialOf(
  url: URL,
  tls: Tls | undefined,
  terms: ClientSettings,
  at: Destination['at'],
): Dial {
  if (typeof at !== 'function') return dialer(url, tls, terms, at)
  return (callback) => {
    const place = at()
    if (place === undefined) callback(new Error('there is no endpoint'), null)
    else dialer(url, tls, terms, place)(callback)
  }
}

/** Every connection is made here: its address is checked, and its certificate. */
function dialer(
  url: URL,
  tls: Tls | undefined,
  { timeout, shares }: ClientSettings,
  place?: PeerAddress,
): Dial {
  const { host, protocol } = url
  const hostname = place?.address ?? nameOf(url)
  if (isDeniedHost(url.hostname) || isDeniedAddress(hostname))
    throw new AddressDeniedError(url.hostname, hostname)
  const port = place === undefined ? url.port : String(place.port)
  // Every address must present the certificate of the name.
  const servername = place === undefined || isIP(nameOf(url)) !== 0 ? undefined : nameOf(url)
  const common = {
    timeout,
    allowH2: false,
    lookup: checkedLookup(),
    // NODE_TLS_REJECT_UNAUTHORIZED would turn verification off where this is not set.
    rejectUnauthorized: true,
    ...(protocol === 'https:' && { secureContext: secureContextOf(tls) }),
  }
  const connect = buildConnector(common)
  return (callback, over) => {
    const options = {
      ...{ host, hostname, protocol, port },
      ...(servername !== undefined && { servername }),
      ...(over && { httpSocket: over }),
    }
    const reads = shares && protocol === 'http:' ? new SharedReads() : undefined
    const make = reads === undefined ? connect : buildConnector({ ...common, onread: reads.onread })
    make(options, (...[error, socket]) => {
      if (error === null && socket instanceof TLSSocket) watchHandshakeEnd(socket)
      callback(error, error === null ? socket : null, reads)
    })
  }
}

function nameOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

function timeoutOf({ section, timeoutMs }: Destination): number {
  return Math.min(section.connect_timeout_seconds * 1000, timeoutMs)
}

/** A proxy needs the port even if the URL omits it. */
function authorityOf({ hostname, port }: URL): string {
  return `${hostname}:${port || 443}`
}

/** Converts undici's requests to the form that a forwarding proxy needs. */
function forwarding(
  { origin }: URL,
  { authorization }: EgressProxy,
): Dispatcher.DispatcherComposeInterceptor {
  const credential = authorization === undefined ? {} : { 'proxy-authorization': authorization }
  return (dispatch) => (options, handler) => {
    // Probes, scrapes, alerts and trials pass their headers as an object.
    const headers = { ...(options.headers as Record<string, string>), ...credential }
    return dispatch(
      { ...options, path: origin + options.path, headers },
      new ForwardedHandler(handler),
    )
  }
}

export type Handler = Dispatcher.DispatchHandler
export type ResponseStart = Parameters<Required<Handler>['onResponseStart']>
type Controller = ResponseStart[0]

/** Forwards all calls that subclasses do not override. undici's type lacks its methods. */
export const Decorator = DecoratorHandler as unknown as new (
  handler: Handler,
) => {
  onResponseStart(...answer: ResponseStart): void
  onResponseData(controller: Controller, chunk: Buffer): void
  onResponseEnd(controller: Controller, trailers: ResponseStart[2]): void
  onResponseError(controller: Controller, error: Error): void
}

class ForwardedHandler extends Decorator {
  override onResponseStart(...answer: ResponseStart): void {
    if (answer[1] === PROXY_AUTHENTICATION) throw refusedByProxy(answer[1])
    super.onResponseStart(...answer)
  }
}
