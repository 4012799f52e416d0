/**
 * Keys that the operator creates in Secrets: created once, replaced with an overlap, and deleted with their GatewayKey.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { GeneratedHash } from '../../crds/gateway-key.ts'
import { gw } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'
import { startOperatorProcess, untilCondition } from './operator-process.ts'
import { aGateway, aGatewayKey, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig
const args = ['--generate-keys']

before(async () => {
  rig = await startOperatorRig({ args })
  await rig.apply(aGateway({}))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'], 90)
})

after(() => rig?.stop())

interface KeyView {
  readonly metadata: { readonly uid: string }
  readonly status?: { readonly hashes?: readonly GeneratedHash[] }
}

async function keyNamed(name: string): Promise<KeyView> {
  // The API server validates it against the definition.
  return JSON.parse(await rig.cluster.kubectl(['get', 'gwk', name, '-n', 'ai', '-o', 'json']))
}

const hashesOf = async (name: string) => (await keyNamed(name)).status?.hashes ?? []

async function secretOf(name: string): Promise<{ key: string; owners: readonly object[] }> {
  const secret = ['get', 'secret', `gw-key-${name}`, '-n', 'ai', '-o', 'json']
  const { data, metadata } = JSON.parse(await rig.cluster.kubectl(secret))
  return { key: Buffer.from(data.key, 'base64').toString(), owners: metadata.ownerReferences }
}

const untilReady = (name: string) =>
  rig.cluster.kubectl([
    ...['wait', '--for=condition=Ready', `gwk/${name}`, '-n', 'ai', '--timeout=120s'],
  ])

const untilAnswers = (key: string, status: number) =>
  until(
    `every pod answers ${status}`,
    async () => (await rig.answersTo(key)).every((one) => one === status),
    120,
  )

test('the operator creates a key in a Secret of its GatewayKey, and stores only its hash elsewhere', async () => {
  await rig.apply(aGatewayKey('made', { generate: {} }))
  await untilReady('made')
  const { key, owners } = await secretOf('made')
  assert.match(key, /^gw_live_made_[0-9A-Za-z]{49}$/)
  await untilAnswers(key, 200)
  const { metadata, status } = await keyNamed('made')
  const [hash, ...others] = status?.hashes ?? []
  assert.deepEqual(others, [])
  assert.equal(hash?.hash, `sha256:${createHash('sha256').update(key).digest('hex')}`)
  assert.equal(hash?.prefix, key.slice(0, 'gw_live_made_'.length + 4))
  assert.equal(hash?.state, 'Current')
  const owner = { apiVersion: 'inference.gw/v1', kind: 'GatewayKey', name: 'made' }
  assert.deepEqual(owners, [{ ...owner, uid: metadata.uid, controller: true }])
  assert.ok(!rig.operator.output().includes(key))
})

test('another operator creates no second key', async () => {
  const before = await hashesOf('made')
  await rig.operator.stop()
  rig.operator = await startOperatorProcess({ kubeconfig: rig.cluster.kubeconfig, args })
  await rig.apply(aGatewayKey('later', { generate: { overlapSeconds: 0 } }))
  await untilReady('later')
  assert.deepEqual(await hashesOf('made'), before)
})

test('after gw keys rotate both keys work until the former one expires, then it gets 401', async () => {
  const former = (await secretOf('made')).key
  const place = ['-n', 'ai', '--kubeconfig', rig.cluster.kubeconfig]
  const rotate = (...more: string[]) => gw('keys', 'rotate', '--id', 'made', ...more, ...place)
  const { code, stdout, stderr } = await rotate('--grace', '10s')
  assert.equal(code, 0, stderr)
  const [, end = ''] =
    /^The Secret gw-key-made has the new key; .* ends in .* \((\S+)\)\.$/m.exec(stdout) ?? []
  const { key } = await secretOf('made')
  assert.notEqual(key, former)
  await untilAnswers(key, 200)
  const both = await rig.answersTo(former)
  if (Date.now() < Date.parse(end)) assert.deepEqual(both, [200, 200])
  const states = (await hashesOf('made')).map(({ state }) => state)
  assert.ok(states[0] === 'Current' && states.length <= 2)
  await untilAnswers(former, 401)
  assert.ok(Date.now() >= Date.parse(end), 'the former key works until its end')
  await until('the hash is gone', async () => (await hashesOf('made')).length === 1)
  assert.deepEqual(await rig.answersTo(key), [200, 200])
})

test('without an overlap the former key ends at once, and a deleted key takes its Secret with it', async () => {
  const former = (await secretOf('later')).key
  await untilAnswers(former, 200)
  await rig.apply(aGatewayKey('later', { generate: { revision: 7, overlapSeconds: 0 } }))
  await untilAnswers(former, 401)
  const { key } = await secretOf('later')
  await untilAnswers(key, 200)
  await rig.cluster.kubectl(['delete', 'gwk', 'later', '-n', 'ai'])
  await untilAnswers(key, 401)
})
