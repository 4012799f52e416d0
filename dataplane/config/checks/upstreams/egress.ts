/** TLS, proxies and headers on the way out. */
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import type { Section, UpstreamSection } from '../../../schema/index.ts'
import { type Finding, type Path, refuse } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'

type Tls = NonNullable<Section['tls']>

const certificateHasKey: Check = ({ tls, upstreams }) => [
  ...(tls === undefined ? [] : halfPair(tls, at('tls'))),
  ...upstreams.flatMap((upstream, index) =>
    upstream.tls === undefined
      ? []
      : halfPair({ ...tls, ...upstream.tls }, at('upstreams', index, 'tls')),
  ),
]

const tlsIsUsed: Check = ({ upstreams }) =>
  upstreams.flatMap(({ endpoint, endpoints, tls }, index) =>
    tls !== undefined && (endpoints === 'pool' || endpoint?.startsWith('http://'))
      ? [
          refuse(
            at('upstreams', index, 'tls'),
            'cannot take effect: the endpoint is http://',
            'Write an https:// endpoint, or remove tls.',
          ),
        ]
      : [],
  )

const bypassNeedsProxy: Check = ({ http_proxy, no_proxy }) =>
  http_proxy === undefined && no_proxy.length > 0
    ? [refuse(at('no_proxy'), 'cannot take effect: there is no http_proxy', 'Remove it.')]
    : []

const bypassIsReadable: Check = ({ no_proxy }) =>
  no_proxy.flatMap((entry, index) => {
    const [, address, bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
    const isHost = address !== undefined && /^(\*|[A-Za-z0-9._:[\]*-]+)$/.test(address)
    const most = address?.includes(':') ? 128 : 32
    if (entry.includes('${') || (isHost && Number(bits ?? 0) <= most)) return []
    const message = `${JSON.stringify(entry)} is no host, address or range`
    const fix = 'Write host, .suffix, *, address, address/bits or host:port.'
    return [refuse(at('no_proxy', index), message, fix)]
  })

/** Fields of the connection itself, which a configured header would break. */
const CONNECTION_HEADERS = new Set([
  'proxy-authorization',
  'proxy-connection',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const headersCanBeSent: Check = (section) =>
  headerMaps(section).flatMap(({ path, headers }) =>
    Object.entries(headers).flatMap(([name, value]) => judgeHeader([...path, name], name, value)),
  )

const headersHaveOneSpelling: Check = (section) =>
  headerMaps(section).flatMap(({ path, headers }) => {
    const seen = new Set<string>()
    return Object.keys(headers).flatMap((name) => {
      const isNew = !seen.has(name.toLowerCase())
      seen.add(name.toLowerCase())
      const finding = refuse([...path, name], 'the same header twice', 'Remove one of the two.')
      return isNew ? [] : [{ ...finding, atKey: true }]
    })
  })

const credentialIsGivenOnce: Check = ({ upstreams }) =>
  upstreams.flatMap((upstream, index) =>
    upstream.api_key === undefined
      ? []
      : Object.keys(upstream.headers ?? {}).flatMap((name) => {
          if (!carriesCredential(upstream, name.toLowerCase())) return []
          const message = 'contradicts api_key, which the gateway sends in this header'
          const finding = refuse(
            at('upstreams', index, 'headers', name),
            message,
            'Remove the header or api_key.',
          )
          return [{ ...finding, atKey: true }]
        }),
  )

export const egressChecks = [
  certificateHasKey,
  tlsIsUsed,
  bypassNeedsProxy,
  bypassIsReadable,
  headersCanBeSent,
  headersHaveOneSpelling,
  credentialIsGivenOnce,
]

function halfPair(tls: Tls, path: Path): Finding[] {
  const { client_cert_path, client_key_path } = tls
  if ((client_cert_path === undefined) === (client_key_path === undefined)) return []
  const [has, lacks] =
    client_key_path === undefined
      ? ['client_cert_path', 'client_key_path']
      : ['client_key_path', 'client_cert_path']
  return [refuse([...path, has], `cannot take effect without ${lacks}`, `Add ${lacks}.`)]
}

function headerMaps({ upstreams, guardrails, alerts, telemetry, usage }: Section) {
  const { webhook, otlp } = usage.sinks ?? {}
  return [
    ...upstreams.map(({ headers }, index) => ({
      path: at('upstreams', index, 'headers'),
      headers,
    })),
    ...guardrails.map(({ headers }, index) => ({
      path: at('guardrails', index, 'headers'),
      headers,
    })),
    { path: at('alerts', 'headers'), headers: alerts?.headers },
    { path: at('telemetry', 'otlp_headers'), headers: telemetry.otlp_headers },
    { path: at('usage', 'sinks', 'webhook', 'headers'), headers: webhook?.headers },
    { path: at('usage', 'sinks', 'otlp', 'otlp_headers'), headers: otlp?.otlp_headers },
  ].flatMap(({ path, headers }) => (headers === undefined ? [] : [{ path, headers }]))
}

function judgeHeader(path: Path, name: string, value: string): Finding[] {
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) {
    return [{ ...refuse(path, 'is not a header name', 'Use letters, digits and -.'), atKey: true }]
  }
  if (CONNECTION_HEADERS.has(name.toLowerCase())) {
    return [{ ...refuse(path, 'is set by the gateway itself', 'Remove it.'), atKey: true }]
  }
  return hasControls(value)
    ? [refuse(path, 'the value holds a line break or control character', 'Remove it.')]
    : []
}

export function hasControls(value: string): boolean {
  return [...value].some((character) => character < ' ' && character !== '\t')
}

/** `authorization` always counts: a provider with another header may read both. */
function carriesCredential({ provider }: UpstreamSection, header: string): boolean {
  return header === 'authorization' || header === PROVIDER_FACTS[provider].credentialHeader
}
