/**
 * A pod whose configuration enables TLS: probes before the first configuration, and the certificate
 * in its report.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:https'
import { after, test } from 'node:test'
import { aKey } from '../../helpers/a-key.ts'
import { Certificates } from '../../helpers/certificates.ts'
import { startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { aConfiguration, allKeys, makeMounts, mountSecret, startPod, statusOf } from '../pod.ts'
import { ask, failsToShake } from './secure-client.ts'

const certificates = new Certificates()
const authority = certificates.authority()
const pair = certificates.make({ by: authority })
const upstream = await startUpstream(whole())
const mounts = await makeMounts()
const { key, record } = aKey({ id: 'client' })
const pod = await startPod({ mounts, key, until: 'waiting' })
after(async () => {
  await Promise.all([pod.process.stop(), upstream.close()])
  certificates.remove()
})
const secureUrl = pod.process.url.replace('http:', 'https:')

const document = aConfiguration(
  {
    gateway: {
      tls: {
        cert: '${secret:listener/tls.crt}',
        key: '${secret:listener/tls.key}',
        client_ca: '${secret:listener/ca.crt}',
      },
    },
    upstreams: [{ name: 'model', endpoint: upstream.url }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'model' }],
  },
  { sequence: 1 },
)

/** Probes as the kubelet does: it accepts any certificate. */
async function probed(path: string): Promise<number> {
  const outgoing = request(`${secureUrl}${path}`, { rejectUnauthorized: false, agent: false }).end()
  const [incoming] = await once(outgoing, 'response')
  incoming.resume()
  return incoming.statusCode
}

test('a waiting pod answers probes with and without TLS', async () => {
  assert.deepEqual([await probed('/healthz'), await probed('/readyz')], [200, 503])
  const { url } = pod.process
  assert.deepEqual([await statusOf(`${url}/healthz`), await statusOf(`${url}/readyz`)], [200, 503])
  const { pushUrl } = pod
  assert.equal(await statusOf(`${pushUrl}/healthz`), 200)
  assert.equal(await statusOf(`${pushUrl}/readyz`), 503)
})

test('a missing Secret refuses the configuration, and creating it heals the pod', async () => {
  await pod.push(allKeys([record], { sequence: 1 }))
  const { status, body } = await pod.push(document)
  assert.equal(status, 422)
  assert.equal(body.problems[0].code, 'ERR_GW_SECRET_UNRESOLVED')
  await mountSecret(mounts, 'listener', {
    'tls.crt': pair.cert,
    'tls.key': pair.key,
    'ca.crt': authority.cert,
  })
  await until('it serves', async () => (await statusOf(`${pod.pushUrl}/readyz`)) === 200)
})

test('probes need no client certificate, and clients do', async () => {
  const client = { url: secureUrl, key, ca: authority.cert }
  assert.ok(await failsToShake(client))
  const shown = { ...client, cert: pair.cert, certKey: pair.key }
  assert.equal((await ask(shown, { model: 'chat' })).status, 200)
})

test('the pod reports when its certificate expires, and nothing else about it', async () => {
  const report = await pod.status()
  assert.deepEqual(report.certificate, {
    name: 'localhost',
    notBefore: '2020-01-01T00:00:00.000Z',
    notAfter: '2040-01-01T00:00:00.000Z',
  })
  assert.doesNotMatch(JSON.stringify(report) + pod.process.output(), /BEGIN|PRIVATE/)
})
