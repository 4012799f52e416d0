/** The certificate of the client listener: its facts, and the TLS settings of the listener. */
import type { X509Certificate } from 'node:crypto'
import type { Section } from '../schema/index.ts'
import { certificatesOf } from './pem.ts'

export type ListenerTls = NonNullable<Section['gateway']['tls']>
export type ClientAuth = NonNullable<ListenerTls['client_auth']>

export interface CertificateFacts {
  /** The first name or address in the certificate. */
  readonly name: string
  /** Milliseconds since the epoch. */
  readonly from: number
  readonly until: number
}

const MIN_VERSION = 'TLSv1.2'

export function clientAuthOf({ client_auth, client_ca }: ListenerTls): ClientAuth {
  return client_auth ?? (client_ca === undefined ? 'none' : 'require')
}

export function secureOptionsOf({ cert, key, client_ca, min_version }: ListenerTls) {
  return { cert, key, minVersion: min_version ?? MIN_VERSION, ...(client_ca && { ca: client_ca }) }
}

/** Throws for a text that the checks refuse. */
export function factsOf({ cert }: Pick<ListenerTls, 'cert'>): CertificateFacts {
  const [leaf] = certificatesOf(cert)
  if (leaf === undefined) throw new Error('there is no certificate')
  return {
    name: nameOf(leaf),
    from: leaf.validFromDate.getTime(),
    until: leaf.validToDate.getTime(),
  }
}

/** The certificate for reports; undefined if the listener serves plain HTTP. */
export function reportedCertificate({ gateway: { tls } }: Pick<Section, 'gateway'>) {
  if (tls === undefined) return {}
  const { name, from, until } = factsOf(tls)
  const [notBefore, notAfter] = [new Date(from).toISOString(), new Date(until).toISOString()]
  return { certificate: { name, notBefore, notAfter } }
}

/** Why a new pair is refused: a Secret with an older certificate than the active one is a mistake. */
export function stepBack(
  current: ListenerTls | undefined,
  next: ListenerTls | undefined,
): string | undefined {
  if (current === undefined || next === undefined || current.cert === next.cert) return undefined
  const [old, fresh] = [factsOf(current), factsOf(next)]
  if (fresh.from >= old.from || fresh.until >= old.until) return undefined
  const ends = (facts: CertificateFacts) => new Date(facts.until).toISOString()
  return (
    `gw.gateway.tls.cert is older than the certificate in force: it ends ${ends(fresh)}, the other ${ends(old)}. ` +
    'Bring a newer one, or restart the gateway to take it all the same.'
  )
}

function nameOf({ subjectAltName, subject }: X509Certificate): string {
  const [first = subject] = (subjectAltName ?? '').split(', ').filter((name) => name !== '')
  return first.replace(/^(DNS|IP Address|URI|CN):?=?/, '').slice(0, 253)
}
