/** The push port of a running pod refuses requests of strangers, and the pod stays unchanged. */
import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { proofOf } from '../../dataplane/delivery/push-proof.ts'
import {
  type ConfigurationDocument,
  type Envelope,
  keyIdOf,
  sign,
} from '../../dataplane/delivery/signed.ts'
import { readReport } from '../../operator/delivery/pod-reports.ts'
import { SIGNING_SECRET_NAME } from '../../operator/rbac.ts'
import { aKey } from '../helpers/a-key.ts'
import { recordFigure } from './figures.ts'
import { statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig
/** The operator's signed documents of the previous and the current generation. */
let older: Envelope
let newest: Envelope
let signingKey: KeyObject

const { key, record } = aKey({ id: 'first' })

before(async () => {
  rig = await startOperatorRig()
  await rig.apply(aGateway({ gw: { api_keys: [record] } }))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  older = await storedEnvelope()
  await rig.apply(aGateway({ gw: { api_keys: [record], aliases: { newer: 'chat' } } }))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  newest = await storedEnvelope()
  const secret = ['get', 'secret', SIGNING_SECRET_NAME, '-n', 'gw-system', '-o', 'json']
  const { data } = JSON.parse(await rig.cluster.kubectl(secret))
  signingKey = createPrivateKey(Buffer.from(data['signing.pem'], 'base64'))
})

after(() => rig?.stop())

async function storedEnvelope(): Promise<Envelope> {
  const args = ['get', 'cm', 'production-config', '-n', 'ai', '-o', 'json']
  return JSON.parse(JSON.parse(await rig.cluster.kubectl(args)).data['config.json'])
}

/** The active document with changed members, signed with the operator's key. */
function signedWith(changes: Partial<ConfigurationDocument>): Envelope {
  return sign({ ...JSON.parse(newest.document), ...changes }, signingKey)
}

/** The operator's own headers, so the pod verifies them and reads the content. */
function proofFor(path: string, body: string): Record<string, string> {
  const { uid } = document().gateway
  const keyId = keyIdOf(createPublicKey(signingKey))
  return { ...proofOf(body, { path, uid }, { privateKey: signingKey, keyId }) }
}

async function put(path: string, body: string): Promise<{ status: number; reason: string }> {
  const headers = proofFor(path, body)
  const outgoing = request(`${pod().pushUrl}${path}`, { method: 'PUT', agent: false, headers })
  // The pod answers as soon as it can decide, and does not read the rest.
  outgoing.on('error', () => undefined)
  outgoing.end(body)
  const [answer]: readonly IncomingMessage[] = await once(outgoing, 'response')
  if (answer === undefined) throw new Error('there is no answer')
  const chunks = await Array.fromAsync(answer.setEncoding('utf8')).catch(() => [])
  const text = chunks.join('')
  return { status: answer.statusCode ?? 0, reason: text === '' ? '' : JSON.parse(text).reason }
}

function pod() {
  const [first] = rig.kubelet.pods()
  if (first === undefined) throw new Error('there is no pod')
  return first
}

async function enforced() {
  const answer = await fetch(`${pod().pushUrl}/config/status`)
  const { configuration, keys } = readReport(await answer.json())
  const { hash, documentHash, sequence, generation } = configuration
  return { hash, documentHash, sequence, generation, keys }
}

const stranger = generateKeyPairSync('ed25519').privateKey
const document = () => JSON.parse(newest.document)
const later = () => document().sequence + 100
const ofAnother = () => ({ ...document().gateway, uid: 'another' })
const json = JSON.stringify

const REFUSED: Readonly<Record<string, readonly [body: () => string, status: number]>> = {
  'that is not signed': [() => newest.document, 400],
  'that a stranger signed': [() => json(sign(document(), stranger)), 403],
  'that was changed after signing': [
    () => json({ ...newest, document: newest.document.replace('newer', 'moved') }),
    401,
  ],
  'that was active before': [() => json(older), 409],
  'of an older sequence with a new signature': [() => json(signedWith({ sequence: 1 })), 409],
  'of this sequence with other content': [() => json(signedWith({ generation: 99 })), 409],
  'for another gateway': [() => json(signedWith({ gateway: ofAnother(), sequence: later() })), 403],
  'of 100 MiB': [() => `{"document":"${'x'.repeat(100 * 1024 * 1024)}"}`, 413],
}

for (const [what, [body, status]] of Object.entries(REFUSED)) {
  test(`the pod refuses a push ${what} with ${status}, and keeps its document`, async () => {
    const before = await enforced()
    const answer = await put('/config', body())
    assert.equal(answer.status, status, answer.reason)
    assert.deepEqual(await enforced(), before)
    assert.deepEqual(await rig.answersTo(key), [200, 200])
  })
}

test('half a push changes nothing, whether its sender disconnects or stops sending', async () => {
  const before = await enforced()
  const { hostname, port } = new URL(pod().pushUrl)
  const text = json(signedWith({ sequence: later() }))
  const lines = Object.entries(proofFor('/config', text)).map(([name, is]) => `${name}: ${is}\r\n`)
  const head = `PUT /config HTTP/1.1\r\nHost: pod\r\n${lines.join('')}Content-Length: ${text.length}\r\n\r\n`
  const open = () => connect({ host: hostname, port: Number(port) }).on('error', () => undefined)
  const leaves = open()
  leaves.write(head + text.slice(0, -20), () => leaves.destroy())
  const silent = open().resume()
  silent.write(head + text.slice(0, -20))
  const cut = once(silent, 'close')
  assert.deepEqual(await enforced(), before)
  await Promise.race([cut, delay(60_000, undefined, { ref: false })])
  assert.ok(silent.destroyed, 'the pod does not wait without end')
  assert.deepEqual(await enforced(), before)
})

test('the pod also refuses keys that are unsigned or older', async () => {
  const before = await enforced()
  const { gateway } = document()
  const none = { kind: 'Keys', gateway, sequence: before.keys.sequence + 1, keys: [] } as const
  const bodies = [
    json(none),
    json(sign(none, stranger)),
    json(sign({ ...none, sequence: 0 }, signingKey)),
    json(sign({ ...none, gateway: ofAnother() }, signingKey)),
  ]
  for (const body of bodies) assert.ok((await put('/keys', body)).status >= 400, body)
  assert.deepEqual(await enforced(), before)
  assert.deepEqual(await rig.answersTo(key), [200, 200])
})

test('afterwards the status is unchanged, and an edit applies', async () => {
  const { activeHash } = await statusOf(rig.cluster, 'production')
  assert.equal((await enforced()).hash, activeHash)
  await rig.apply(aGateway({ gw: { api_keys: [record], aliases: { last: 'chat' } } }))
  await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  const count = Object.keys(REFUSED).length
  recordFigure('pushes', `${count} of ${count} refused, half bodies too; nothing changed`, '2 pods')
})
