/** Keys as resources: who may bring them, how fast they count, and that nothing holds up a revocation. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aKey, until } from '../integration/gateway-process.ts'
import { untilCondition } from './operator-process.ts'
import { aGateway, aGatewayKey, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig

const grants = { keys: { from: [{ namespaces: ['team-a'], tenants: ['acme'] }] } }

before(async () => {
  rig = await startOperatorRig()
  await rig.apply(aGateway({ spec: grants }))
  await untilCondition(rig.cluster.kubectl, 'production', ['Ready', 'True'], 90)
})

after(() => rig?.stop())

function newKey(id: string) {
  const { key, record } = aKey({ id })
  return { key, hash: record.hash }
}

/** Milliseconds until every pod answers so. */
async function untilAnswers(key: string, status: number): Promise<number> {
  const started = performance.now()
  await until(
    `every pod answers ${status}`,
    async () => (await rig.answersTo(key)).every((one) => one === status),
    30,
  )
  return performance.now() - started
}

async function keyStatus(name: string, namespace = 'ai') {
  const text = await rig.cluster.kubectl(['get', 'gwk', name, '-n', namespace, '-o', 'json'])
  const { state, conditions = [] } = JSON.parse(text).status ?? {}
  return { state, ...conditions[0] }
}

async function untilReason(name: string, reason: string, namespace = 'ai') {
  await until(
    `${name} is ${reason}`,
    async () => (await keyStatus(name, namespace)).reason === reason,
    30,
  )
  return await keyStatus(name, namespace)
}

test('a key counts on every pod, and no more when it is revoked', async (t) => {
  const { key, hash } = newKey('one')
  await rig.apply(aGatewayKey('one', { hash }))
  await untilAnswers(key, 200)
  assert.equal((await untilReason('one', 'Accepted')).state, 'ACTIVE')
  await rig.apply(aGatewayKey('one', { hash, revoked: { at: '2026-01-01T00:00:00Z' } }))
  const revokedMs = await untilAnswers(key, 401)
  t.diagnostic(`revoked after ${Math.round(revokedMs)} ms`)
  assert.ok(revokedMs < 5000)
  await until('its status says so', async () => (await keyStatus('one')).state === 'REVOKED')
})

test('a key is revoked while the configuration is invalid, and by its deletion', async () => {
  const revoked = newKey('two')
  const deleted = newKey('three')
  await rig.apply(
    aGatewayKey('two', { hash: revoked.hash }),
    aGatewayKey('three', { hash: deleted.hash }),
  )
  await untilAnswers(revoked.key, 200)
  await untilAnswers(deleted.key, 200)
  const routes = [{ name: 'chat', strategy: 'single', upstreams: ['nowhere'] }]
  await rig.apply(aGateway({ gw: { routes }, spec: grants }))
  await untilCondition(rig.cluster.kubectl, 'production', ['Accepted', 'False'])
  await rig.apply(
    aGatewayKey('two', { hash: revoked.hash, revoked: { at: '2026-01-01T00:00:00Z' } }),
  )
  assert.ok((await untilAnswers(revoked.key, 401)) < 5000)
  await rig.cluster.kubectl(['delete', 'gwk', 'three', '-n', 'ai'])
  assert.ok((await untilAnswers(deleted.key, 401)) < 5000)
  await rig.apply(aGateway({ spec: grants }))
  await untilCondition(rig.cluster.kubectl, 'production', ['Ready', 'True'])
})

test('a foreign namespace counts where the gateway says so, and learns nothing where it does not', async () => {
  const allowed = newKey('allowed')
  const stranger = newKey('stranger')
  const impostor = newKey('impostor')
  const gateway = 'ai/production'
  await rig.apply(
    aGatewayKey('allowed', { hash: allowed.hash, gateway }, 'team-a'),
    aGatewayKey('impostor', { hash: impostor.hash, gateway, tenant: 'rival' }, 'team-a'),
    aGatewayKey('stranger', { hash: stranger.hash, gateway }, 'team-b'),
    aGatewayKey('dreamer', { hash: newKey('d').hash, gateway: 'ai/nothing' }, 'team-b'),
  )
  await untilAnswers(allowed.key, 200)
  await untilReason('allowed', 'Accepted', 'team-a')
  await untilReason('impostor', 'NotPermitted', 'team-a')
  const { message } = await untilReason('stranger', 'NotPermitted', 'team-b')
  assert.equal((await untilReason('dreamer', 'NotPermitted', 'team-b')).message, message)
  assert.deepEqual(await rig.answersTo(stranger.key), [401, 401])
  assert.deepEqual(await rig.answersTo(impostor.key), [401, 401])
})

test('of two records with one hash the older counts', async () => {
  const { key, hash } = newKey('twin')
  await rig.apply(aGatewayKey('older', { hash, tenant: 'acme' }))
  await untilAnswers(key, 200)
  // Times of objects have whole seconds; the name decides within one.
  await rig.apply(aGatewayKey('younger', { hash, tenant: 'rival' }))
  await untilReason('younger', 'DuplicateHash')
  await untilReason('older', 'Accepted')
  assert.deepEqual(await rig.answersTo(key), [200, 200])
})

test('an expired key says so by itself', async () => {
  const { key, hash } = newKey('brief')
  const expiresAt = new Date(Date.now() + 4000).toISOString()
  await rig.apply(aGatewayKey('brief', { hash, expiresAt }))
  await until('it is expired', async () => (await keyStatus('brief')).state === 'EXPIRED', 30)
  assert.deepEqual(await rig.answersTo(key), [401, 401])
})

test('a key without its gateway waits for it', async () => {
  await rig.apply(aGatewayKey('early', { hash: newKey('early').hash, gateway: 'later' }))
  const { message } = await untilReason('early', 'GatewayNotFound')
  assert.match(message, /GatewayConfig later/)
})
