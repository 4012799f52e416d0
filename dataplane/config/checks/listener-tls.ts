/** The certificate and key of the client listener: references, a matching key, readable authorities. */
import type { KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { valueBelow } from '../../json/values.ts'
import { EMPTIED_FIX, isReference } from '../document/reference-syntax.ts'
import { type Finding, refuse, warn } from '../judgement/problems.ts'
import { type ListenerTls, secureOptionsOf } from '../listener-certificate.ts'
import { certificatesOf, keyOf } from '../pem.ts'
import { at, type Check } from './contract.ts'

const FIELDS = ['cert', 'key', 'client_ca'] as const
type TlsField = (typeof FIELDS)[number]

const FIXES: Readonly<Record<TlsField, string>> = {
  cert: 'Provide the certificate in PEM form, followed by its intermediate ones.',
  key: 'Provide the private key in PEM form, without a passphrase.',
  client_ca: 'Provide certificates in PEM form, which begin with "BEGIN CERTIFICATE".',
}

const place = (field: keyof ListenerTls) => at('gateway', 'tls', field)

const pairIsReferred: Check = (_section, { written }) =>
  FIELDS.flatMap((field) => {
    const text = valueBelow(written, ...place(field))
    if (typeof text !== 'string' || isReference(text)) return []
    if (text === '') return [refuse(place(field), 'is empty', EMPTIED_FIX)]
    const fix = 'Write ${secret:NAME/KEY}, or ${file:PATH} outside of a cluster.'
    return [refuse(place(field), 'must be one reference, never a literal', fix)]
  })

/** Checks the values of the references; another check reports those that cannot be resolved. */
const pairFits: Check = ({ gateway: { tls } }, { now, written }) => {
  if (tls === undefined) return []
  const findings: Finding[] = []
  function read<T>(field: TlsField, parse: (text: string) => T): T | undefined {
    const text = tls?.[field]
    if (text === undefined || text.includes('${')) return undefined
    if (!isReference(String(valueBelow(written, ...place(field))))) return undefined
    try {
      return parse(text)
    } catch (error) {
      const message = error instanceof Error ? error.message : 'cannot be used'
      findings.push(refuse(place(field), message, FIXES[field]))
      return undefined
    }
  }
  const leaf = read('cert', certificatesOf)?.[0]
  const key = read('key', keyOf)
  read('client_ca', certificatesOf)
  if (findings.length > 0) return findings
  return [
    ...(leaf && key ? judgePair(tls, leaf, key) : []),
    ...(leaf && now !== undefined ? judgeTime(leaf, now) : []),
  ]
}

function judgePair(tls: ListenerTls, leaf: X509Certificate, key: KeyObject): Finding[] {
  if (!leaf.checkPrivateKey(key)) {
    const fix = 'Provide the key of this certificate, in the same Secret.'
    return [refuse(place('key'), 'is not the key of cert', fix)]
  }
  if (tls.client_ca?.includes('${')) return []
  try {
    createSecureContext(secureOptionsOf(tls))
    return []
  } catch (error) {
    // Its message names the broken rule of TLS, and contains nothing of the key.
    const why = error instanceof Error ? error.message : String(error)
    return [refuse(place('cert'), `cannot be served (${why})`, 'Make another certificate.')]
  }
}

/** Clients refuse it by their own clocks; the gateway continues, because a new one may arrive soon. */
function judgeTime({ validFromDate, validToDate }: X509Certificate, now: number): Finding[] {
  const fix = 'Renew it; the gateway uses the new one without a restart.'
  if (validToDate.getTime() <= now) {
    return [warn(place('cert'), `ended on ${validToDate.toISOString()}: clients refuse it`, fix)]
  }
  if (validFromDate.getTime() <= now) return []
  const message = `begins on ${validFromDate.toISOString()}: clients refuse it until then`
  return [warn(place('cert'), message, fix)]
}

const authoritiesTakeEffect: Check = ({ gateway: { tls } }) => {
  if (tls === undefined) return []
  const { client_ca, client_auth } = tls
  const asks = client_auth === 'request' || client_auth === 'require'
  if (client_ca === undefined && asks) {
    const fix = 'Add client_ca, the authorities of your clients, or remove client_auth.'
    return [refuse(place('client_auth'), 'has no authority for client certificates', fix)]
  }
  if (client_ca === undefined || client_auth !== 'none') return []
  const message = 'cannot take effect with client_auth: none'
  return [refuse(place('client_ca'), message, 'Write client_auth: require, or remove client_ca.')]
}

export const listenerTlsChecks = [pairIsReferred, pairFits, authoritiesTakeEffect]
