/**
 * Client certificates: which are refused before a request is read, and the exchange of an authority
 * while running.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, test } from 'node:test'
import { Certificates } from '../../helpers/certificates.ts'
import { startFront, startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { makeMounts, mountSecret } from '../pod.ts'
import { ask, failsToShake, type SecureClient } from './secure-client.ts'

const certificates = new Certificates()
const [servers, clients, next] = [0, 1, 2].map(() => certificates.authority())
assert.ok(servers && clients && next)
const server = certificates.make({ by: servers })
const good = certificates.make({ by: clients })
const nextGood = certificates.make({ by: next })
const expired = certificates.make({ by: clients, until: '210101000000Z' })
const stranger = certificates.make({ by: certificates.authority() })

const mounts = await makeMounts()
const trust = (...authorities: { cert: string }[]) =>
  mountSecret(mounts, 'listener', {
    'tls.crt': server.cert,
    'tls.key': server.key,
    'ca.crt': authorities.map(({ cert }) => cert).join(''),
  })
await trust(clients)
const upstream = await startUpstream(whole())
const tls = {
  cert: '${secret:listener/tls.crt}',
  key: '${secret:listener/tls.key}',
  client_ca: '${secret:listener/ca.crt}',
}

async function startWith(more: object) {
  return await startFront(
    {
      gateway: { tls: { ...tls, ...more } },
      upstreams: [{ name: 'model', endpoint: upstream.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'model' }],
    },
    { env: { GW_SECRETS_DIR: mounts.secrets } },
  )
}

const [requiring, requesting] = await Promise.all([
  startWith({}),
  startWith({ client_auth: 'request' }),
])
after(async () => {
  await Promise.all([requiring.process.stop(), requesting.process.stop(), upstream.close()])
  await rm(mounts.folder, { recursive: true })
  certificates.remove()
})

type Shown = { readonly cert: string; readonly key: string } | undefined

function clientOf({ process: { url }, key }: typeof requiring, shown: Shown): SecureClient {
  const own = shown && { cert: shown.cert, certKey: shown.key }
  return { url, key, ca: servers?.cert ?? '', ...own }
}

const ROWS = [
  ['no certificate', undefined, false, true],
  ['a good certificate', good, true, true],
  ['an expired certificate', expired, false, false],
  ["another authority's certificate", stranger, false, false],
] as const

for (const [what, shown, required, requested] of ROWS) {
  test(`${what} is ${required ? 'accepted' : 'refused'} if a certificate is required, and ${requested ? 'accepted' : 'refused'} if it is optional`, async () => {
    assert.equal(await failsToShake(clientOf(requiring, shown)), !required)
    assert.equal(await failsToShake(clientOf(requesting, shown)), !requested)
  })
}

test('a certificate without a tenant does not replace a key', async () => {
  const { status } = await ask({ ...clientOf(requiring, good), key: 'none' }, { model: 'chat' })
  assert.equal(status, 401)
})

test('refused certificates are counted', async () => {
  const counted = 'gw_listener_handshake_failures_total{reason="client_certificate"}'
  assert.equal(await requiring.value(counted), 3)
  assert.equal(await requesting.value(counted), 2)
})

test('an authority is exchanged with an overlap, and no client fails', async () => {
  assert.ok(await failsToShake(clientOf(requiring, nextGood)))
  await trust(clients, next)
  await until('both are taken', async () => !(await failsToShake(clientOf(requiring, nextGood))))
  assert.equal((await ask(clientOf(requiring, good), { model: 'chat' })).status, 200)
  await trust(next)
  await until('the old certificate is refused', () => failsToShake(clientOf(requiring, good)))
  assert.equal((await ask(clientOf(requiring, nextGood), { model: 'chat' })).status, 200)
})
