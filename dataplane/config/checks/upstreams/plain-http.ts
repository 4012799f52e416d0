/** Credentials that would cross the Internet without TLS, so that every network on the way can read them. */
import { BlockList, isIP } from 'node:net'
import { isRecord, valueBelow } from '../../../json/values.ts'
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import type { Section, UpstreamSection } from '../../../schema/index.ts'
import { type Path, warn } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'
import { CREDENTIAL_HEADERS } from './credentials.ts'

/** A field with an address, and whether requests to it carry a credential. */
interface SentSecret {
  readonly path: Path
  readonly url: string | undefined
  readonly isSecret: boolean
}

const credentialsTravelEncrypted: Check = (section, { written }) =>
  sent(section, written).flatMap(({ path, url: text, isSecret }) => {
    if (text === undefined || text.includes('${')) return []
    const url = URL.parse(text)
    if (url?.protocol !== 'http:' || !isPublic(url.hostname)) return []
    if (!isSecret && url.password === '') return []
    const message = `sends a credential to ${url.hostname} over the network unencrypted`
    return [warn(path, message, FIX)]
  })

const FIX =
  'Write an https:// address, or that of a host in your own network; in a cluster that is NAME.NAMESPACE.svc.'

export const plainHttpChecks = [credentialsTravelEncrypted]

function sent(section: Section, written: unknown): SentSecret[] {
  const { upstreams, guardrails, vector_stores, alerts, telemetry, usage, http_proxy } = section
  const holds = (...path: Path) => holdsCredential(valueBelow(written, ...at(...path)))
  const ofAll = <T extends { readonly endpoint?: string | undefined }>(
    list: string,
    all: readonly T[],
    isSecret: (one: T, index: number) => boolean,
  ) =>
    all.map((one, index) => ({
      path: at(list, index, 'endpoint'),
      url: one.endpoint,
      isSecret: isSecret(one, index),
    }))
  const { webhook, otlp } = usage.sinks ?? {}
  const single: readonly [Path, string | undefined, boolean][] = [
    [['alerts', 'webhook_url'], alerts?.webhook_url, holds('alerts', 'headers')],
    [['telemetry', 'otlp_endpoint'], telemetry.otlp_endpoint, holds('telemetry', 'otlp_headers')],
    [
      ['usage', 'sinks', 'webhook', 'webhook_url'],
      webhook?.webhook_url,
      holds('usage', 'sinks', 'webhook', 'headers'),
    ],
    [
      ['usage', 'sinks', 'otlp', 'otlp_endpoint'],
      otlp?.otlp_endpoint,
      holds('usage', 'sinks', 'otlp', 'otlp_headers'),
    ],
    [['http_proxy'], http_proxy, false],
  ]
  return [
    ...ofAll(
      'upstreams',
      upstreams,
      (one, index) => isKeyed(one) || holds('upstreams', index, 'headers'),
    ),
    ...ofAll('guardrails', guardrails, (_, index) => holds('guardrails', index, 'headers')),
    ...ofAll('vector_stores', vector_stores, (one) => one.api_key !== undefined),
    ...single.map(([path, url, isSecret]) => ({ path: at(...path), url, isSecret })),
  ]
}

/** Whether the upstream gets a configured key or a fetched credential. */
function isKeyed(upstream: UpstreamSection): boolean {
  const { keyless } = PROVIDER_FACTS[upstream.provider]
  if (upstream.api_key !== undefined) return true
  return keyless?.every((setting) => upstream[setting] !== undefined) === true
}

/** A header whose value is a reference has a secret, regardless of its name. */
function holdsCredential(headers: unknown): boolean {
  return Object.entries(isRecord(headers) ? headers : {}).some(
    ([name, value]) =>
      CREDENTIAL_HEADERS.has(name.toLowerCase()) ||
      (typeof value === 'string' && /\$\{(secret|env|file):/.test(value)),
  )
}

const OWN_NAMES = /(^[^.]+|\.svc|\.cluster\.local|\.(localhost|local|internal|home\.arpa))$/
const OWN = ownNetworks()

/** Takes the host of a parsed URL, without a DNS lookup. */
function isPublic(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const family = isIP(host)
  if (family === 0) return !OWN_NAMES.test(host)
  return !OWN.check(host, family === 4 ? 'ipv4' : 'ipv6')
}

/** Loopback, private, link-local and shared (RFC 6598) addresses; BlockList also matches mapped addresses. */
function ownNetworks(): BlockList {
  const list = new BlockList()
  for (const [network, bits] of [
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.168.0.0', 16],
  ] as const)
    list.addSubnet(network, bits, 'ipv4')
  for (const [network, bits] of [
    ['::', 127],
    ['fc00::', 7],
    ['fe80::', 10],
  ] as const)
    list.addSubnet(network, bits, 'ipv6')
  return list
}
