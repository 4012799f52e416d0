/** A pod of two processes: pushed documents reach both, also one that starts later. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../../helpers/a-key.ts'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import {
  aConfiguration,
  allKeys,
  makeMounts,
  mountBundle,
  signed,
  someKeys,
  startPod,
} from '../pod.ts'
import { answersOfEach, untilAllServe, workersOf } from './rig.ts'

const upstream = await startUpstream()
const mounts = await makeMounts()
const [kept, revoked] = [aKey({ id: 'kept' }), aKey({ id: 'revoked' })]
const configured = (name: string) => ({
  gateway: { workers: 2 },
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name, strategy: 'single', primary: 'up' }],
})
await mountBundle(
  mounts,
  'config.json',
  signed(mounts, aConfiguration(configured('chat'), { sequence: 1 })),
)
const records = [kept.record, revoked.record]
await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys(records, { sequence: 1 })))
const pod = await startPod({ mounts, key: kept.key })
after(async () => {
  await pod.process.stop()
  await upstream.close()
})
const other = () => pod.ask({}, { authorization: `Bearer ${revoked.key}` }).over

/** Requests with the key, each on its own connection: the kernel gives both processes some. */
async function statusesOf(ask: typeof other): Promise<Set<number>> {
  const answers = await Promise.all(Array.from({ length: 32 }, ask))
  return new Set(answers.map(({ status }) => status))
}

test('a revoked key is refused by all processes once the push is answered, also by one that starts then', async () => {
  await untilAllServe(pod)
  assert.deepEqual(await statusesOf(other), new Set([200]))
  const changes = { base: 1, put: [], remove: [revoked.record.hash] }
  const pushed = await pod.push(someKeys(changes, { sequence: 2 }))
  assert.equal(pushed.status, 200, JSON.stringify(pushed.body))
  assert.deepEqual(await statusesOf(other), new Set([401]))
  const [worker] = await workersOf(pod)
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  await until('it starts again', async () => (await workersOf(pod))[0]?.starts === 2)
  await untilAllServe(pod)
  assert.deepEqual(await statusesOf(other), new Set([401]))
  await answersOfEach(pod, 2)
})

test('a pushed configuration is in force in all processes, and a refused one in none', async () => {
  const pushed = await pod.push(aConfiguration(configured('other'), { sequence: 2 }))
  assert.equal(pushed.status, 200, JSON.stringify(pushed.body))
  const routed = () => pod.ask({ model: 'other' }).over
  assert.deepEqual(await statusesOf(routed), new Set([200]))
  const hashes = (await workersOf(pod)).map(({ hash }) => hash)
  assert.deepEqual(hashes, [(await pod.admin('/status')).config.hash])
  assert.equal((await pod.status()).configuration.sequence, 2)
  const broken = {
    ...configured('other'),
    routes: [{ name: 'r', strategy: 'single', primary: 'no' }],
  }
  assert.equal((await pod.push(aConfiguration(broken, { sequence: 3 }))).status, 422)
  assert.deepEqual(await statusesOf(routed), new Set([200]))
  assert.equal((await pod.status()).configuration.lastError.sequence, 3)
})

test('a pushed configuration that a worker may not have is not confirmed until it is sent again', async () => {
  const [worker] = await workersOf(pod)
  await until('the status of both is read', async () => {
    const { configuration } = await pod.status()
    return configuration.sequence === 2
  })
  process.kill(worker?.pid ?? 0, 'SIGSTOP')
  const document = aConfiguration(configured('last'), { sequence: 4 })
  const first = await pod.push(document)
  assert.equal(first.status, 503, JSON.stringify(first.body))
  assert.equal((await pod.status()).configuration.sequence, 2)
  process.kill(worker?.pid ?? 0, 'SIGCONT')
  await until('both have it', async () => (await pod.push(document)).status === 200)
  assert.deepEqual(await statusesOf(() => pod.ask({ model: 'last' }).over), new Set([200]))
  assert.equal((await pod.status()).configuration.sequence, 4)
})
