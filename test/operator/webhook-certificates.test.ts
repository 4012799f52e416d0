/**
 * The webhook's certificates: their content, the clients that trust them, and their replacement.
 */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { makeAuthority, makeLeaf } from '../../dataplane/base/certificates/certificate.ts'
import {
  bundleOf,
  type Certificates,
  readCertificates,
  renewed,
  secretDataOf,
} from '../../operator/admission/certificates.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2026, 0, 1)
/** Two consecutive authorities, and their certificates. */
const DAYS = 730
const HOSTS = ['gw-webhook.gw-system.svc', '127.0.0.1', '::1', 'fd00:1::2:3']

const trusted = { hosts: HOSTS, now: START, isTrusted: () => true }

function aSecret(data: unknown) {
  return { metadata: { namespace: 'gw-system', name: 's' }, data }
}

function parsed(pem = ''): X509Certificate {
  return new X509Certificate(pem)
}

test('a client that trusts the authority trusts the server under each of its names, and under no other', async () => {
  const now = Date.now()
  const { authorities, leaf } = renewed(undefined, { ...trusted, now })
  const server = createServer({ cert: leaf.certificate, key: leaf.key }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  // A server that listens on an address and port has both.
  const { port } = server.address() as AddressInfo
  const talk = async (options: object) => {
    const socket = connect({ port, host: '127.0.0.1', ca: [...authorities], ...options })
    await once(socket, 'secureConnect').finally(() => socket.destroy())
  }
  try {
    await talk({})
    await talk({ servername: 'gw-webhook.gw-system.svc' })
    await assert.rejects(talk({ servername: 'other.gw-system.svc' }), /ERR_TLS_CERT_ALTNAME/)
    const [stranger] = renewed(undefined, { ...trusted, now }).authorities
    await assert.rejects(talk({ ca: stranger }), /unable to verify|self-signed/)
  } finally {
    server.close()
  }
  for (const address of HOSTS.slice(1))
    assert.ok(parsed(leaf.certificate).checkIP(address), address)
})

test('a certificate contains its purpose, its beginning and its end, in this century and the next', () => {
  const validity = { from: START, until: Date.UTC(2126, 5, 7, 8, 9, 10) }
  const authority = makeAuthority(validity)
  const leaf = makeLeaf(HOSTS, validity, authority)
  const [ca, server] = [parsed(authority.certificate), parsed(leaf.certificate)]
  assert.deepEqual([ca.ca, server.ca], [true, false])
  assert.deepEqual(server.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  for (const { validFromDate, validToDate } of [ca, server]) {
    assert.equal(validFromDate.getTime(), validity.from)
    assert.equal(validToDate.getTime(), validity.until)
  }
  assert.notEqual(ca.serialNumber, server.serialNumber)
  assert.ok(ca.verify(ca.publicKey) && server.verify(ca.publicKey))
})

test('a certificate with many names is read back completely', () => {
  const names = Array.from({ length: 300 }, (_, index) => `name-${index}.example`)
  const validity = { from: START, until: START + DAY_MS }
  const leaf = parsed(makeLeaf(names, validity, makeAuthority(validity)).certificate)
  assert.equal(leaf.subjectAltName?.split(', ').length, 300)
})

test("for two years a client with yesterday's bundle trusts the current certificate", () => {
  let current: Certificates | undefined
  let known: readonly string[] = []
  let changes = 0
  for (let now = START; now < START + DAYS * DAY_MS; now += DAY_MS) {
    // The published bundle is that of the round before.
    const published = known
    const next = renewed(current, {
      hosts: HOSTS,
      now,
      isTrusted: (pem) => published.includes(pem),
    })
    const leaf = parsed(next.leaf.certificate)
    const isTrusted = published.some((pem) => {
      const authority = parsed(pem)
      const isValid =
        authority.validFromDate.getTime() <= now && authority.validToDate.getTime() > now
      return isValid && leaf.verify(authority.publicKey)
    })
    const day = Math.round((now - START) / DAY_MS)
    assert.ok(isTrusted || current === undefined, `day ${day}`)
    assert.ok(leaf.validToDate.getTime() - now > 9 * DAY_MS, `day ${day}`)
    assert.ok(next.authorities.length <= 2, `day ${day}`)
    if (next !== current) changes++
    current = next
    known = next.authorities
  }
  assert.ok(changes > DAYS / 30 && changes < DAYS / 10, `${changes} changes`)
})

test('no certificate is created before it is needed', () => {
  const made = renewed(undefined, trusted)
  assert.equal(renewed(made, { ...trusted, now: START + 19 * DAY_MS }), made)
  const next = renewed(made, { ...trusted, now: START + 21 * DAY_MS })
  assert.deepEqual(next.authorities, made.authorities)
  assert.notEqual(next.leaf.certificate, made.leaf.certificate)
})

test('the server uses no certificate of an unpublished authority if it has another', () => {
  const made = renewed(undefined, trusted)
  const late = START + 276 * DAY_MS
  const old = { ...made, leaf: renewed(made, { ...trusted, now: START + 274 * DAY_MS }).leaf }
  const two = renewed(old, { ...trusted, now: late })
  assert.equal(two.authorities.length, 2)
  assert.equal(two.leaf, old.leaf)
  const untold = { ...trusted, isTrusted: () => false }
  assert.equal(renewed(two, { ...untold, now: late + 20 * DAY_MS }), two)
  // Published only a moment ago.
  assert.equal(renewed(two, { ...trusted, now: late + 60_000 }), two)
  // An expired certificate helps no client.
  const over = renewed(two, { ...untold, now: late + 40 * DAY_MS })
  assert.ok(parsed(over.leaf.certificate).verify(parsed(over.authorities[0]).publicKey))
})

test('another name causes another certificate at once', () => {
  const made = renewed(undefined, trusted)
  const hosts = ['other.gw-system.svc']
  const next = renewed(made, { ...trusted, hosts, isTrusted: () => false })
  assert.deepEqual(next.authorities, made.authorities)
  assert.equal(parsed(next.leaf.certificate).checkHost('other.gw-system.svc'), hosts[0])
})

test('stored certificates are read back; empty, broken or mismatched ones are ignored', () => {
  const made = renewed(undefined, trusted)
  const other = renewed(undefined, trusted)
  const data = secretDataOf({ ...made, authorities: [...made.authorities, ...other.authorities] })
  const read = readCertificates(aSecret(data))
  assert.deepEqual(read && bundleOf(read), bundleOf(made) + bundleOf(other))
  assert.deepEqual(read?.leaf, made.leaf)
  const strange = secretDataOf(other)
  const bad = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  for (const wrong of [
    undefined,
    {},
    { ...data, 'ca.key': strange['ca.key'] },
    { ...data, 'tls.key': strange['tls.key'] },
    { ...data, 'tls.crt': '' },
    { ...data, 'ca.crt': bad.toString('base64') },
    { ...data, 'tls.key': 7 },
  ]) {
    assert.equal(readCertificates(aSecret(wrong)), undefined)
  }
})
