/**
 * The start of a pod from mounted files: it uses the desired configuration, or the last good one,
 * or it waits; always with the newest keys.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, test } from 'node:test'
import { sign } from '../../dataplane/delivery/signed.ts'
import { aKey } from '../helpers/a-key.ts'
import { startUpstream, whole } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import {
  aConfiguration,
  allKeys,
  aSigner,
  type Mounts,
  makeMounts,
  mountBundle,
  mountSecret,
  type PodProcess,
  signed,
  startPod,
  statusOf,
} from './pod.ts'

const upstream = await startUpstream(whole())
after(() => upstream.close())
const { key, record } = aKey({ id: 'client' })

function aDocument(route: string, sequence: number, more = {}) {
  const gw = {
    upstreams: [{ name: 'fake', endpoint: upstream.url }],
    routes: [{ name: route, strategy: 'single', primary: 'fake' }],
    ...more,
  }
  return aConfiguration(gw, { sequence, generation: sequence })
}

const invalid = (sequence: number) => aDocument('broken', sequence, { aliases: { a: 'ghost' } })

async function mountsWithKeys(): Promise<Mounts> {
  const mounts = await makeMounts()
  await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([record], { sequence: 3 })))
  return mounts
}

async function withPod(
  options: Parameters<typeof startPod>[0],
  run: (pod: PodProcess) => Promise<void>,
): Promise<void> {
  const pod = await startPod({ key, ...options })
  try {
    await run(pod)
  } finally {
    await pod.process.stop()
  }
}

const serves = async (pod: PodProcess, model: string) => (await pod.chat({ model })).status === 200

test('it starts with the desired configuration, and follows the mounted file', async () => {
  const mounts = await mountsWithKeys()
  await mountBundle(mounts, 'config.json', signed(mounts, aDocument('desired', 7)))
  await mountBundle(mounts, 'lkg-config.json', signed(mounts, aDocument('good', 5)))
  await withPod({ mounts }, async (pod) => {
    assert.ok(await serves(pod, 'desired'))
    const { configuration, keys } = await pod.status()
    assert.deepEqual([configuration.sequence, configuration.origin], [7, 'desired'])
    assert.deepEqual([keys.sequence, keys.count], [3, 1])
    await mountBundle(mounts, 'config.json', signed(mounts, aDocument('next', 8)))
    await until('it is followed', () => serves(pod, 'next'))
    await pod.push(aDocument('pushed', 9))
    await mountBundle(mounts, 'config.json', signed(mounts, aDocument('late', 8)))
    await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([record], { sequence: 4 })))
    await until('the files are looked at', async () => (await pod.status()).keys.sequence === 4)
    assert.ok(await serves(pod, 'pushed'))
    await mountBundle(mounts, 'config.json', signed(mounts, invalid(10)))
    await until(
      'it is refused',
      async () => (await pod.status()).configuration.lastError?.sequence === 10,
    )
    assert.ok(await serves(pod, 'pushed'))
  })
})

const useless: Readonly<Record<string, (mounts: Mounts) => Promise<unknown>>> = {
  'is invalid': (mounts) => mountBundle(mounts, 'config.json', signed(mounts, invalid(7))),
  'is not signed by a trusted key': (mounts) =>
    mountBundle(mounts, 'config.json', sign(aDocument('broken', 7), aSigner().privateKey)),
  'is cut off': (mounts) => mountBundle(mounts, 'config.json', '{"document":"{'),
  'is not there': () => Promise.resolve(),
}

for (const [what, spoil] of Object.entries(useless)) {
  test(`if the desired configuration ${what}, it starts with the last good one and the newest keys`, async () => {
    const mounts = await mountsWithKeys()
    await mountBundle(mounts, 'lkg-config.json', signed(mounts, aDocument('good', 5)))
    await spoil(mounts)
    await withPod({ mounts }, async (pod) => {
      assert.ok(await serves(pod, 'good'))
      const { configuration, keys } = await pod.status()
      assert.deepEqual([configuration.sequence, configuration.origin], [5, 'last_known_good'])
      assert.equal(keys.sequence, 3)
      if (what === 'is invalid') {
        assert.equal(configuration.lastError.sequence, 7)
        assert.equal(configuration.lastError.problems[0].pointer, '/gw/aliases/a')
        // The desired sequence has been seen: no sequence between the two is accepted after that.
        assert.equal((await pod.push(aDocument('between', 6))).status, 409)
      }
      if (what === 'is cut off') assert.match(configuration.mountFault, /config\.json/)
      assert.equal((await pod.push(aDocument('pushed', 8))).status, 200)
      assert.ok(await serves(pod, 'pushed'))
      const now = (await pod.status()).configuration
      assert.deepEqual([now.lastError, now.mountFault], [undefined, undefined])
    })
  })
}

test('without a valid configuration it is alive and waits; a push of both documents makes it ready', async () => {
  const mounts = await makeMounts()
  await mountBundle(mounts, 'config.json', signed(mounts, invalid(7)))
  await withPod({ mounts, until: 'waiting' }, async (pod) => {
    assert.equal(await statusOf(`${pod.process.url}/healthz`), 200)
    assert.equal((await pod.chat()).status, 503)
    const before = await pod.status()
    assert.equal(before.ready, false)
    assert.equal(before.configuration.hash, null)
    assert.equal(before.configuration.lastError.sequence, 7)
    assert.equal(before.keys.sequence, 0)
    assert.equal((await pod.push(invalid(8))).status, 422)
    assert.equal((await pod.push(aDocument('chat', 9))).status, 200)
    assert.equal(await statusOf(`${pod.process.url}/healthz`), 200)
    assert.equal(await statusOf(`${pod.process.url}/readyz`), 503)
    assert.equal((await pod.status()).ready, false)
    assert.equal((await pod.push(allKeys([record], { sequence: 1 }))).status, 200)
    assert.equal(await statusOf(`${pod.process.url}/readyz`), 200)
    assert.equal((await pod.status()).ready, true)
    assert.ok(await serves(pod, 'chat'))
  })
})

test('a bundle mounted late is used, and creating a missing secret completes the start', async () => {
  const mounts = await makeMounts()
  const alerts = {
    webhook_url: 'http://127.0.0.1:1',
    headers: { authorization: '${secret:hook/key}' },
  }
  await withPod({ mounts, until: 'waiting' }, async (pod) => {
    await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([record], { sequence: 1 })))
    await mountBundle(mounts, 'config.json', signed(mounts, aDocument('chat', 1, { alerts })))
    await until(
      'the missing secret is reported',
      async () => (await pod.status()).configuration.lastError !== undefined,
    )
    assert.equal(await statusOf(`${pod.process.url}/readyz`), 503)
    await mountSecret(mounts, 'hook', { key: 'value' })
    await until('it is ready', async () => (await statusOf(`${pod.process.url}/readyz`)) === 200)
    assert.ok(await serves(pod, 'chat'))
  })
})

test('without a trusted key it reports that and refuses everything', async () => {
  const mounts = await mountsWithKeys()
  await rm(`${mounts.trust}/one.pem`)
  await mountBundle(mounts, 'config.json', signed(mounts, aDocument('chat', 1)))
  await withPod({ mounts, until: 'waiting' }, async (pod) => {
    assert.equal((await pod.push(aDocument('chat', 2))).status, 403)
    await until('it is logged', () => pod.logged('trust').length > 0)
    assert.match(String(pod.logged('trust')[0]?.message), /no public key/)
  })
})

test('a pod restarts with its last configuration, without an operator', async () => {
  const mounts = await mountsWithKeys()
  await mountBundle(mounts, 'config.json', signed(mounts, aDocument('chat', 7)))
  // The first pod must not remove the folders.
  for (const env of [{}, { GW_POD_NAME: 'again' }]) {
    const pod = await startPod({ mounts, key, env, keeps: true })
    assert.ok(await serves(pod, 'chat'))
    pod.process.signal('SIGKILL')
    await pod.process.exited
  }
  await rm(mounts.folder, { recursive: true })
})
