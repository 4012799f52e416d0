/** The certificates of the webhook, and when to renew them. Pure: the same state and time give the same result. */

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import {
  type KeyedCertificate,
  makeAuthority,
  makeLeaf,
} from '../../dataplane/base/certificates/certificate.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'

export interface Certificates {
  /** In PEM, the newest first: clients may trust all of them. */
  readonly authorities: readonly string[]
  /** That of the newest authority; keys of older ones are not kept. */
  readonly authorityKey: string
  /** The certificate that the server presents. */
  readonly leaf: KeyedCertificate
}

export interface Circumstances {
  /** Names and addresses by which clients connect. */
  readonly hosts: readonly string[]
  readonly now: number
  /** Whether clients have received this authority. */
  readonly isTrusted: (authority: string) => boolean
}

const DAY_MS = 86_400_000
const AUTHORITY_MS = 365 * DAY_MS
/** Longer than any server certificate is valid, so that none outlives its authority. */
const AUTHORITY_LEFT_MS_MIN = 90 * DAY_MS
const LEAF_MS = 30 * DAY_MS
const LEAF_LEFT_MS_MIN = 10 * DAY_MS
/** Clocks of clients may be behind. */
const BACKDATED_MS = 3_600_000
/** How long an authority is published before anything is signed with it, so that every API server has it. */
const SETTLED_MS = 3_600_000
const AUTHORITIES_MAX = 4

/** The same object if nothing must change. */
export function renewed(
  current: Certificates | undefined,
  circumstances: Circumstances,
): Certificates {
  const { now, hosts, isTrusted } = circumstances
  const kept = (current?.authorities ?? []).filter((pem) => validity(pem).until > now)
  const [newest] = kept
  const isFresh = newest !== undefined && validity(newest).until - now >= AUTHORITY_LEFT_MS_MIN
  if (current === undefined || !isFresh) {
    const made = makeAuthority({ from: now - BACKDATED_MS, until: now + AUTHORITY_MS })
    const authorities = [made.certificate, ...kept].slice(0, AUTHORITIES_MAX)
    const isUsable = current !== undefined && serves(current.leaf, kept, circumstances)
    return {
      authorities,
      authorityKey: made.key,
      leaf: isUsable ? current.leaf : leafOf(made, circumstances),
    }
  }
  const authority = { certificate: newest, key: current.authorityKey }
  const isSettled = isTrusted(newest) && now - validity(newest).from - BACKDATED_MS >= SETTLED_MS
  const isOld =
    validity(current.leaf.certificate).until - now < LEAF_LEFT_MS_MIN ||
    !isIssuedBy(current.leaf.certificate, newest)
  const isLeafDone = !serves(current.leaf, kept, { now, hosts }) || (isOld && isSettled)
  if (!isLeafDone && kept.length === current.authorities.length) return current
  return {
    authorities: kept,
    authorityKey: current.authorityKey,
    leaf: isLeafDone ? leafOf(authority, circumstances) : current.leaf,
  }
}

function leafOf(authority: KeyedCertificate, { hosts, now }: Circumstances): KeyedCertificate {
  return makeLeaf(hosts, { from: now - BACKDATED_MS, until: now + LEAF_MS }, authority)
}

/** Whether a client that trusts these authorities would accept it. */
function serves(
  { certificate }: KeyedCertificate,
  authorities: readonly string[],
  { hosts, now }: Pick<Circumstances, 'hosts' | 'now'>,
): boolean {
  const leaf = new X509Certificate(certificate)
  const isNamed = hosts.every((host) =>
    isIP(host) === 0 ? leaf.checkHost(host) !== undefined : leaf.checkIP(host) !== undefined,
  )
  const isIssued = authorities.some((authority) => isIssuedBy(certificate, authority))
  return isNamed && isIssued && validity(certificate).until > now
}

function isIssuedBy(certificate: string, authority: string): boolean {
  const [leaf, issuer] = [new X509Certificate(certificate), new X509Certificate(authority)]
  return leaf.checkIssued(issuer) && leaf.verify(issuer.publicKey)
}

function validity(pem: string): { readonly from: number; readonly until: number } {
  const { validFromDate, validToDate } = new X509Certificate(pem)
  return { from: validFromDate.getTime(), until: validToDate.getTime() }
}

/** When the server's certificate ends, in milliseconds since the epoch. */
export function endOf({ certificate }: KeyedCertificate): number {
  return validity(certificate).until
}

/** The authorities that clients should trust. */
export function bundleOf({ authorities }: Certificates): string {
  return authorities.map((pem) => `${pem.trim()}\n`).join('')
}

const MEMBERS = ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] as const

export function secretDataOf(certificates: Certificates): Readonly<Record<string, string>> {
  const { authorityKey, leaf } = certificates
  const texts = [bundleOf(certificates), authorityKey, leaf.certificate, leaf.key]
  const encoded = texts.map((content) => Buffer.from(content).toString('base64'))
  return Object.fromEntries(MEMBERS.map((member, index) => [member, encoded[index] ?? '']))
}

/** Undefined if the Secret is empty or inconsistent: then everything is made again. */
export function readCertificates({ data }: KubeObject): Certificates | undefined {
  const [bundle = '', authorityKey = '', certificate = '', key = ''] = MEMBERS.map((member) => {
    const encoded = isRecord(data) ? data[member] : undefined
    return typeof encoded === 'string' ? Buffer.from(encoded, 'base64').toString() : ''
  })
  const authorities = pemsOf(bundle)
  const [newest] = authorities
  try {
    const isWhole =
      newest !== undefined &&
      isPair({ certificate: newest, key: authorityKey }) &&
      isPair({ certificate, key })
    for (const authority of authorities) new X509Certificate(authority)
    return isWhole ? { authorities, authorityKey, leaf: { certificate, key } } : undefined
  } catch {
    return undefined
  }
}

function isPair({ certificate, key }: KeyedCertificate): boolean {
  return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))
}

export function pemsOf(bundle: string): readonly string[] {
  return bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g) ?? []
}
