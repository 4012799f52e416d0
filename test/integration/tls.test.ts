/** Upstreams over TLS: the gateway sends nothing to those that it does not trust. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createSecureContext, type TlsOptions } from 'node:tls'
import { Certificates } from '../helpers/certificates.ts'
import { CREDENTIAL, startEgressGateway } from './egress-gateway.ts'
import { startTcpServer, startTlsServer } from './raw-server.ts'

const certificates = new Certificates()
const authority = certificates.authority()
const stranger = certificates.authority()
const good = certificates.make({ by: authority })
const wrongName = certificates.make({ by: authority, names: 'DNS:other.example' })
const client = certificates.make({ by: authority })
const strangersClient = certificates.make({ by: stranger })
const OLD: TlsOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' }
const demanding = { ...good, ca: authority.cert, requestCert: true, rejectUnauthorized: true }

const servers = {
  good: await startTlsServer(good),
  expired: await startTlsServer(certificates.make({ by: authority, until: '210101000000Z' })),
  early: await startTlsServer(certificates.make({ by: authority, from: '390101000000Z' })),
  wrong_name: await startTlsServer(wrongName),
  self_signed: await startTlsServer(certificates.make()),
  unknown_ca: await startTlsServer(certificates.make({ by: stranger })),
  old: await startTlsServer({ ...good, ...OLD }),
  version_2: await startTlsServer({ ...good, maxVersion: 'TLSv1.2' }),
  named: await startTlsServer({
    ...wrongName,
    SNICallback: (name, found) =>
      found(null, name === 'localhost' ? createSecureContext(good) : undefined),
  }),
  demanding: await startTlsServer(demanding),
  demanding_2: await startTlsServer({ ...demanding, maxVersion: 'TLSv1.2' }),
  plain: await startTcpServer(),
}

const mutual = {
  ca_bundle_path: authority.certFile,
  client_cert_path: client.certFile,
  client_key_path: client.keyFile,
}
const strangers = {
  ca_bundle_path: authority.certFile,
  client_cert_path: strangersClient.certFile,
  client_key_path: strangersClient.keyFile,
}

const gateway = await startEgressGateway({
  upstreams: {
    ...Object.fromEntries(Object.entries(servers).map(([name, { port }]) => [name, at(port)])),
    by_address: { endpoint: `https://127.0.0.1:${servers.good.port}` },
    own_tls: { ...at(servers.good.port), tls: { min_version: 'TLSv1.3' } },
    version_3_only: {
      ...at(servers.version_2.port),
      tls: { ca_bundle_path: authority.certFile, min_version: 'TLSv1.3' },
    },
    mutual: { ...at(servers.demanding.port), tls: mutual },
    mutual_2: { ...at(servers.demanding_2.port), tls: mutual },
    strangers: { ...at(servers.demanding.port), tls: strangers },
  },
  section: { tls: { ca_bundle_path: authority.certFile } },
  // The switch that turns verification off for a whole process has no effect.
  env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
})
after(async () => {
  await gateway.stop()
  await Promise.all(Object.values(servers).map((server) => server.close()))
  certificates.remove()
})

/** Names of addresses and errors, which are for operators. */
const RUNTIME = /[A-Z]{3,}_[A-Z]|127\.0\.0\.1|altnames/

const REFUSED: readonly (readonly [upstream: string, reason: RegExp])[] = [
  ['expired', /CERT_HAS_EXPIRED: its certificate has expired/],
  ['early', /CERT_NOT_YET_VALID: its certificate is not valid yet/],
  ['wrong_name', /ERR_TLS_CERT_ALTNAME_INVALID: .*other\.example/],
  ['self_signed', /DEPTH_ZERO_SELF_SIGNED_CERT: its certificate is signed by itself/],
  ['unknown_ca', /UNABLE_TO_VERIFY_LEAF_SIGNATURE: its certificate comes from an authority/],
  ['old', /: it supports no allowed TLS version/],
  ['version_3_only', /: it supports no allowed TLS version/],
  ['plain', /: it does not speak TLS on this port/],
]

for (const [upstream, reason] of REFUSED) {
  test(`${upstream}: refused before a byte of the request is sent`, async () => {
    const server = servers[upstream as keyof typeof servers]
    const before = servers.good.received() + servers.version_2.received()
    const answer = await gateway.ask(upstream)
    assert.equal(answer.code, 'ERR_GW_UPSTREAM_TLS_VERIFY')
    assert.equal(answer.status, 502)
    assert.match(await gateway.lastReason(), reason)
    assert.doesNotMatch(answer.message, RUNTIME)
    assert.equal(servers.good.received() + servers.version_2.received(), before)
    // A server that speaks no TLS receives a ClientHello.
    assert.ok(!server?.received().includes('HTTP'))
    if (upstream !== 'plain') assert.equal(server?.received() ?? '', '')
  })
}

const CERTIFICATE_WANTED: readonly (readonly [upstream: string, reason: RegExp])[] = [
  ['demanding', /CERTIFICATE_REQUIRED: it demands a client certificate/],
  ['demanding_2', /HANDSHAKE_FAILURE: it ended the handshake/],
  // Node's server ends the connection without an alert.
  ['strangers', /ERR_TLS_CLIENT_CERTIFICATE: it asked for a client certificate and hung up/],
]

for (const [upstream, reason] of CERTIFICATE_WANTED) {
  test(`${upstream}: a server that requires another client certificate is a TLS failure`, async () => {
    // In TLS 1.3 the refusal races with the request, so one request is not enough.
    for (let round = 0; round < 10; round++) {
      const answer = await gateway.ask(upstream)
      assert.equal(answer.code, 'ERR_GW_UPSTREAM_TLS_VERIFY')
      assert.match(await gateway.lastReason(), reason)
      assert.doesNotMatch(answer.message, RUNTIME)
    }
  })
}

for (const upstream of [
  'good',
  'by_address',
  'version_2',
  'named',
  'mutual',
  'mutual_2',
  // Its own section sets only a version; the CA is the gateway's.
  'own_tls',
]) {
  test(`${upstream}: trusted, and gets the request`, async () => {
    const answer = await gateway.ask(upstream)
    assert.equal(answer.status, 200, answer.message)
  })
}

test('the requested server name is that of the endpoint', () => {
  assert.deepEqual(new Set(servers.named.names), new Set(['localhost']))
  assert.match(servers.named.received(), new RegExp(`Bearer ${CREDENTIAL}`))
})

function at(port: number) {
  return { endpoint: `https://localhost:${port}` }
}
