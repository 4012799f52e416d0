/** The operator, the API server or both stop: pods keep serving, and everything converges after the return. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { aKey } from '../helpers/a-key.ts'
import { until } from '../helpers/until.ts'
import { allowed, milliseconds, recordFigure } from './figures.ts'
import { conditionIn, startOperatorProcess, statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startFakePod, startOperatorRig } from './operator-rig.ts'

const CONVERGED_MS_MAX = allowed(30_000)
/** Longer than the lease, so no operator leads; five minutes in a long run. */
const AWAY_MS = process.env.GW_LONG === '1' ? 300_000 : 20_000

let rig: OperatorRig

const { key, record } = aKey({ id: 'first' })
let edits = 0

/** A valid gateway that differs from every earlier one. */
function nextEdit() {
  edits++
  return aGateway({ gw: { api_keys: [record], aliases: { [`alias-${edits}`]: 'chat' } } })
}

before(async () => {
  rig = await startOperatorRig()
  await rig.apply(nextEdit())
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})

after(() => rig?.stop())

/** Every pod enforces the same document, which the status names. */
async function assertConverged(): Promise<void> {
  const { pods, activeHash, activeSequence } = await statusOf(rig.cluster, 'production')
  assert.equal(pods.length, 2)
  for (const pod of pods) assert.deepEqual([pod.hash, pod.sequence], [activeHash, activeSequence])
  assert.deepEqual(await rig.answersTo(key), [200, 200])
}

test('a new operator completes the push of one that was killed', async (t) => {
  const [first] = rig.kubelet.pods()
  const arrived = Promise.withResolvers<void>()
  // It accepts the document and never answers, so the push is still pending.
  const holding = await startFakePod((request, response) => {
    request.resume()
    if (request.method === 'PUT' && request.url === '/config') arrived.resolve()
    else response.end('{}')
  })
  t.after(() => holding.stop())
  await rig.redirect(first?.name ?? '', holding.address)
  await rig.apply(nextEdit())
  await arrived.promise
  await rig.operator.stop('SIGKILL')
  assert.deepEqual(await rig.answersTo(key), [200, 200])
  await rig.redirect(first?.name ?? '', new URL(first?.pushUrl ?? '').host)
  const started = performance.now()
  rig.operator = await startOperatorProcess(rig.cluster)
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  const convergedMs = performance.now() - started
  t.diagnostic(`converged ${milliseconds(convergedMs)} after the start`)
  recordFigure('killed', `${milliseconds(convergedMs)} after the next one started`, '2 pods')
  assert.ok(convergedMs < CONVERGED_MS_MAX, milliseconds(convergedMs))
  await assertConverged()
})

test('of two operators only one writes, and the other takes over', async (t) => {
  const second = await startOperatorProcess(rig.cluster)
  const sequence = (await statusOf(rig.cluster, 'production')).activeSequence ?? 0
  for (let count = 0; count < 5; count++) {
    await rig.apply(nextEdit())
    await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  }
  const after = (await statusOf(rig.cluster, 'production')).activeSequence ?? 0
  assert.equal(after, sequence + 5)
  assert.ok(!second.output().includes('This process leads.'))
  const started = performance.now()
  await rig.operator.stop('SIGTERM')
  await rig.apply(nextEdit())
  await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  const takenMs = performance.now() - started
  t.diagnostic(`taken over after ${milliseconds(takenMs)}`)
  recordFigure(
    'two',
    `${after - sequence} sequences; taken over in ${milliseconds(takenMs)}`,
    '5 edits',
  )
  assert.ok(takenMs < CONVERGED_MS_MAX, milliseconds(takenMs))
  rig.operator = second
  await assertConverged()
})

test('a suspended operator does not write after it resumes while another one leads', async () => {
  const sleeper = rig.operator
  const second = await startOperatorProcess(rig.cluster)
  sleeper.child.kill('SIGSTOP')
  await until('the other one leads', () => second.output().includes('This process leads.'), 120)
  await rig.apply(nextEdit())
  const { activeSequence } = await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  sleeper.child.kill('SIGCONT')
  await until('it gives up', () => sleeper.child.exitCode !== null, 120)
  assert.equal(sleeper.child.exitCode, 1)
  assert.equal((await statusOf(rig.cluster, 'production')).activeSequence, activeSequence)
  rig.operator = second
})

test(`during an API server outage of ${AWAY_MS / 1000} s the pods serve, and the edit applies afterwards`, async (t) => {
  const leaveOff = rig.keepOperatorRunning()
  await rig.cluster.apiServer().stop('SIGKILL')
  const ends = performance.now() + AWAY_MS
  let answers = 0
  while (performance.now() < ends) {
    assert.deepEqual(await rig.answersTo(key), [200, 200])
    answers += 2
    await delay(200)
  }
  await rig.cluster.restartApiServer()
  const started = performance.now()
  await rig.apply(nextEdit())
  await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  const convergedMs = performance.now() - started
  const said = `${milliseconds(convergedMs)}; ${answers} requests served meanwhile`
  t.diagnostic(said)
  recordFigure('away', said, `${AWAY_MS / 1000} s, 2 pods`)
  assert.ok(convergedMs < CONVERGED_MS_MAX, said)
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  await leaveOff()
  await assertConverged()
})

test('the operator restores changed or deleted documents, with a sequence above all earlier ones', async () => {
  const { kubectl } = rig.cluster
  const before = (await statusOf(rig.cluster, 'production')).activeSequence ?? 0
  const data = JSON.stringify({ data: { 'config.json': '{"document":"x"}' } })
  await kubectl(['patch', 'cm', 'production-config', '-n', 'ai', '--type=merge', '-p', data])
  const isAbove = async () =>
    ((await statusOf(rig.cluster, 'production')).activeSequence ?? 0) > before
  await until('it is signed again', isAbove, 120)
  await kubectl(['delete', 'cm', 'production-config', '-n', 'ai'])
  await kubectl(['wait', '--for=create', 'cm/production-config', '-n', 'ai', '--timeout=120s'])
  await until('it is above the sequence of the pods', isAbove, 120)
  const status = await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  for (const { sequence } of status.pods) assert.equal(sequence, status.activeSequence)
  assert.equal(conditionIn(status, 'Degraded')?.status, 'False')
})

test('the pods get public keys to trust, and no private key', async () => {
  const { kubectl } = rig.cluster
  const names = await kubectl([
    'get',
    'cm',
    'production-trust',
    '-n',
    'ai',
    '-o',
    'jsonpath={.data}',
  ])
  assert.match(names, /^\{"[0-9a-f]{16}\.pem":"-----BEGIN PUBLIC KEY/)
  assert.ok(!names.includes('PRIVATE'))
})
