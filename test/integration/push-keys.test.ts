/**
 * Keys pushed to a real pod: they apply from the next request, in every state of the configuration.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type KeyRecord,
  keysHashOf,
  legacyHashOf,
  recordDigest,
} from '../../dataplane/delivery/signed.ts'
import { aKey } from '../helpers/a-key.ts'
import {
  after as afterwards,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import {
  aConfiguration,
  allKeys,
  makeMounts,
  mountBundle,
  signed,
  someKeys,
  startPod,
} from './pod.ts'

const upstream = await startUpstream(whole())
const mounts = await makeMounts()
const [one, two] = [aKey({ id: 'one' }), aKey({ id: 'two' })]
const gw = {
  upstreams: [{ name: 'fake', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'fake' }],
}
const broken = { ...gw, routes: [{ name: 'chat', strategy: 'single', primary: 'ghost' }] }
await mountBundle(
  mounts,
  'config.json',
  signed(mounts, aConfiguration({ ...gw, api_keys: [aKey().record] }, { sequence: 1 })),
)
await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([one.record], { sequence: 1 })))
const pod = await startPod({ mounts, key: one.key })
after(() => Promise.all([pod.process.stop(), upstream.close()]))

let sequence = 1

async function statusWith({ key }: { readonly key: string }): Promise<number> {
  return (await pod.ask({}, { authorization: `Bearer ${key}` }).over).status
}

async function put(...records: readonly KeyRecord[]): Promise<void> {
  sequence += 1
  const { status, body } = await pod.push(allKeys(records, { sequence }))
  assert.equal(status, 200)
  const setHash = keysHashOf(records)
  const hash = legacyHashOf(records.map(recordDigest))
  assert.deepEqual(body, { sequence, hash, setHash, count: records.length, problems: [] })
  assert.deepEqual((await pod.status()).keys, { sequence, hash, setHash, count: records.length })
}

test('keys that the pod already has are accepted silently: pushed and mounted, they are logged once', async () => {
  await put(one.record)
  const again = sequence
  for (let times = 0; times < 2; times += 1) await pod.push(allKeys([one.record], { sequence }))
  await put(one.record, two.record)
  const takenAs = (number: number) =>
    pod.process
      .output()
      .split('\n')
      .filter(
        (line) => line.includes('The keys were taken.') && line.includes(`"sequence":${number},`),
      )
  await until('the next keys are logged', () => takenAs(sequence).length > 0)
  assert.equal(takenAs(again).length, 1)
})

test('a pod uses the keys of the signed document, and none of the configuration', async () => {
  const own = aKey({ id: 'own' })
  const document = aConfiguration({ ...gw, api_keys: [own.record] }, { sequence: 2 })
  const { status, body } = await pod.push(document)
  assert.equal(status, 200)
  assert.deepEqual(body.ignored, [])
  assert.deepEqual([await statusWith(one), await statusWith(own)], [200, 401])
})

test('a full copy replaces all keys at once', async () => {
  await put(two.record)
  assert.deepEqual([await statusWith(one), await statusWith(two)], [401, 200])
  await put(one.record, two.record)
  assert.deepEqual([await statusWith(one), await statusWith(two)], [200, 200])
})

test('changes add, replace and remove keys, and result in the same hash as the full copy', async () => {
  await put(one.record)
  const revoked = { ...one.record, revoked_at: '2026-01-01T00:00:00Z' }
  const base = sequence
  sequence += 1
  const added = await pod.push(
    someKeys({ base, put: [two.record, revoked], remove: [] }, { sequence }),
  )
  assert.equal(added.status, 200)
  assert.equal(added.body.setHash, keysHashOf([revoked, two.record]))
  assert.deepEqual([await statusWith(one), await statusWith(two)], [401, 200])
  const next = someKeys(
    { base: sequence, put: [], remove: [two.record.hash] },
    { sequence: sequence + 1 },
  )
  sequence += 1
  assert.equal((await pod.push(next)).status, 200)
  assert.equal((await pod.push(next)).status, 200)
  assert.deepEqual([await statusWith(one), await statusWith(two)], [401, 401])
  assert.equal((await pod.status()).keys.setHash, keysHashOf([revoked]))
})

test('changes to keys that the pod lacks are answered with its current keys', async () => {
  await put(one.record)
  const changes = { base: sequence + 5, put: [two.record], remove: [] }
  const { status, body } = await pod.push(someKeys(changes, { sequence: sequence + 6 }))
  assert.equal(status, 409)
  assert.equal(body.have, sequence)
  assert.match(body.message, /full copy/)
  assert.deepEqual([await statusWith(one), await statusWith(two)], [200, 401])
})

test('older keys are refused: a revocation is not undone', async () => {
  const before = allKeys([one.record], { sequence })
  await put(two.record)
  // Even a copy equal to the newer keys is refused: the sequence never goes back.
  for (const older of [before, allKeys([two.record], { sequence: sequence - 1 })]) {
    const { status, body } = await pod.push(older)
    assert.deepEqual([status, body.reason, body.have], [409, 'older_sequence', sequence])
  }
  const other = await pod.push(allKeys([one.record], { sequence }))
  assert.deepEqual([other.status, other.body.reason], [409, 'sequence_conflict'])
  assert.equal(await statusWith(one), 401)
  const stranger = await pod.push(allKeys([one.record], { sequence: sequence + 1, uid: 'other' }))
  assert.equal(stranger.status, 403)
  assert.equal((await pod.push(allKeys([two.record], { sequence }))).status, 200)
})

test('a key is revoked while the configuration is refused', async () => {
  await put(one.record, two.record)
  assert.equal((await pod.push(aConfiguration(broken, { sequence: 50 }))).status, 422)
  await put(two.record)
  assert.deepEqual([await statusWith(one), await statusWith(two)], [401, 200])
  assert.ok((await pod.status()).configuration.lastError)
  assert.equal((await pod.push(aConfiguration(gw, { sequence: 51 }))).status, 200)
  assert.deepEqual([await statusWith(one), await statusWith(two)], [401, 200])
})

test('tags of a key count only if the configuration declares them, even after it changes', async () => {
  const tagged = { ...one.record, tags: { team: 'blue', hidden: 'x' } }
  await put(tagged)
  const tagsWith = async (tags: readonly string[], next: number) => {
    const document = aConfiguration({ ...gw, usage: { tags } }, { sequence: next })
    assert.equal((await pod.push(document)).status, 200)
    const { headers } = await pod.ask({}, { 'x-gw-tags': 'team=red,feature=a' }).over
    return (await pod.admin(`/traces/${headers['x-request-id']}`)).tags
  }
  assert.equal(await tagsWith([], 60), undefined)
  assert.equal(await tagsWith(['feature', 'team'], 61), 'feature=a,team=blue')
  await put({ ...tagged, tags: { team: 'green' } })
  assert.equal(await tagsWith(['team'], 62), 'team=green')
})

test('a request of a revoked key finishes if it is in flight', async () => {
  await put(one.record)
  const hold = Promise.withResolvers<void>()
  upstream.script.push(streaming({ hold: hold.promise }), afterwards(hold.promise, whole()))
  const stream = pod.ask({ stream: true })
  await until('the first word arrives', () => stream.text().includes('hel'))
  const waiting = pod.ask()
  await until('the upstream has the request', () => upstream.script.length === 0)
  await put()
  assert.equal(await statusWith(one), 401)
  hold.resolve()
  assert.equal(wordsOf(await stream.over), 'hello')
  assert.equal((await waiting.over).status, 200)
})

test('an unreadable record affects only its own key', async () => {
  sequence += 1
  const records = [
    { ...one.record, routes: [] },
    { ...two.record, scopes: ['models:invoke', 'models:dream'], colour: 'blue' },
    { id: 'nothing' } as never,
  ]
  const { status, body } = await pod.push(allKeys(records, { sequence }))
  assert.equal(status, 200)
  const pointers = body.problems.map(({ pointer }: { pointer: string }) => pointer)
  assert.deepEqual(pointers, ['/keys/0', '/keys/2'])
  assert.deepEqual([await statusWith(one), await statusWith(two)], [401, 200])
})

test('newer mounted keys are used, and older ones are skipped', async () => {
  await put(one.record)
  sequence += 1
  await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([two.record], { sequence })))
  await until('they are taken', async () => (await pod.status()).keys.sequence === sequence)
  assert.deepEqual([await statusWith(one), await statusWith(two)], [401, 200])
  await put(one.record)
  const seen = sequence
  await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([], { sequence: 1 })))
  // The pod checks keys before configurations: a new configuration means that it has checked the
  // keys.
  await mountBundle(mounts, 'config.json', signed(mounts, aConfiguration(gw, { sequence: 90 })))
  await until('it is taken', async () => (await pod.status()).configuration.sequence === 90)
  assert.equal((await pod.status()).keys.sequence, seen)
  assert.equal(await statusWith(one), 200)
})

test('10,000 keys are applied completely, and requests run in between', {
  timeout: 600_000,
}, async () => {
  const many = Array.from({ length: 9_999 }, (_, index) => aKey({ id: `many-${index}` }).record)
  let answered = 0
  let over = false
  const asking = (async () => {
    while (!over) {
      assert.equal(await statusWith(one), 200)
      answered += 1
    }
  })()
  await put(...many, one.record)
  over = true
  await asking
  assert.ok(answered > 0)
  const base = sequence
  sequence += 1
  const changes = { base, put: [], remove: [one.record.hash] }
  assert.equal((await pod.push(someKeys(changes, { sequence }))).status, 200)
  assert.equal(await statusWith(one), 401)
})
