/** Bad edits of a running gateway: apply refuses each, or the operator reports it; the pods never receive it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import {
  LEFT_TO_THE_OPERATOR,
  type Mistake,
  REFUSED_AT_APPLY,
  withMistake,
} from '../helpers/kubernetes/broken-resources.ts'
import { refusalOf } from '../helpers/kubernetes/kubectl.ts'
import { until } from '../helpers/until.ts'
import { allowed, milliseconds, quantile, recordFigure } from './figures.ts'
import { conditionIn, statusOf, untilCondition } from './operator-process.ts'
import { aGateway, aGatewayKey, type OperatorRig, startOperatorRig } from './operator-rig.ts'

const SAID_MS_MAX = allowed(2000)

let rig: OperatorRig
let hash: string | undefined
let podNames: readonly string[]
const times: number[] = []

/** The key is a separate resource, because the document's keys apply even in a bad edit. */
const { key, record } = aKey({ id: 'first' })
const valid = aGateway()

before(async () => {
  rig = await startOperatorRig()
  await rig.apply(valid, aGatewayKey('client', { hash: record.hash }))
  const { activeHash, pods } = await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  hash = activeHash
  podNames = pods.map(({ name }) => name).sort()
  const isTaken = async () => (await rig.answersTo(key)).every((status) => status === 200)
  await until('the pods accept the key', isTaken, 60)
})

after(() => rig?.stop())

/** The running gateway's document with one mistake. */
function bad(mistake: Omit<Mistake, 'name' | 'says'>) {
  const { metadata, spec } = valid
  const document = withMistake('production', mistake)
  return { ...document, metadata, ...(mistake.at.startsWith('spec') ? {} : { spec }) }
}

async function isAsItWas(): Promise<void> {
  const { pods, activeHash } = await statusOf(rig.cluster, 'production')
  assert.equal(activeHash, hash)
  assert.deepEqual(pods.map(({ name }) => name).sort(), podNames)
  for (const pod of pods) assert.equal(pod.hash, hash, pod.name)
  assert.deepEqual(await rig.answersTo(key), [200, 200])
}

test(`apply refuses ${REFUSED_AT_APPLY.length} mistakes with the field, and the pods stay unchanged`, async () => {
  for (const mistake of REFUSED_AT_APPLY) {
    // Another test checks the wording; a server-side apply adds text.
    assert.match(await refusalOf(rig.apply(bad(mistake))), /\b(gw|spec)\b/, mistake.name)
  }
  await isAsItWas()
})

for (const mistake of LEFT_TO_THE_OPERATOR) {
  test(`not Accepted, with path and fix, and no pod receives it: ${mistake.name}`, async () => {
    await rig.apply(bad(mistake))
    const started = performance.now()
    const status = await untilCondition(rig.cluster, 'production', ['Accepted', 'False', 'Invalid'])
    times.push(performance.now() - started)
    const [problem] = status.problems.filter(({ severity }) => severity === 'error')
    assert.match(problem?.path ?? '', /^(gw|spec)\./)
    assert.ok((problem?.fix ?? '').length > 5, JSON.stringify(problem))
    assert.ok(conditionIn(status, 'Accepted')?.message.includes(problem?.path ?? '?'))
    await isAsItWas()
  })
}

test('the operator reported each within two seconds, and applies a valid edit', async (t) => {
  await rig.apply(valid)
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  const [half, most] = [quantile(times, 0.5), quantile(times, 0.95)]
  const count = REFUSED_AT_APPLY.length + LEFT_TO_THE_OPERATOR.length
  const said = `${count} of ${count}; said after ${milliseconds(half)}, p95 ${milliseconds(most)}`
  t.diagnostic(said)
  recordFigure('mistakes', said, '2 pods')
  assert.ok(half < SAID_MS_MAX, said)
})
