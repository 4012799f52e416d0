/** Bedrock's address: a host for each region, in the domain of the region's partition. */

const DOMAIN = 'amazonaws.com'
/** Partitions with another domain, by the prefix of their region names. */
const DOMAINS: readonly (readonly [region: RegExp, domain: string])[] = [
  [/^cn-/, 'amazonaws.com.cn'],
  [/^eusc-/, 'amazonaws.eu'],
  [/^us-iso-/, 'c2s.ic.gov'],
  [/^us-isob-/, 'sc2s.sgov.gov'],
  [/^eu-isoe-/, 'cloud.adc-e.uk'],
  [/^us-isof-/, 'csp.hci.ic.gov'],
]
/** `bedrock-runtime.eu-west-1.amazonaws.com`, with `-fips`, or `vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com`. */
const HOST = /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]{1,63})\./

export function endpointIn(region: string): string {
  const [, domain = DOMAIN] = DOMAINS.find(([pattern]) => pattern.test(region)) ?? []
  return `https://bedrock-runtime.${region}.${domain}`
}

/** The region in an address of Bedrock itself; undefined for a proxy. */
export function regionIn(origin: string): string | undefined {
  return HOST.exec(new URL(origin).hostname)?.[1]
}

/** A model's name, the id of an inference profile, or an ARN, as one path segment. */
export function segmentOf(model: string): string {
  // A segment of only dots would change the path.
  const bare = /^\.{1,2}$/.test(model) ? /[.]/g : /[!'()*]/g
  return encodeURIComponent(model).replace(bare, percent)
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`
}
