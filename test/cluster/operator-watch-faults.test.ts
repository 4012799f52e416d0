/** The whole operator behind an API server that falls silent, forgets, and breaks off: it converges, and does not hammer. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { aKey, until } from '../integration/gateway-process.ts'
import { type Fault, type FaultyServer, startFaultyServer } from './faulty-server.ts'
import { milliseconds, type PromiseId, recordFigure } from './figures.ts'
import { statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

const CONVERGED_MS_MAX = 30_000
const LIST_INTERVAL_MS = 5000
/** Longer than a watch, so that each of them meets the fault. */
const FAULT_MS = 30_000

let rig: OperatorRig
let server: FaultyServer

const { key, record } = aKey({ id: 'first' })
let edits = 0

function nextEdit() {
  edits++
  return aGateway({ gw: { api_keys: [record], aliases: { [`alias-${edits}`]: 'chat' } } })
}

before(async () => {
  rig = await startOperatorRig({
    async kubeconfigOf(cluster) {
      server = await startFaultyServer(cluster)
      return server.kubeconfig
    },
  })
  await rig.apply(nextEdit())
  await untilCondition(rig.cluster.kubectl, 'production', ['Ready', 'True'])
})

after(async () => {
  await rig?.stop()
  await server?.stop()
})

/** Milliseconds from the end of the fault to a status that says that the last edit is enforced. */
async function timeToConverge(fault: Fault): Promise<number> {
  const faultsBefore = server.faults()
  server.fault = fault
  const ends = performance.now() + FAULT_MS
  while (performance.now() < ends) {
    await rig.apply(nextEdit())
    assert.deepEqual(await rig.answersTo(key), [200, 200], 'pods serve')
    await delay(2000)
  }
  assert.ok(server.faults() > faultsBefore, 'there were faults')
  server.fault = undefined
  await rig.apply(nextEdit())
  const healed = performance.now()
  await untilCondition(rig.cluster.kubectl, 'production', ['Programmed', 'True'])
  return performance.now() - healed
}

/** The shortest time between two lists of one kind. */
function shortestGap(): number {
  const gaps = [...server.lists.values()].flatMap((times) =>
    times.slice(1).map((time, index) => time - (times[index] ?? 0)),
  )
  return Math.min(...gaps)
}

const CASES: readonly (readonly [Fault, PromiseId, string])[] = [
  ['silent', 'half_open', 'watches that are half-open are given up'],
  ['expired', 'expired', 'a storm of expired versions passes'],
  ['broken', 'broken', 'cut answers, 429, 500 and lost replies are got over'],
]

for (const [fault, id, what] of CASES) {
  test(`${what}: it converges, the pods serve, and no kind is listed twice in 5 s`, async (t) => {
    const convergedMs = await timeToConverge(fault)
    const gapMs = shortestGap()
    const lists = Number.isFinite(gapMs) ? `lists ${milliseconds(gapMs)} apart` : 'no second list'
    const measured = `${milliseconds(convergedMs)}; ${lists}`
    t.diagnostic(measured)
    recordFigure(id, measured, `${FAULT_MS / 1000} s of it, 2 pods`)
    assert.ok(convergedMs < CONVERGED_MS_MAX, measured)
    // What is asked 5 s apart may arrive a little closer on a busy machine.
    assert.ok(gapMs > LIST_INTERVAL_MS * 0.9, measured)
    const { pods, activeHash, activeSequence } = await statusOf(rig.cluster.kubectl, 'production')
    for (const pod of pods) {
      assert.deepEqual([pod.hash, pod.sequence], [activeHash, activeSequence])
    }
    assert.equal(rig.operator.child.exitCode, null, rig.operator.output().slice(-2000))
    await until('both pods answer', async () => (await rig.answersTo(key)).length === 2)
  })
}
