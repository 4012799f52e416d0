/**
 * Postgres over TLS: the certificate is verified before any query, and a server without TLS gets
 * none.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { TLSSocket } from 'node:tls'
import { GatewaySection } from '../../../dataplane/schema/index.ts'
import { openPgvector } from '../../../dataplane/vector-stores/pgvector.ts'
import { type Certificate, Certificates } from '../../helpers/certificates.ts'

const certificates = new Certificates()
after(() => certificates.remove())
const authority = certificates.make({ authority: true })
const good = certificates.make({ by: authority })
const misnamed = certificates.make({ by: authority, names: 'DNS:localhost' })

/**
 * Searches once at a server that accepts TLS and then ends; returns all bytes it received after
 * that.
 */
async function searchAt(identity: Certificate | undefined, isTrusted: boolean) {
  let heard = ''
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.once('data', () => {
      socket.write(identity === undefined ? 'N' : 'S')
      const { cert = '', key = '' } = identity ?? {}
      const stream = identity ? new TLSSocket(socket, { isServer: true, cert, key }) : socket
      stream.on('error', () => {})
      stream.on('data', (chunk: Buffer) => {
        heard += chunk.toString('latin1')
        stream.destroy()
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const whole = GatewaySection.parse({
    upstreams: [{ name: 'up', provider: 'openai', model: 'm' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    ...(isTrusted && { tls: { ca_bundle_path: authority.certFile } }),
    vector_stores: [
      {
        name: 'docs',
        provider: 'pgvector',
        endpoint: `postgres://reader@127.0.0.1:${port}/docs?sslmode=require`,
        collection: 'docs',
        shared: true,
        timeout_ms: 10_000,
      },
    ],
  })
  const store = openPgvector(whole.vector_stores[0] ?? assert.fail(), whole)
  const search = { vector: Float32Array.of(1), limit: 1, tenant: 'acme' }
  const fault = await store.search(search, new AbortController().signal).then(
    () => 'no fault',
    (error: Error) => error.message,
  )
  store.close()
  server.close()
  for (const socket of sockets) socket.destroy()
  return { heard, fault }
}

test('a certificate of a trusted authority, for this address, is accepted', async () => {
  assert.match((await searchAt(good, true)).heard, /user\0reader/)
})

for (const [what, identity, isTrusted, says] of [
  ['of an authority that is not trusted', good, false, /certificate/],
  ['for another name', misnamed, true, /does not match|altnames/],
] as const) {
  test(`a certificate ${what} hears nothing`, async () => {
    const { heard, fault } = await searchAt(identity, isTrusted)
    assert.equal(heard, '')
    assert.match(fault, says)
  })
}

test('a server without TLS receives nothing', async () => {
  const { heard, fault } = await searchAt(undefined, true)
  assert.equal(heard, '')
  assert.match(fault, /does not support SSL/)
})
