/**
 * The whole operator with an API server that stops sending, expires versions, and truncates answers: it converges
 * without a flood of requests.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { aKey } from '../helpers/a-key.ts'
import { type Fault, type FaultyServer, startFaultyServer } from './faulty-server.ts'
import { allowed, milliseconds, type PromiseId, recordFigure } from './figures.ts'
import { statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

const CONVERGED_MS_MAX = allowed(30_000)
const LIST_INTERVAL_SECONDS = 5
/** Longer than a watch, so each of them meets the fault. */
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
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})

after(async () => {
  await rig?.stop()
  await server?.stop()
})

/** Milliseconds from the end of the fault to a status that reports the last edit as enforced. */
async function timeToConverge(fault: Fault): Promise<number> {
  // An operator that cannot renew its lease ends, and restarts.
  const leaveOff = rig.keepOperatorRunning()
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
  await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  const convergedMs = performance.now() - healed
  await leaveOff()
  return convergedMs
}

/** The largest number of lists of one kind since then. */
function mostLists(since: number): number {
  const counts = [...server.lists.values()].map((times) => times.filter((at) => at > since).length)
  return Math.max(...counts)
}

const CASES: readonly (readonly [Fault, PromiseId, string])[] = [
  ['silent', 'half_open', 'the operator abandons half-open watches'],
  ['expired', 'expired', 'the operator survives many expired versions at once'],
  ['broken', 'broken', 'the operator recovers from truncated answers, 429, 500 and lost replies'],
]

for (const [fault, id, what] of CASES) {
  test(`${what}: it converges, the pods serve, and it lists no kind more than once in 5 s`, async (t) => {
    const started = performance.now()
    const convergedMs = await timeToConverge(fault)
    const [lists, seconds] = [mostLists(started), (performance.now() - started) / 1000]
    const asked = `at most ${lists} lists of a kind in ${Math.round(seconds)} s`
    const measured = `${milliseconds(convergedMs)}; ${asked}`
    t.diagnostic(measured)
    recordFigure(id, measured, `${FAULT_MS / 1000} s of it, 2 pods`)
    assert.ok(convergedMs < CONVERGED_MS_MAX, measured)
    // One at the beginning, and one for a late answer to an earlier request.
    assert.ok(lists <= seconds / LIST_INTERVAL_SECONDS + 2, measured)
    const { pods, activeHash, activeSequence } = await statusOf(rig.cluster, 'production')
    for (const pod of pods) {
      assert.deepEqual([pod.hash, pod.sequence], [activeHash, activeSequence])
    }
    assert.deepEqual(await rig.answersTo(key), [200, 200])
  })
}
