/** How often endpoints are sent and stored, and in which order, on a clock that the test advances. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { type EndpointsDocument, keyIdOf } from '../../dataplane/delivery/signed.ts'
import { EndpointsLane } from '../../operator/endpoints/endpoints-lane.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'

beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] }))
afterEach(() => mock.timers.reset())

const gateway: KubeObject = { metadata: { name: 'production', namespace: 'ai', uid: 'uid-1' } }
const target = { uid: 'pod-1', name: 'pod-1', origin: 'http://10.0.0.1:9092', ready: true }

/** A lane to one pod, which answers as `pod.answer` says. */
function aRig(count = 1) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const keys = { privateKey, keyId: keyIdOf(publicKey), trusted: {} }
  const rig = {
    count,
    sent: [] as EndpointsDocument[],
    stored: [] as EndpointsDocument[],
    errors: [] as string[],
    troubles: 0,
    unknown: false,
    found: undefined as KubeObject | undefined,
    answer: (): { status: number; body: object } => ({ status: 200, body: {} }),
  }
  const lists = () => ({
    upstreams: rig.unknown
      ? []
      : [
          {
            name: 'chat',
            endpoints: Array.from({ length: rig.count }, (_, index) => {
              const address = `10.1.${index >> 8}.${index & 255}`
              return { id: `uid ${index}`, address, port: 8000 }
            }),
          },
        ],
    ...(rig.unknown && { unknown: ['chat'] }),
  })
  const read = (text: string): EndpointsDocument => JSON.parse(JSON.parse(text).document)
  const lane = new EndpointsLane(gateway, lists, {
    random: () => 0,
    wallClock: Date.now,
    signingKeys: () => keys,
    onError: (message) => rig.errors.push(message),
    onPush() {},
    onTrouble: () => void rig.troubles++,
    transport: {
      async call({ body }) {
        rig.sent.push(read(String(body)))
        const { status, body: answer } = rig.answer()
        return { status, headers: {}, body: Buffer.from(JSON.stringify(answer)) }
      },
    },
    api: {
      get: async () => rig.found,
      async apply(_resource, object) {
        rig.stored.push(read((object.data as Record<string, string>)['endpoints.json'] ?? ''))
        return object
      },
    },
  })
  lane.program(gateway, [target])
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      mock.timers.tick(10)
      for (let turn = 0; turn < 8; turn++) await Promise.resolve()
    }
  }
  return { rig, lane, pass }
}

test('many changes in ten seconds are at most a hundred pushes, and the last one is sent and stored', async () => {
  const { rig, lane, pass } = aRig()
  for (let change = 1; change <= 250; change++) {
    rig.count = change
    lane.changed()
    await pass(40)
  }
  await pass(200)
  assert.ok(rig.sent.length <= 100, `${rig.sent.length} pushes`)
  assert.ok(rig.stored.length <= 2, `${rig.stored.length} writes`)
  assert.equal(rig.sent.at(-1)?.upstreams[0]?.endpoints.length, 250)
  const sequences = rig.sent.map(({ sequence }) => sequence)
  assert.deepEqual(
    sequences,
    sequences.toSorted((one, other) => one - other),
  )
  assert.equal(new Set(sequences).size, sequences.length)
  await pass(10_000)
  assert.equal(rig.stored.at(-1)?.upstreams[0]?.endpoints.length, 250)
  lane.close()
})

test('a lost push is sent again, and the same document once more within half a minute', async () => {
  const { rig, lane, pass } = aRig()
  rig.answer = () => {
    throw new Error('connection refused')
  }
  await pass(500)
  rig.answer = () => ({ status: 200, body: {} })
  const before = rig.sent.length
  await pass(5000)
  assert.equal(rig.sent.length, before + 1)
  await pass(30_000)
  assert.equal(rig.sent.length, before + 2)
  assert.equal(new Set(rig.sent.map(({ sequence }) => sequence)).size, 1)
  lane.close()
})

test('a pod with a higher sequence gets one above it', async () => {
  const { rig, lane, pass } = aRig()
  const have = Date.now() + 5000
  rig.answer = () =>
    (rig.sent.at(-1)?.sequence ?? 0) > have
      ? { status: 200, body: {} }
      : { status: 409, body: { reason: 'older_sequence', have } }
  await pass(3000)
  assert.ok((rig.sent.at(-1)?.sequence ?? 0) > have)
  lane.close()
})

test('more endpoints than the bound are not sent, and the reason names the number', async () => {
  const { rig, lane, pass } = aRig(3)
  await pass(200)
  rig.count = 257
  lane.changed()
  await pass(200)
  assert.equal(rig.sent.length, 1)
  assert.match(rig.errors[0] ?? '', /ai\/production: Upstream "chat" has 257 endpoints; 256 are/)
  assert.match(lane.refused ?? '', /^Upstream "chat" has 257 endpoints; 256 are the most/)
  rig.count = 3
  lane.changed()
  await pass(200)
  assert.equal(lane.refused, undefined)
  assert.equal(rig.troubles, 2)
  lane.close()
})

test('a ConfigMap of another owner is not changed', async () => {
  const { rig, lane, pass } = aRig()
  rig.found = { metadata: { name: 'production-endpoints', namespace: 'ai', uid: 'x' } }
  await pass(300)
  assert.equal(rig.stored.length, 0)
  assert.match(rig.errors[0] ?? '', /does not belong to this gateway/)
  lane.close()
})

test('a refusal by a pod is known until the pod has accepted a list', async () => {
  const { rig, lane, pass } = aRig()
  rig.answer = () => ({ status: 422, body: { reason: 'invalid', message: 'There are too many.' } })
  await pass(200)
  assert.match(lane.refused ?? '', /too many/)
  rig.answer = () => ({ status: 200, body: {} })
  await pass(30_000)
  assert.equal(lane.refused, undefined)
  assert.equal(rig.troubles, 2)
  lane.close()
})

test('a new operator waits for unknown lists, but not forever', async () => {
  const { rig, lane, pass } = aRig()
  rig.unknown = true
  await pass(5000)
  assert.equal(rig.sent.length, 0)
  rig.unknown = false
  lane.changed()
  await pass(200)
  assert.equal(rig.sent.length, 1)
  rig.unknown = true
  lane.changed()
  await pass(200)
  assert.deepEqual(rig.sent[1]?.upstreams, [])
  assert.deepEqual(rig.sent[1]?.unknown, ['chat'])
  lane.close()
})
