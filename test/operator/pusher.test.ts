/** Documents sent to pods that behave, hang, refuse, forget or report another document. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  hashOf,
  type KeyRecord,
  keysHashOf,
  legacyHashOf,
  recordDigest,
  trustOf,
  verify,
} from '../../dataplane/delivery/signed.ts'
import { signConfiguration, signKeys } from '../../operator/delivery/bundle.ts'
import { Pusher } from '../../operator/delivery/pusher.ts'
import { Transport } from '../../operator/kube/transport.ts'
import { until } from '../helpers/until.ts'

const pair = generateKeyPairSync('ed25519')
const signing = { privateKey: pair.privateKey, keyId: 'test', trusted: {} }
const trust = trustOf([pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()])
const gateway = { uid: 'u', namespace: 'ai', name: 'production' }

function aConfiguration(sequence: number, text = `${sequence}`) {
  const payload = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name: 'production', namespace: 'ai' },
    gw: { text },
  }
  return signConfiguration(payload, { gateway, sequence, generation: sequence }, signing)
}

function aRecord(id: string) {
  return { id, tenant: 'acme', hash: `sha256:${hashOf(id)}`, routes: ['*'] }
}

interface SaidKeys {
  hash: string | null
  setHash?: string
  sequence: number
}

type Say = { status: number; body?: object } | 'hang' | undefined

/** A pod like the data plane: it keeps accepted documents and verifies received ones. */
async function aPod() {
  const pod = {
    received: [] as string[],
    /** The number of requests for its status. */
    looks: 0,
    store: {} as object,
    configuration: {
      hash: null as string | null,
      documentHash: null as string | null,
      sequence: 0,
      newestSequence: 0,
    },
    keys: { hash: null, sequence: 0 } as SaidKeys,
    keysOf: (records: readonly KeyRecord[], sequence: number): SaidKeys => ({
      hash: 'of the set, as releases up to 1.4 say it',
      setHash: keysHashOf(records),
      sequence,
    }),
    /** Answers in place of the pod. */
    say: (_path: string): Say => undefined,
  }
  const known = new Map<string, { id: string; hash: string; tenant: string; routes: string[] }>()
  const server = createServer(async (request, response) => {
    const { url: path = '', method } = request
    const text = await bodyOf(request)
    if (method === 'PUT') pod.received.push(path)
    else pod.looks++
    const said = pod.say(path)
    if (said === 'hang') return
    const send = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (said !== undefined) return send(said.status, said.body ?? {})
    if (method === 'GET') {
      return send(200, { configuration: pod.configuration, keys: pod.keys, store: pod.store })
    }
    const envelope = JSON.parse(text)
    assert.ok(verify(envelope, trust).ok)
    const document = JSON.parse(envelope.document)
    if (path === '/config') {
      const hash = hashOf(document.payload)
      const { sequence, generation } = document
      pod.configuration = {
        hash,
        documentHash: envelope.sha256,
        sequence,
        newestSequence: sequence,
      }
      return send(200, { hash, sequence, generation })
    }
    if (document.changes !== undefined) {
      pod.received[pod.received.length - 1] = '/keys changes'
      if (document.changes.base !== pod.keys.sequence) {
        return send(409, { reason: 'other_base', have: pod.keys.sequence })
      }
      for (const hash of document.changes.remove) known.delete(hash)
    } else known.clear()
    for (const record of document.keys ?? document.changes.put) known.set(record.hash, record)
    pod.keys = pod.keysOf([...known.values()], document.sequence)
    return send(200, pod.keys)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on an address and port has both.
  const { port } = server.address() as AddressInfo
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const target = {
    uid: `uid-${port}`,
    name: `pod-${port}`,
    origin: `http://127.0.0.1:${port}`,
    ready: true,
  }
  return Object.assign(pod, { target })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  const isPacked = request.headers['content-encoding'] === 'gzip'
  return (isPacked ? gunzipSync(bytes) : bytes).toString()
}

const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

function aPusher(timings = {}) {
  const transport = new Transport({ connections: 2 })
  let changes = 0
  const pusher = new Pusher({
    transport,
    random: Math.random,
    onPush: () => undefined,
    onChange: () => changes++,
    timings: { deadlineMs: 60_000, verifyMs: 60_000, backoffMs: 10, backoffMsMax: 50, ...timings },
  })
  cleanups.push(
    () => pusher.close(),
    () => transport.close(),
  )
  const stateOf = ({ target }: { target: { uid: string } }) =>
    pusher.statesOf('g').find((one) => one.target.uid === target.uid)
  const isProgrammed = (pod: { target: { uid: string } }) => {
    const state = stateOf(pod)
    return state?.configuration.state === 'acknowledged' && state.keys.state === 'acknowledged'
  }
  return { pusher, stateOf, isProgrammed, changes: () => changes }
}

test('every pod gets both documents, and a document that it already has is not sent again', async () => {
  const pods = [await aPod(), await aPod()]
  const { pusher, isProgrammed } = aPusher()
  const wanted = {
    configuration: aConfiguration(1),
    keys: signKeys([aRecord('a')], { gateway, sequence: 1 }, signing),
  }
  const targets = pods.map(({ target }) => target)
  pusher.program('g', targets, wanted)
  await until('both have it', () => pods.every(isProgrammed))
  const again = aPusher()
  again.pusher.program('g', targets, wanted)
  await until('another operator finds the documents in the pod', () =>
    pods.every(again.isProgrammed),
  )
  for (const { received } of pods) assert.deepEqual(received.toSorted(), ['/config', '/keys'])
})

test('the operator reports a pod that hangs, which delays no other pod', async () => {
  const [good, hung] = [await aPod(), await aPod()]
  hung.say = () => 'hang'
  const { pusher, stateOf, isProgrammed } = aPusher({ deadlineMs: 1000 })
  const keys = signKeys([], { gateway, sequence: 1 }, signing)
  pusher.program('g', [hung.target, good.target], { configuration: aConfiguration(1), keys })
  await until('the good pod has it', () => isProgrammed(good))
  await until(
    'the other pod is unreachable',
    () => stateOf(hung)?.configuration.state === 'unreachable',
  )
  assert.equal(stateOf(hung)?.configuration.error, 'the pod does not answer in time')
  hung.say = () => undefined
  await until('the pod has it when it answers again', () => isProgrammed(hung))
})

test('the operator reports a pod that hangs, even during a series of quick edits', async () => {
  const pod = await aPod()
  pod.say = () => 'hang'
  const { pusher, stateOf } = aPusher({ deadlineMs: 300 })
  const keys = signKeys([], { gateway, sequence: 1 }, signing)
  let sequence = 0
  await until('it is unreachable', () => {
    if (stateOf(pod)?.configuration.state === 'unreachable') return true
    pusher.program('g', [pod.target], { configuration: aConfiguration(++sequence), keys })
    return false
  })
  assert.ok(sequence > 2)
})

test('keys reach a pod whose configuration hangs or is refused', async () => {
  const pod = await aPod()
  pod.say = (path) => (path === '/config' ? 'hang' : undefined)
  const { pusher, stateOf } = aPusher({ deadlineMs: 1000 })
  const keys = signKeys([aRecord('a')], { gateway, sequence: 1 }, signing)
  pusher.program('g', [pod.target], { configuration: aConfiguration(1), keys })
  await until('the pod has the keys', () => stateOf(pod)?.keys.state === 'acknowledged')
  assert.notEqual(stateOf(pod)?.configuration.state, 'acknowledged')
  const refusal = { problems: [{ pointer: '/gw', message: 'no', fix: 'Yes.' }] }
  pod.say = (path) => (path === '/config' ? { status: 422, body: refusal } : undefined)
  await until('it is refused', () => stateOf(pod)?.configuration.state === 'rejected')
  assert.equal(stateOf(pod)?.configuration.error, '/gw no. Yes.')
  const next = signKeys([], { gateway, sequence: 2, before: keys }, signing)
  pusher.program('g', [pod.target], { configuration: aConfiguration(1), keys: next })
  await until('the pod has the next keys', () => pod.keys.sequence === 2)
})

test('a busy pod has not refused: the document is sent again', async () => {
  const pod = await aPod()
  let asked = 0
  pod.say = (path) => (path === '/config' && asked++ < 2 ? { status: 503, body: {} } : undefined)
  const { pusher, isProgrammed } = aPusher()
  const keys = signKeys([], { gateway, sequence: 1 }, signing)
  pusher.program('g', [pod.target], { configuration: aConfiguration(1), keys })
  await until('it has it', () => isProgrammed(pod))
  assert.equal(asked, 3)
})

test('a pod that has the previous keys gets the changes, and otherwise all keys', async () => {
  const [follower, stranger] = [await aPod(), await aPod()]
  const { pusher, stateOf } = aPusher()
  const first = signKeys([aRecord('a'), aRecord('b')], { gateway, sequence: 1 }, signing)
  pusher.program('g', [follower.target], { configuration: undefined, keys: first })
  await until('it has them', () => follower.keys.sequence === 1)
  const second = signKeys(
    [aRecord('b'), aRecord('c')],
    { gateway, sequence: 2, before: first },
    signing,
  )
  pusher.program('g', [follower.target, stranger.target], {
    configuration: undefined,
    keys: second,
  })
  const isDone = (pod: typeof follower) => stateOf(pod)?.keys.state === 'acknowledged'
  await until(
    'both have them',
    () => isDone(follower) && isDone(stranger) && stranger.keys.sequence === 2,
  )
  assert.deepEqual(follower.received, ['/keys', '/keys changes'])
  assert.deepEqual(stranger.received, ['/keys'])
  assert.equal(follower.keys.setHash, second.hash)
  assert.equal(stranger.keys.setHash, second.hash)
})

test('a pod reports the higher sequence that it has seen, and the operator sends nothing lower', async () => {
  const pod = await aPod()
  pod.configuration = { hash: 'x', documentHash: 'x', sequence: 7, newestSequence: 9 }
  pod.say = (path) => (path === '/config' ? { status: 409, body: { have: 9 } } : undefined)
  const { pusher, isProgrammed } = aPusher()
  const keys = signKeys([], { gateway, sequence: 1 }, signing)
  pusher.program('g', [pod.target], { configuration: aConfiguration(3), keys })
  await until('it is known', () => pusher.floorOf('g', 'configuration') === 9)
  pod.say = () => undefined
  pusher.program('g', [pod.target], { configuration: aConfiguration(10), keys })
  await until('it accepts the next document', () => isProgrammed(pod))
})

test('the operator detects a restarted pod and sends its documents again', async () => {
  const pod = await aPod()
  const { pusher, isProgrammed } = aPusher({ verifyMs: 100 })
  const keys = signKeys([], { gateway, sequence: 1 }, signing)
  pusher.program('g', [pod.target], { configuration: aConfiguration(1), keys })
  await until('it has it', () => isProgrammed(pod))
  pod.configuration = { hash: null, documentHash: null, sequence: 0, newestSequence: 0 }
  pod.keys = { hash: null, sequence: 0 }
  await until(
    'the pod has it again',
    () => pod.configuration.sequence === 1 && pod.keys.sequence === 1,
  )
})

test('of several edits a slow pod gets only the newest', async () => {
  const pod = await aPod()
  const { pusher, isProgrammed } = aPusher()
  const keys = signKeys([], { gateway, sequence: 1 }, signing)
  for (let sequence = 1; sequence <= 50; sequence++) {
    pusher.program('g', [pod.target], { configuration: aConfiguration(sequence), keys })
  }
  await until(
    'the pod has the last one',
    () => pod.configuration.sequence === 50 && isProgrammed(pod),
  )
  assert.ok(pod.received.filter((path) => path === '/config').length <= 3)
})

test('a pod that acknowledges another document has not acknowledged', async () => {
  const pod = await aPod()
  pod.say = (path) => (path === '/config' ? { status: 200, body: { hash: 'other' } } : undefined)
  const { pusher, stateOf } = aPusher()
  const keys = signKeys([], { gateway, sequence: 1 }, signing)
  pusher.program('g', [pod.target], { configuration: aConfiguration(1), keys })
  await until('it is noticed', () => stateOf(pod)?.configuration.state === 'rejected')
})

test('the operator checks a pod whose shared store may be away more often than others', async () => {
  const [shared, alone] = [await aPod(), await aPod()]
  shared.store = { backend: 'redis', state: 'up', fail_open: false }
  const { pusher, stateOf, isProgrammed } = aPusher({ verifySharedMs: 10 })
  const keys = signKeys([], { gateway, sequence: 1 }, signing)
  const targets = [shared.target, alone.target]
  pusher.program('g', targets, { configuration: aConfiguration(1), keys })
  await until('both have it', () => [shared, alone].every(isProgrammed))
  shared.store = { backend: 'redis', state: 'away', fail_open: false }
  await until('it is known', () => stateOf(shared)?.report?.storeAway !== undefined)
  assert.equal(alone.looks, 1)
})

test('a pod of a release up to 1.4 acknowledges its keys by the hash that it knows', async () => {
  const pod = await aPod()
  pod.keysOf = (records, sequence) => ({ hash: legacyHashOf(records.map(recordDigest)), sequence })
  const { pusher } = aPusher()
  const keys = signKeys([aRecord('a'), aRecord('b')], { gateway, sequence: 1 }, signing)
  pusher.program('ai/production', [pod.target], { configuration: undefined, keys })
  await until('the pod has the keys', () =>
    pusher.statesOf('ai/production').every((one) => one.keys.state === 'acknowledged'),
  )
})

test('a pod that reports an impossible number raises no floor, and is named when it refuses', async () => {
  const pod = await aPod()
  const absurd = Number.MAX_SAFE_INTEGER
  pod.configuration = { ...pod.configuration, newestSequence: absurd }
  pod.keys = { ...pod.keys, sequence: absurd }
  pod.say = (path) =>
    path === '/config' || path === '/keys' ? { status: 409, body: { have: absurd } } : undefined
  const { pusher } = aPusher()
  const keys = signKeys([aRecord('a')], { gateway, sequence: 5 }, signing)
  pusher.program('ai/production', [pod.target], { configuration: aConfiguration(7), keys })
  await until('both are refused', () =>
    pusher.statesOf('ai/production').every((one) => {
      return one.keys.state === 'rejected' && one.configuration.state === 'rejected'
    }),
  )
  const [state] = pusher.statesOf('ai/production')
  assert.match(state?.keys.error ?? '', /9007199254740991.*report is ignored\. Delete the pod/)
  assert.equal(pusher.floorOf('ai/production', 'configuration'), 0)
  assert.equal(pusher.floorOf('ai/production', 'keys'), 0)
})
