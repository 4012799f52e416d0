/** Hosts that are reached without the egress proxy. If clients differ, the rules of Go apply. */
import { BlockList, isIP } from 'node:net'

/** Takes the host of a parsed URL, with or without brackets, and the port that is dialled. */
export type Bypass = (hostname: string, port: number) => boolean

type Family = 'ipv4' | 'ipv6'

/**
 * Understands, with any of them but a range followed by `:port`:
 *
 * - `example.com`: that name and every name below it, as for curl and Go;
 * - `.example.com` and `*.example.com`: only names below it, as for Go (curl takes the name itself too);
 * - `*`: everything; `:8080` is `*:8080`;
 * - `10.1.2.3`, `fd00::1`, `[fd00::1]`: that address, however the endpoint writes it;
 * - `10.0.0.0/8`, `fd00::/8`: every address in the range.
 *
 * Names are compared without case and without a last dot. A name is never resolved, so a range
 * covers only endpoints that are written as addresses, and an address is never below a name.
 * Nothing is implied: `localhost` and loopback addresses go through the proxy unless an entry names
 * them. An invalid entry matches nothing.
 */
export function createBypass(entries: readonly string[]): Bypass {
  const rules = entries.map(ruleOf)
  return (hostname, port) => {
    const host = bareHost(hostname)
    return rules.some((rule) => rule(host, port))
  }
}

function ruleOf(entry: string): Bypass {
  const text = entry.trim()
  const range = rangeOf(text)
  if (range !== undefined) return (host) => isIn(range, host)
  const { pattern, port } = splitPort(text)
  const matches = matcherOf(pattern)
  return (host, dialled) => (port === undefined || port === dialled) && matches(host)
}

function matcherOf(pattern: string): (host: string) => boolean {
  if (pattern === '*') return () => true
  const address = bareHost(pattern)
  const family = familyOf(address)
  if (family !== undefined) {
    const only = new BlockList()
    only.addAddress(address, family)
    return (host) => isIn(only, host)
  }
  const isBelow = address.startsWith('.') || address.startsWith('*.')
  const name = address.replace(/^\*?\./, '')
  if (name === '') return () => false
  return (host) => isIP(host) === 0 && ((!isBelow && host === name) || host.endsWith(`.${name}`))
}

/** `10.0.0.0/8`; undefined if it is not a range. */
function rangeOf(text: string): BlockList | undefined {
  const [, network = '', bits] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const address = bareHost(network)
  const family = familyOf(address)
  if (family === undefined || Number(bits) > (family === 'ipv4' ? 32 : 128)) return undefined
  const list = new BlockList()
  list.addSubnet(address, Number(bits), family)
  return list
}

/** A number after the last colon is a port, unless the whole is an IPv6 address without brackets. */
function splitPort(text: string): { pattern: string; port?: number } {
  const [, pattern = '', port] = /^(.*):(\d{1,5})$/.exec(text) ?? []
  if (port === undefined || isIP(text) === 6) return { pattern: text }
  return { pattern: pattern === '' ? '*' : pattern, port: Number(port) }
}

function isIn(list: BlockList, host: string): boolean {
  const family = familyOf(host)
  return family !== undefined && list.check(host, family)
}

function familyOf(host: string): Family | undefined {
  const family = isIP(host)
  if (family === 0) return undefined
  return family === 4 ? 'ipv4' : 'ipv6'
}

function bareHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}
