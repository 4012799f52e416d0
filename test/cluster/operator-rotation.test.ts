/** A running cluster replaces the key that signs documents, in two steps and unnoticed by clients. */
import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { after, before, test } from 'node:test'
import { keyIdOf } from '../../dataplane/delivery/signed.ts'
import { SIGNING_SECRET_NAME } from '../../operator/rbac.ts'
import { aKey } from '../helpers/a-key.ts'
import { until } from '../helpers/until.ts'
import { milliseconds, recordFigure } from './figures.ts'
import { untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

/** The operator reads its Secret every minute. */
const SEEN_SECONDS_MAX = 180

let rig: OperatorRig
let pods: readonly string[]

const { key, record } = aKey({ id: 'first' })
const next = generateKeyPairSync('ed25519').privateKey

before(async () => {
  rig = await startOperatorRig()
  await rig.apply(aGateway({ gw: { api_keys: [record] } }))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  pods = running()
})

after(() => rig?.stop())

/** A restart or a new pod changes one of these. */
function running(): string[] {
  return rig.kubelet.pods().map(({ uid, child }) => `${uid} ${child.pid} ${child.exitCode}`)
}

async function read(kind: string, name: string, namespace: string) {
  const found = await rig.cluster.read(`/api/v1/namespaces/${namespace}/${kind}/${name}`)
  return found as { readonly data: Readonly<Record<string, string>> } // Both kinds contain only texts there.
}

async function signing(): Promise<KeyObject> {
  const { data } = await read('secrets', SIGNING_SECRET_NAME, 'gw-system')
  return createPrivateKey(Buffer.from(data['signing.pem'] ?? '', 'base64'))
}

function idOf(privateKey: KeyObject): string {
  return keyIdOf(createPublicKey(privateKey))
}

/** Writes members of the Secret; an undefined key removes its member. */
async function write(members: Readonly<Record<string, KeyObject | null>>): Promise<void> {
  const entries = Object.entries(members).map(([name, secret]) => {
    const pem = secret?.export({ type: 'pkcs8', format: 'pem' })
    return [name, pem === undefined ? null : Buffer.from(pem).toString('base64')]
  })
  const patch = JSON.stringify({ data: Object.fromEntries(entries) })
  const args = ['patch', 'secret', SIGNING_SECRET_NAME, '-n', 'gw-system', '--type=merge']
  await rig.cluster.kubectl([...args, '-p', patch])
}

async function trusted(): Promise<string[]> {
  return Object.keys((await read('configmaps', 'production-trust', 'ai')).data).sort()
}

async function signer(): Promise<string> {
  return JSON.parse(
    (await read('configmaps', 'production-config', 'ai')).data['config.json'] ?? '{}',
  ).keyId
}

async function untilTrusted(...keys: readonly KeyObject[]): Promise<void> {
  const wanted = keys.map((one) => `${idOf(one)}.pem`).sort()
  const isSo = async () => (await trusted()).join() === wanted.join()
  await until('the pods get these keys', isSo, SEEN_SECONDS_MAX)
}

test('the pods first trust a new signing key beside the old one, then it signs, and no pod restarts', async (t) => {
  const started = performance.now()
  const old = await signing()
  await write({ 'next.pem': next })
  await untilTrusted(old, next)
  assert.equal(await signer(), idOf(old))
  // While the pods only trust the new key, they accept an edit with the old key's signature.
  await rig.apply(aGateway({ gw: { api_keys: [record], aliases: { between: 'chat' } } }))
  await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  await write({ 'signing.pem': next, 'next.pem': null })
  await until(
    'documents are signed anew',
    async () => (await signer()) === idOf(next),
    SEEN_SECONDS_MAX,
  )
  await untilTrusted(next)
  await rig.apply(aGateway({ gw: { api_keys: [record], aliases: { after: 'chat' } } }))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  assert.deepEqual(await rig.answersTo(key), [200, 200])
  assert.deepEqual(running(), pods)
  const said = `no pod restarted, edits before and after applied, ${milliseconds(performance.now() - started)}`
  t.diagnostic(said)
  recordFigure('rotation', said, '2 pods')
})

test('the log reports a Secret without the signing key, and the operator continues with its current key', async () => {
  await write({ 'signing.pem': null, 'other.pem': next })
  const isSaid = () => rig.operator.output().includes('has no private key in signing.pem')
  await until('it is said', isSaid, SEEN_SECONDS_MAX)
  await rig.apply(aGateway({ gw: { api_keys: [record], aliases: { without: 'chat' } } }))
  await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  assert.equal(await signer(), idOf(next))
  assert.deepEqual(running(), pods)
})
