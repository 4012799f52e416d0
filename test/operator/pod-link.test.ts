/**
 * One pod and its two documents; the pod answers as a test says, and the test advances the timers.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { signConfiguration, signKeys } from '../../operator/delivery/bundle.ts'
import { PodLink } from '../../operator/delivery/pod-link.ts'
import type { PodPush } from '../../operator/delivery/pod-pushes.ts'

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
afterEach(() => mock.timers.reset())

const { privateKey } = generateKeyPairSync('ed25519')
const signing = { privateKey, keyId: 'test', trusted: {} }
const gateway = { uid: 'u', namespace: 'ai', name: 'production' }
const metadata = { name: 'production', namespace: 'ai' }
const payload = { apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', metadata }

const TIMINGS = {
  deadlineMs: 8_000,
  verifyMs: 30_000,
  verifyUneasyMs: 4_000,
  verifySharedMs: 2_500,
  backoffMs: 200,
  backoffMsMax: 1_000,
}
const LOOK = 'GET /config/status'

function aConfiguration(sequence: number) {
  const gw = { text: String(sequence) }
  return signConfiguration({ ...payload, gw }, { gateway, sequence, generation: 1 }, signing)
}

function someKeys(sequence: number, ids: readonly string[], before?: ReturnType<typeof signKeys>) {
  const records = ids.map((id) => ({ id, tenant: 'acme', hash: `sha256:${id}`, routes: ['*'] }))
  return signKeys(records, { gateway, sequence, before }, signing)
}

type Answer = { readonly status: number; readonly body: object } | Error

interface Reported {
  readonly configuration?: object | undefined
  readonly keys?: object | undefined
  readonly [more: string]: unknown
}

/**
 * A link to a pod that keeps accepted documents, unless `pod.answers` has another answer for the
 * request.
 */
function aRig(crowd = 1) {
  const wanted = { configuration: aConfiguration(5), keys: someKeys(5, ['a']) }
  const had = ({ configuration, keys }: Partial<typeof wanted>): Reported => ({
    configuration: configuration && {
      hash: configuration.hash,
      documentHash: configuration.documentHash,
      newestSequence: configuration.sequence,
    },
    keys: keys && { setHash: keys.hash, sequence: keys.sequence },
  })
  const pod = {
    report: {} as Reported,
    answers: {} as Record<string, Answer | undefined>,
    calls: [] as string[],
    headers: [] as Readonly<Record<string, string>>[],
    signal: undefined as AbortSignal | undefined,
  }
  const answerTo = (asked: string): Answer => {
    const given = pod.answers[asked]
    if (given !== undefined) return given
    if (asked === LOOK) return { status: 200, body: pod.report }
    const part = asked === 'PUT /config' ? 'configuration' : 'keys'
    const { hash, sequence } = wanted[part]
    return { status: 200, body: { hash, setHash: hash, sequence } }
  }
  const pushes: PodPush[] = []
  let changes = 0
  const link = new PodLink('http://pod', {
    random: () => 0.5,
    timings: TIMINGS,
    crowd: () => crowd,
    onChange: () => changes++,
    onPush: (push) => pushes.push(push),
    transport: {
      async call({ method, path, headers = {}, signal, origin }) {
        assert.equal(origin, 'http://pod')
        pod.signal = signal
        const asked = `${method} ${path}`
        pod.calls.push(asked)
        pod.headers.push(headers)
        const answer = answerTo(asked)
        if (answer instanceof Error) throw answer
        const body = Buffer.from(JSON.stringify(answer.body))
        return { status: answer.status, headers: {}, body }
      },
    },
  })
  const pass = async (ms: number) => {
    mock.timers.tick(ms)
    await settled()
  }
  const states = () => [link.laneOf('configuration').state, link.laneOf('keys').state]
  /** The calls since the last check. */
  const calls = () => pod.calls.splice(0)
  return { link, pod, wanted, had, pass, states, calls, pushes, changes: () => changes }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A link to a pod that has both documents. */
async function aProgrammedPod() {
  const rig = aRig()
  rig.link.want(rig.wanted)
  await settled()
  rig.pod.report = rig.had(rig.wanted)
  assert.deepEqual(rig.states(), ['acknowledged', 'acknowledged'])
  rig.calls()
  return rig
}

test('the operator asks a pod once for its documents, and sends both with their proofs', async () => {
  const { link, pod, wanted, states, calls, pushes } = aRig()
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  link.want({ ...wanted, trace })
  assert.deepEqual(states(), ['pending', 'pending'])
  await settled()
  assert.deepEqual(states(), ['acknowledged', 'acknowledged'])
  assert.deepEqual(calls().toSorted(), [LOOK, 'PUT /config', 'PUT /keys'])
  for (const proof of [wanted.configuration.proof, wanted.keys.proof]) {
    const [[name, value] = []] = Object.entries(proof)
    assert.ok(pod.headers.some((headers) => name !== undefined && headers[name] === value))
  }
  const reported = pushes.map((push) => [push.part, push.result, push.trace])
  assert.deepEqual(reported.toSorted(), [
    ['configuration', 'acknowledged', trace],
    ['keys', 'acknowledged', trace],
  ])
  link.close()
})

test('a document that the pod already has is not sent', async () => {
  const { link, pod, wanted, had, states, calls } = aRig()
  pod.report = had({ configuration: wanted.configuration })
  link.want(wanted)
  await settled()
  assert.deepEqual(states(), ['acknowledged', 'acknowledged'])
  assert.deepEqual(calls(), [LOOK, 'PUT /keys'])
  link.close()
})

test('the same content under another sequence is sent', async () => {
  const { link, pod, wanted, had, calls } = aRig()
  const keys = { ...had(wanted).keys, sequence: 4 }
  pod.report = { ...had(wanted), keys }
  link.want(wanted)
  await settled()
  assert.deepEqual(calls(), [LOOK, 'PUT /keys'])
  link.close()
})

test('a pod that does not answer is retried at growing intervals, until it answers', async () => {
  const { link, pod, wanted, states, calls, pass } = aRig()
  pod.answers[LOOK] = new Error('ECONNREFUSED')
  link.want({ ...wanted, keys: undefined })
  await settled()
  assert.deepEqual(link.laneOf('configuration'), { state: 'unreachable', error: 'ECONNREFUSED' })
  calls()
  for (const waitMs of [150, 300, 600, 750, 750]) {
    await pass(waitMs - 1)
    assert.deepEqual(calls(), [], `not before ${waitMs} ms`)
    await pass(1)
    assert.deepEqual(calls(), [LOOK], `after ${waitMs} ms`)
  }
  delete pod.answers[LOOK]
  await pass(750)
  assert.equal(states()[0], 'acknowledged')
  link.close()
})

test('a refused document is not sent again, and the next one is sent', async () => {
  const { link, pod, wanted, calls, pass, pushes } = aRig()
  const problem = { pointer: '/gw/routes', message: 'is empty', fix: 'Add one.' }
  pod.answers['PUT /config'] = { status: 422, body: { problems: [problem, problem] } }
  link.want({ ...wanted, keys: undefined })
  await settled()
  const { state, error } = link.laneOf('configuration')
  assert.deepEqual([state, error], ['rejected', '/gw/routes is empty. Add one. (and 1 more)'])
  assert.deepEqual(
    pushes.map(({ result }) => result),
    ['rejected'],
  )
  calls()
  await pass(3_000)
  link.want({ ...wanted, keys: undefined })
  await settled()
  assert.deepEqual(calls(), [])
  link.want({ configuration: aConfiguration(6), keys: undefined })
  await settled()
  assert.deepEqual(calls(), ['PUT /config'])
  link.close()
})

test('a busy pod has refused nothing: the document is sent again', async () => {
  const { link, pod, wanted, states, pass } = aRig()
  pod.answers['PUT /config'] = { status: 503, body: {} }
  link.want(wanted)
  await settled()
  assert.deepEqual(states(), ['unreachable', 'acknowledged'])
  delete pod.answers['PUT /config']
  await pass(150)
  assert.deepEqual(states(), ['acknowledged', 'acknowledged'])
  link.close()
})

test('a pod that has seen a higher sequence raises the floor, and its documents are read again', async () => {
  const { link, pod, wanted, calls, pass } = aRig()
  pod.answers['PUT /config'] = { status: 409, body: { have: 9 } }
  link.want({ ...wanted, keys: undefined })
  await settled()
  assert.equal(link.laneOf('configuration').state, 'pending')
  assert.deepEqual([link.floorOf('configuration'), link.floorOf('keys')], [9, 0])
  calls()
  await pass(150)
  assert.equal(calls()[0], LOOK)
  link.close()
})

test('a report with a higher sequence of another document raises the floor before anything is sent', async () => {
  const { link, pod, wanted } = aRig()
  pod.report = { configuration: { newestSequence: 8 }, keys: { sequence: 7 } }
  link.want(wanted)
  await settled()
  assert.deepEqual([link.floorOf('configuration'), link.floorOf('keys')], [8, 7])
  link.close()
})

test('a sequence that no operator can have sent does not raise the floor', async () => {
  const { link, pod, wanted, pass, calls } = aRig()
  pod.answers['PUT /config'] = { status: 409, body: { have: Number.MAX_SAFE_INTEGER } }
  link.want({ ...wanted, keys: undefined })
  await settled()
  assert.match(link.laneOf('configuration').error ?? '', /the report is ignored\. Delete the pod/)
  assert.equal(link.floorOf('configuration'), 0)
  calls()
  await pass(3_000)
  assert.deepEqual(calls(), [], 'no other attempt')
  link.close()
})

test('an answer that names another document is not an acknowledgement', async () => {
  const { link, pod, wanted, states } = aRig()
  pod.answers['PUT /config'] = { status: 200, body: { hash: 'other' } }
  pod.answers['PUT /keys'] = { status: 200, body: { setHash: 'other', sequence: 5 } }
  link.want(wanted)
  await settled()
  assert.deepEqual(states(), ['rejected', 'rejected'])
  link.close()
})

test('a pod that has the previous keys gets the changes, and all keys after a 409', async () => {
  const { link, pod, wanted, had, calls } = aRig()
  pod.report = had(wanted)
  const { configuration } = wanted
  const next = someKeys(6, ['a', 'b'], wanted.keys)
  pod.answers['PUT /keys'] = { status: 200, body: { setHash: next.hash, sequence: 6 } }
  link.want({ configuration, keys: next })
  await settled()
  assert.deepEqual(calls(), [LOOK, 'PUT /keys'])
  assert.equal(pod.headers.at(-1)?.['content-encoding'], undefined, 'changes are not compressed')
  pod.answers['PUT /keys'] = { status: 409, body: { have: 6 } }
  link.want({ configuration, keys: someKeys(7, ['b'], next) })
  await settled()
  assert.deepEqual(calls(), ['PUT /keys', 'PUT /keys'])
  assert.equal(pod.headers.at(-1)?.['content-encoding'], 'gzip')
  link.close()
})

test('a pod that has lost its documents gets them again after the next check', async () => {
  const { link, pod, calls, pass, states } = await aProgrammedPod()
  pod.report = {}
  await pass(29_999)
  assert.deepEqual(calls(), [])
  await pass(1)
  assert.deepEqual(calls().toSorted(), [LOOK, 'PUT /config', 'PUT /keys'])
  assert.deepEqual(states(), ['acknowledged', 'acknowledged'])
  link.close()
})

test('a pod that has acknowledged is unreachable after the third check without an answer', async () => {
  const { link, pod, states } = await aProgrammedPod()
  pod.answers[LOOK] = new Error('EHOSTUNREACH')
  for (const expected of ['acknowledged', 'acknowledged', 'unreachable']) {
    await link.verify()
    assert.deepEqual(states(), [expected, expected])
  }
  link.close()
})

test('an answered check restarts the count of unanswered ones', async () => {
  const { link, pod, states } = await aProgrammedPod()
  for (const isSilent of [true, true, false, true, true]) {
    pod.answers[LOOK] = isSilent ? new Error('EHOSTUNREACH') : undefined
    await link.verify()
  }
  assert.deepEqual(states(), ['acknowledged', 'acknowledged'])
  link.close()
})

test('a report that refuses the wanted document makes it rejected', async () => {
  const { link, pod, wanted, had } = await aProgrammedPod()
  const { documentHash } = wanted.configuration
  const problem = { pointer: '/gw', message: 'is bad', fix: 'Mend it.' }
  const lastError = { documentHash, sequence: 5, problems: [problem] }
  pod.report = { keys: had(wanted).keys, configuration: { newestSequence: 5, lastError } }
  await link.verify()
  const { state, error } = link.laneOf('configuration')
  assert.deepEqual([state, error], ['rejected', '/gw is bad. Mend it.'])
  assert.equal(link.laneOf('keys').state, 'acknowledged')
  assert.equal(
    link.floorOf('configuration'),
    0,
    "the sequence that the pod has seen is the document's",
  )
  link.close()
})

test('only changes are reported', async () => {
  const { link, pod, had, wanted, changes } = await aProgrammedPod()
  await link.verify()
  const before = changes()
  await link.verify()
  await link.verify()
  assert.equal(changes(), before)
  pod.report = { ...had(wanted), ignored: ['/gw/state_dir'] }
  await link.verify()
  assert.equal(changes(), before + 1)
  assert.deepEqual(link.report?.ignored, ['/gw/state_dir'])
  link.close()
})

for (const [what, more, crowd, everyMs] of [
  ['a pod', {}, 1, 30_000],
  ['a pod that lacks a Secret', { unresolved: [{ reference: 'a' }] }, 1, 4_000],
  ['a pod with a shared store', { store: { backend: 'redis' } }, 1, 2_500],
  ['one of 1,000 pods with a shared store', { store: { backend: 'redis' } }, 1_000, 10_000],
] as const) {
  test(`${what} is checked every ${everyMs / 1000} s`, async () => {
    const { link, pod, wanted, had, calls, pass } = aRig(crowd)
    pod.report = { ...had(wanted), ...more }
    link.want(wanted)
    await settled()
    await link.verify()
    calls()
    await pass(everyMs - 1)
    assert.deepEqual(calls(), [])
    await pass(1)
    assert.deepEqual(calls(), [LOOK])
    link.close()
  })
}

test('a closed link ends its calls, sends nothing and reports nothing', async () => {
  const { link, pod, calls, pass, changes } = await aProgrammedPod()
  const before = changes()
  link.close()
  assert.equal(pod.signal?.aborted, true)
  pod.report = {}
  link.want({ configuration: aConfiguration(6), keys: undefined })
  await pass(120_000)
  assert.deepEqual(calls(), [])
  assert.equal(changes(), before)
})
