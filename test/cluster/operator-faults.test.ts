/** The operator, the API server or both go away: pods keep serving, and all converges when they are back. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aKey, until } from '../integration/gateway-process.ts'
import { conditionIn, startOperatorProcess, statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig

const { key, record } = aKey({ id: 'first' })
let edits = 0

/** A valid gateway that differs from every one before. */
function nextEdit() {
  edits++
  return aGateway({ gw: { api_keys: [record], aliases: { [`alias-${edits}`]: 'chat' } } })
}

before(async () => {
  rig = await startOperatorRig()
  await rig.apply(nextEdit())
  await untilCondition(rig.cluster.kubectl, 'production', ['Ready', 'True'], 90)
})

after(() => rig?.stop())

test('an operator that is killed in the middle of a push is replaced by one that finishes it', async (t) => {
  const applied = rig.apply(nextEdit())
  await rig.operator.stop('SIGKILL')
  await applied
  assert.deepEqual(await rig.answersTo(key), [200, 200])
  const started = performance.now()
  rig.operator = await startOperatorProcess(rig.cluster)
  await untilCondition(rig.cluster.kubectl, 'production', ['Ready', 'True'], 60)
  t.diagnostic(`converged ${Math.round(performance.now() - started)} ms after the start`)
  const { pods, activeHash } = await statusOf(rig.cluster.kubectl, 'production')
  for (const pod of pods) assert.equal(pod.hash, activeHash)
})

test('of two operators one writes, and the other takes over', async (t) => {
  const second = await startOperatorProcess(rig.cluster)
  const sequence = (await statusOf(rig.cluster.kubectl, 'production')).activeSequence ?? 0
  for (let count = 0; count < 5; count++) {
    await rig.apply(nextEdit())
    await untilCondition(rig.cluster.kubectl, 'production', ['Programmed', 'True'])
  }
  const after = (await statusOf(rig.cluster.kubectl, 'production')).activeSequence
  assert.equal(after, sequence + 5)
  assert.ok(!second.output().includes('This process leads.'))
  const started = performance.now()
  await rig.operator.stop('SIGTERM')
  await rig.apply(nextEdit())
  await untilCondition(rig.cluster.kubectl, 'production', ['Programmed', 'True'], 60)
  t.diagnostic(`taken over after ${Math.round(performance.now() - started)} ms`)
  rig.operator = second
})

test('an operator that is stopped for a while does not write when it wakes up as somebody else leads', async () => {
  const sleeper = rig.operator
  const second = await startOperatorProcess(rig.cluster)
  sleeper.child.kill('SIGSTOP')
  await until('the other one leads', () => second.output().includes('This process leads.'), 60)
  await rig.apply(nextEdit())
  const { activeSequence } = await untilCondition(rig.cluster.kubectl, 'production', [
    'Programmed',
    'True',
  ])
  sleeper.child.kill('SIGCONT')
  await until('it gives up', () => sleeper.child.exitCode !== null, 30)
  assert.equal(sleeper.child.exitCode, 1)
  assert.equal((await statusOf(rig.cluster.kubectl, 'production')).activeSequence, activeSequence)
  rig.operator = second
})

test('with the API server down the pods serve, and an edit counts when it is back', async (t) => {
  await rig.cluster.apiServer().stop('SIGKILL')
  await until('the watches notice', () => /"event":"watch"/.test(rig.operator.output()), 30)
  assert.deepEqual(await rig.answersTo(key), [200, 200])
  await rig.cluster.restartApiServer()
  const started = performance.now()
  await rig.apply(nextEdit())
  await untilCondition(rig.cluster.kubectl, 'production', ['Programmed', 'True'], 60)
  t.diagnostic(
    `converged ${Math.round(performance.now() - started)} ms after the API server was back`,
  )
  assert.deepEqual(await rig.answersTo(key), [200, 200])
})

test('documents of its own that somebody changed or deleted are written again, above every sequence', async () => {
  const { kubectl } = rig.cluster
  const before = (await statusOf(kubectl, 'production')).activeSequence ?? 0
  const data = JSON.stringify({ data: { 'config.json': '{"document":"x"}' } })
  await kubectl(['patch', 'cm', 'production-config', '-n', 'ai', '--type=merge', '-p', data])
  const isAbove = async () => ((await statusOf(kubectl, 'production')).activeSequence ?? 0) > before
  await until('it is signed again', isAbove, 30)
  await kubectl(['delete', 'cm', 'production-config', '-n', 'ai'])
  await kubectl(['wait', '--for=create', 'cm/production-config', '-n', 'ai', '--timeout=30s'])
  await until('it is above what pods have seen', isAbove, 30)
  const status = await untilCondition(kubectl, 'production', ['Ready', 'True'])
  for (const { sequence } of status.pods) assert.equal(sequence, status.activeSequence)
  assert.equal(conditionIn(status, 'Degraded')?.status, 'False')
})

test('pods are given public keys to trust, and no private one', async () => {
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
