/**
 * Addresses that are never dialled: those of cloud metadata services, which give credentials to every local process,
 * and link-local ones, which most of these services use.
 */
import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

type Range = readonly [network: string, bits: number]

const IPV4: readonly Range[] = [
  // Link-local; most clouds' metadata services are in it.
  ['169.254.0.0', 16],
  // Alibaba Cloud, Oracle Cloud, Azure's wire server.
  ['100.100.100.200', 32],
  ['192.0.0.192', 32],
  ['168.63.129.16', 32],
]

const IPV6: readonly Range[] = [
  ['fe80::', 10],
  // The link-local services of AWS: metadata, pod identity, DNS, time.
  ['fd00:ec2::', 32],
  // Google Cloud, Oracle Cloud, Scaleway.
  ['fd20:ce::254', 128],
  ['fd00:c1::a9fe:a9fe', 128],
  ['fd00:42::42', 128],
]

/** Prefixes behind which an IPv4 address stands in the last four bytes of an IPv6 address. */
const EMBEDDING = [
  // Mapped (RFC 4291), compatible (the same), translated (RFC 2765), NAT64 (RFC 6052, RFC 8215).
  '::ffff:',
  '::',
  '::ffff:0:',
  '64:ff9b::',
  '64:ff9b:1::',
]

const DENIED_NAMES = [
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'instance-data',
  'instance-data.ec2.internal',
]

const DENIED = denied()

export class AddressDeniedError extends Error {
  readonly code = 'ERR_GW_ADDRESS_DENIED'

  constructor(host: string, address: string) {
    const leads = host === address ? host : `${host} (${address})`
    super(`${leads} is a link-local or metadata address, which is never dialled`)
  }
}

/** Takes an address without brackets, as DNS and sockets write it. */
export function isDeniedAddress(address: string): boolean {
  // A zone such as fe80::1%eth0 names an interface of this machine and is no part of the address.
  const [bare = ''] = address.split('%')
  const family = isIP(bare)
  return family !== 0 && DENIED.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

/**
 * Takes the host of a parsed URL: the parser has already turned decimal, octal, hexadecimal and
 * short forms into dotted ones. Names are also judged directly, because a proxy resolves them itself.
 */
export function isDeniedHost(hostname: string): boolean {
  const host = hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
  if (isDeniedAddress(host)) return true
  return DENIED_NAMES.some(
    (name) => host === name || (name.includes('.') && host.endsWith(`.${name}`)),
  )
}

/** Resolves a name to all its addresses, as `dns.lookup` does. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * A look-up that returns only allowed addresses. The socket connects to the returned address without another look-up,
 * so a DNS answer that changes between check and connection has no effect.
 */
export function checkedLookup(resolve: Resolve = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, '')
        return
      }
      const allowed = found.filter(({ address }) => !isDeniedAddress(address))
      const [first] = allowed
      if (first === undefined) {
        callback(new AddressDeniedError(hostname, found[0]?.address ?? 'no address'), '')
      } else if (options.all === true) {
        callback(null, allowed)
      } else {
        callback(null, first.address, first.family)
      }
    })
  }
}

function denied(): BlockList {
  const list = new BlockList()
  for (const [network, bits] of IPV4) {
    list.addSubnet(network, bits, 'ipv4')
    for (const prefix of EMBEDDING) list.addSubnet(`${prefix}${network}`, 96 + bits, 'ipv6')
    list.addSubnet(sixToFour(network), 16 + bits, 'ipv6')
  }
  for (const [network, bits] of IPV6) list.addSubnet(network, bits, 'ipv6')
  return list
}

/** The 6to4 network (RFC 3056) that leads to an IPv4 address: 2002, then its four bytes. */
function sixToFour(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
  return `2002:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`
}
