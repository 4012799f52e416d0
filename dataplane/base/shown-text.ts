/** Texts of clients and upstreams, as logs, traces, terminals and answers may show them: short, printable, without keys. */
import { pathOf } from './path-spelling.ts'

const PATH_LENGTH_MAX = 200
const NAME_LENGTH_MAX = 100
const NOT_ASCII = /[^ -~]/g
/** Control characters, and line ends that JSON leaves as they are. */
const UNPRINTABLE = /[\p{Cc}\u2028\u2029]/gu

/** Keys of this gateway, of the hosted APIs that begin theirs with `sk-`, and any bearer token. */
const KEYS = /(?<![a-z0-9])(?:gw_[\w-]{6,}|sk-[\w*-]{6,}|bearer(?:\s|%20|\+)+[^\s"'<>&,;]{6,})/gi

/** Cuts each key in a text to its prefix, because people paste keys into other fields. */
export function maskKeys(text: string): string {
  return text.replace(KEYS, (key) => `${/^(?:gw_|sk-|bearer)/i.exec(key)?.[0]}***`)
}

/** The path of a target without its query, because other APIs take keys in queries. */
export function shownPath(target: string): string {
  const path = pathOf(target)
  const masked = path.includes('%') ? maskEncoded(path) : maskKeys(path)
  return asciiOf(masked.slice(0, PATH_LENGTH_MAX))
}

/** For a header. */
export function asciiOf(text: string): string {
  return text.replace(NOT_ASCII, '?')
}

/** A name that is not configured. */
export function shownName(name: string): string {
  const text = maskKeys(name).replaceAll(UNPRINTABLE, '\ufffd')
  return text.length > NAME_LENGTH_MAX ? `${text.slice(0, NAME_LENGTH_MAX)}…` : text
}

const ADDRESSES =
  /\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d{1,5}\b)?|\[[0-9a-f]{0,4}(?::[0-9a-f.]{0,15}){2,8}\](?::\d{1,5}\b)?/gi
const RUNTIME_CODES =
  /\b(?:E(?:CONN[A-Z]+|ADDR[A-Z]+|PIPE|PROTO|AI_AGAIN|NOTFOUND|TIMEDOUT|HOSTUNREACH|NETUNREACH)|UND_ERR_[A-Z_]+|HPE_[A-Z_]+)\b/g

/** An upstream's error text without facts about its network, for clients. */
export function shownFailure(text: string): string {
  return maskKeys(text).replace(ADDRESSES, '(address)').replace(RUNTIME_CODES, '(error)')
}

/** The pattern does not match a key with an encoded letter, but a reader can decode it. */
function maskEncoded(path: string): string {
  try {
    const decoded = decodeURIComponent(path)
    const masked = maskKeys(decoded)
    return masked === decoded ? path : masked
  } catch {
    return maskKeys(path)
  }
}
