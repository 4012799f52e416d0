/** Client certificates instead of a key: they identify the tenant, with its routes and limits. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, test } from 'node:test'
import { aKey } from '../../helpers/a-key.ts'
import { Certificates } from '../../helpers/certificates.ts'
import { startFront, startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { PLENTY } from '../../helpers/gateway-process.ts'
import { makeMounts, mountSecret } from '../pod.ts'
import { ask, type SecureClient } from './secure-client.ts'

const certificates = new Certificates()
const [servers, clients] = [certificates.authority(), certificates.authority()]
const server = certificates.make({ by: servers })
const named = (names: string) => certificates.make({ by: clients, names })
const shown = {
  batch: named('URI:spiffe://cluster.test/ns/team-a/sa/batch'),
  chief: named('URI:spiffe://cluster.test/ns/team-a/sa/chief'),
  host: named('IP:10.0.0.1,DNS:Jobs.Small.Example'),
  stranger: named('URI:spiffe://cluster.test/ns/team-b/sa/batch'),
  nameless: named('IP:10.0.0.1'),
}

const mounts = await makeMounts()
await mountSecret(mounts, 'listener', {
  'tls.crt': server.cert,
  'tls.key': server.key,
  'ca.crt': clients.cert,
})
const upstream = await startUpstream(whole())
const { key, record } = aKey({ id: 'app', tenant: 'apps' })
const front = await startFront(
  {
    gateway: {
      tls: {
        cert: '${secret:listener/tls.crt}',
        key: '${secret:listener/tls.key}',
        client_ca: '${secret:listener/ca.crt}',
        client_auth: 'request',
      },
    },
    api_keys: [record],
    auth: {
      certificates: [
        {
          name: 'team-a',
          san: ['spiffe://cluster.test/ns/team-a/*'],
          tenant: 'research',
          routes: ['chat'],
        },
        { name: 'chief', san: ['spiffe://cluster.test/ns/team-a/sa/chief'], tenant: 'chiefs' },
        { name: 'small', san: ['*.small.example'], tenant: 'small' },
      ],
    },
    rate_limits: {
      default: PLENTY,
      tenants: [{ tenant: 'small', requests_per_minute: 1, burst: 1 }],
    },
    upstreams: [{ name: 'model', endpoint: upstream.url }],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'model' },
      { name: 'large', strategy: 'single', primary: 'model' },
    ],
  },
  { env: { GW_SECRETS_DIR: mounts.secrets } },
)
after(async () => {
  await Promise.all([front.process.stop(), upstream.close()])
  await rm(mounts.folder, { recursive: true })
  certificates.remove()
})

async function call(
  who: keyof typeof shown | undefined,
  { model = 'chat', ...more }: Partial<SecureClient> & { model?: string } = {},
) {
  const pair = who && { cert: shown[who].cert, certKey: shown[who].key }
  const client = { url: front.process.url, key: '', ca: servers.cert, ...pair, ...more }
  const { status, id, text } = await ask(client, { model })
  const { tenant, key } = await front.admin(`/traces/${id}`)
  return { status, tenant, key, text }
}

test('a certificate identifies its tenant, by URI or host; the closest name comes first', async () => {
  const { status, tenant, key } = await call('batch')
  assert.deepEqual(
    [status, tenant, key],
    [200, 'research', 'team-a:spiffe://cluster.test/ns/team-a/sa/batch'],
  )
  assert.equal((await call('chief', { model: 'large' })).tenant, 'chiefs')
})

test('the tenant has its limits, and the certificate entry sets its routes', async () => {
  assert.equal((await call('host')).status, 200)
  assert.equal((await call('host')).status, 429)
  assert.equal((await call('batch', { model: 'large' })).status, 403)
})

test('a request read by Node has the same caller', async () => {
  const { status, tenant } = await call('batch', { headers: { 'x-note': '\u00e9' } })
  assert.deepEqual([status, tenant], [200, 'research'])
})

test('a certificate with unlisted names is refused by name', async () => {
  const { status, text } = await call('stranger')
  assert.equal(status, 403)
  assert.match(text, /"code":"ERR_GW_AUTH_SCOPE_DENIED"/)
  assert.match(text, /spiffe:\/\/cluster\.test\/ns\/team-b\/sa\/batch/)
  assert.equal((await call('nameless')).status, 403)
})

test('if a key is sent, only the key counts, even the key "certificate"', async () => {
  assert.equal((await call('batch', { key })).tenant, 'apps')
  assert.equal((await call('stranger', { key })).tenant, 'apps')
  assert.equal((await call('batch', { key: 'gw_test_unknown' })).status, 401)
  assert.equal((await call('batch', { key: 'certificate' })).tenant, 'research')
})

test('without key and certificate the answer is 401', async () => {
  assert.equal((await call(undefined)).status, 401)
  assert.equal((await call(undefined, { key: 'certificate' })).status, 401)
})
