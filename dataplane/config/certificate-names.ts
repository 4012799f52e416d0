/** Maps the names in client certificates to tenants, by look-up. */
import type { ClientCertificate } from '../call/call.ts'
import { type KeyEntry, keyOf } from '../call/key-entry.ts'
import type { CertificateSettings } from '../schema/auth.ts'
import { callerId } from './caller-id.ts'

type Holder = Omit<CertificateSettings, 'san'>

export class CertificateNames {
  readonly #holders = new Map<string, Holder>()
  /** Cached, because a connection sends many requests with one certificate. */
  readonly #found = new WeakMap<ClientCertificate, KeyEntry>()

  constructor(settings: readonly CertificateSettings[]) {
    for (const { san, ...holder } of settings)
      for (const name of san) this.#holders.set(name, holder)
  }

  /** Whether no certificate is configured. */
  get isEmpty(): boolean {
    return this.#holders.size === 0
  }

  /** The caller by the closest matching name; undefined if no name is listed. */
  callerOf(certificate: ClientCertificate): KeyEntry | undefined {
    const known = this.#found.get(certificate)
    if (known !== undefined) return known
    let best:
      | { readonly name: string; readonly holder: Holder; readonly length: number }
      | undefined
    for (const name of certificate.names) {
      for (const { pattern, length } of patternsOf(name)) {
        const holder = this.#holders.get(pattern)
        if (holder === undefined) continue
        if (best === undefined || length > best.length) best = { name, holder, length }
        break
      }
    }
    if (best === undefined) return undefined
    const { tenant, scopes, routes = ['*'] } = best.holder
    const id = callerId(best.holder.name, best.name)
    const key = keyOf({ id, tenant, hash: '', scopes, routes })
    const found = { ...key, expiresAt: certificate.until }
    this.#found.set(certificate, found)
    return found
  }
}

interface Pattern {
  readonly pattern: string
  /** Length of the matched part. */
  readonly length: number
}

/** Patterns that match a name, the closest first: itself, then for a URI each path above it, for a host its domain. */
function* patternsOf(name: string): Generator<Pattern> {
  yield { pattern: name, length: Number.POSITIVE_INFINITY }
  const host = name.indexOf('://')
  if (host === -1) {
    const domain = name.indexOf('.')
    if (domain !== -1) yield { pattern: `*${name.slice(domain)}`, length: name.length - domain }
    return
  }
  for (let end = name.lastIndexOf('/'); end > host + 2; end = name.lastIndexOf('/', end - 1))
    yield { pattern: `${name.slice(0, end)}/*`, length: end }
}
