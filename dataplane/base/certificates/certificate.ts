/** Makes two kinds of certificates: for an authority, and for a server that the authority vouches for. */
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { isIP, isIPv4 } from 'node:net'
import {
  bits,
  integer,
  objectId,
  octets,
  sequence,
  set,
  tagged,
  taggedBytes,
  text,
  time,
  truth,
} from './der.ts'

/** Both in PEM. */
export interface KeyedCertificate {
  readonly certificate: string
  readonly key: string
}

/** Milliseconds since the epoch. */
export interface Validity {
  readonly from: number
  readonly until: number
}

const ECDSA_WITH_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'))
const COMMON_NAME = objectId('2.5.4.3')
const SERVER_AUTHENTICATION = objectId('1.3.6.1.5.5.7.3.1')
const EXTENSIONS = {
  subjectKeyId: objectId('2.5.29.14'),
  keyUsage: objectId('2.5.29.15'),
  subjectNames: objectId('2.5.29.17'),
  constraints: objectId('2.5.29.19'),
  authorityKeyId: objectId('2.5.29.35'),
  extendedKeyUsage: objectId('2.5.29.37'),
} as const

/** The authority may sign servers, but no further authority. */
export function makeAuthority(validity: Validity): KeyedCertificate {
  const { privateKey, publicKey } = newKeys()
  // Each authority has a distinct name, so that a client can select one of several.
  const name = `gw-operator-webhook-ca-${randomBytes(4).toString('hex')}`
  const extensions = [
    critical(EXTENSIONS.constraints, sequence(truth(), integer(Buffer.from([0])))),
    critical(EXTENSIONS.keyUsage, bits(Buffer.from([0b0000_0100]), 2)),
    extension(EXTENSIONS.subjectKeyId, octets(keyIdOf(publicKey))),
  ]
  const facts = { subject: name, issuer: name, validity, publicKey, extensions }
  return { certificate: signed(facts, privateKey), key: pemOf(privateKey) }
}

/** Makes a certificate for a server of these names and addresses. */
export function makeLeaf(
  hosts: readonly string[],
  validity: Validity,
  authority: KeyedCertificate,
): KeyedCertificate {
  const { privateKey, publicKey } = newKeys()
  const issuer = new X509Certificate(authority.certificate)
  const extensions = [
    critical(EXTENSIONS.constraints, sequence()),
    critical(EXTENSIONS.keyUsage, bits(Buffer.from([0b1000_0000]), 7)),
    extension(EXTENSIONS.extendedKeyUsage, sequence(SERVER_AUTHENTICATION)),
    extension(EXTENSIONS.subjectNames, sequence(...hosts.map(generalName))),
    extension(EXTENSIONS.authorityKeyId, sequence(taggedBytes(0, keyIdOf(issuer.publicKey)))),
  ]
  const facts = {
    // Clients check the names in the extensions; this one must be shorter than some of those.
    subject: 'gw-operator-webhook',
    issuer: commonNameOf(issuer),
    validity,
    publicKey,
    extensions,
  }
  const certificate = signed(facts, createPrivateKey(authority.key))
  return { certificate, key: pemOf(privateKey) }
}

interface Facts {
  readonly subject: string
  readonly issuer: string
  readonly validity: Validity
  readonly publicKey: KeyObject
  readonly extensions: readonly Buffer[]
}

/** Version 3, with an unpredictable serial number. */
function signed({ subject, issuer, validity, publicKey, extensions }: Facts, by: KeyObject) {
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(randomBytes(16)),
    ECDSA_WITH_SHA256,
    nameOf(issuer),
    sequence(time(validity.from), time(validity.until)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(3, sequence(...extensions)),
  )
  const der = sequence(body, ECDSA_WITH_SHA256, bits(sign('sha256', body, by)))
  return new X509Certificate(der).toString()
}

function newKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(COMMON_NAME, text(commonName))))
}

/** Reads the subject of a certificate that was made here: it is one line. */
function commonNameOf({ subject }: X509Certificate): string {
  return subject.replace(/^CN=/, '')
}

function keyIdOf(key: KeyObject): Buffer {
  const der = key.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(der).digest().subarray(0, 20)
}

function extension(id: Buffer, value: Buffer): Buffer {
  return sequence(id, octets(value))
}

function critical(id: Buffer, value: Buffer): Buffer {
  return sequence(id, truth(), octets(value))
}

function generalName(host: string): Buffer {
  return isIP(host) === 0
    ? taggedBytes(2, Buffer.from(host, 'ascii'))
    : taggedBytes(7, addressBytes(host))
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const [before = '', after] = address.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':'))
  const [head, tail] = [groups(before), groups(after ?? '')]
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  const all = [...head, ...(after === undefined ? [] : zeros), ...tail]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
