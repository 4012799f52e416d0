/** Addresses that the gateway would connect to. */

import type { Section } from '../../../schema/index.ts'
import { type Path, refuse } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'

interface Dialled {
  readonly path: Path
  readonly url: URL
}

/** Host names at which clouds give credentials to any client. */
const METADATA_HOSTS = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  '[fd00:ec2::254]',
])

const LOOPBACK = /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/

const nothingDialsMetadata: Check = (section) =>
  dialled(section).flatMap(({ path, url }) => {
    const host = url.hostname.replace(/\.$/, '')
    const fix = 'Use the address of the service itself.'
    if (METADATA_HOSTS.has(host)) {
      return [refuse(path, 'a metadata address is never dialled', fix)]
    }
    return isLinkLocal(host) ? [refuse(path, 'a link-local address is never dialled', fix)] : []
  })

const endpointHoldsNoCredential: Check = (section) =>
  endpoints(section).flatMap(({ path, url }) =>
    url.username !== '' || url.password !== ''
      ? [refuse(path, 'holds a user name or password', 'Put the credential into api_key.')]
      : [],
  )

const endpointIsABase: Check = (section) =>
  endpoints(section).flatMap(({ path, url }) => {
    const fix = 'Write only the base URL, such as http://host:8000/v1.'
    if (url.search !== '' || url.hash !== '') {
      return [refuse(path, 'holds a query or fragment, which would be lost', fix)]
    }
    const operation =
      /\/(chat\/completions|completions|messages|embeddings|rerank|audio\/transcriptions|models)\/?$/.exec(
        url.pathname,
      )
    return operation === null
      ? []
      : [refuse(path, `ends with ${operation[0]}, which the gateway appends itself`, fix)]
  })

const gatewayDoesNotCallItself: Check = (section) => {
  const { listen_port, metrics_port, admin_port } = section.gateway
  const own = [listen_port, metrics_port, admin_port].map(String)
  return endpoints(section).flatMap(({ path, url }) =>
    LOOPBACK.test(url.hostname) && own.includes(url.port)
      ? [
          refuse(
            path,
            `port ${url.port} of this host is the gateway's own`,
            'Write the port of the model server, or move the gateway to another one.',
          ),
        ]
      : [],
  )
}

export const addressChecks = [
  nothingDialsMetadata,
  endpointHoldsNoCredential,
  endpointIsABase,
  gatewayDoesNotCallItself,
]

function endpoints({ upstreams, guardrails }: Section): Dialled[] {
  return [
    ...upstreams.flatMap((one, index) => parsed(one.endpoint, at('upstreams', index, 'endpoint'))),
    ...guardrails.flatMap((one, index) =>
      parsed(one.endpoint, at('guardrails', index, 'endpoint')),
    ),
  ]
}

function dialled(section: Section): Dialled[] {
  return [
    ...endpoints(section),
    ...section.vector_stores.flatMap((one, index) =>
      parsed(one.endpoint, at('vector_stores', index, 'endpoint')),
    ),
    ...parsed(section.alerts?.webhook_url, at('alerts', 'webhook_url')),
    ...parsed(section.telemetry.otlp_endpoint, at('telemetry', 'otlp_endpoint')),
    ...parsed(
      section.usage.sinks?.webhook?.webhook_url,
      at('usage', 'sinks', 'webhook', 'webhook_url'),
    ),
    ...parsed(
      section.usage.sinks?.otlp?.otlp_endpoint,
      at('usage', 'sinks', 'otlp', 'otlp_endpoint'),
    ),
    ...parsed(section.http_proxy, at('http_proxy')),
    ...parsed(section.rate_limits?.redis?.url, at('rate_limits', 'redis', 'url')),
  ]
}

/** An unresolved reference is not an address yet. */
function parsed(text: string | undefined, path: Path): Dialled[] {
  if (text === undefined || text.includes('${')) return []
  const url = URL.parse(text)
  return url === null ? [] : [{ path, url }]
}

/** The URL parser has already turned decimal, octal and hexadecimal forms into dotted ones. */
function isLinkLocal(host: string): boolean {
  if (/^169\.254\./.test(host)) return true
  if (/^\[fe[89ab][0-9a-f]:/.test(host)) return true
  // ::ffff:169.254.x.y, as the parser prints it.
  return /^\[::(ffff:)?a9fe:/.test(host)
}
