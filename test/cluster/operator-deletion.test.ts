/** A deleted gateway with another program's finalizer: its pods still serve, and its keys end. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { until } from '../helpers/until.ts'
import { untilCondition } from './operator-process.ts'
import { aGateway, aGatewayKey, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig

before(async () => {
  rig = await startOperatorRig()
})
after(() => rig?.stop())

async function hold(finalizers: readonly string[]): Promise<void> {
  const change = JSON.stringify({ metadata: { finalizers } })
  await rig.cluster.kubectl(['patch', 'gwc/production', '-n', 'ai', '--type=merge', '-p', change])
}

async function untilAnswers(key: string, status: number): Promise<void> {
  const agrees = async () => (await rig.answersTo(key)).every((one) => one === status)
  await until(`every pod answers ${status}`, agrees, 120)
}

async function objects(kind: string): Promise<string> {
  return await rig.cluster.kubectl(['get', kind, '-n', 'ai', '-o', 'name'])
}

test('while a finalizer delays a deletion, the operator revokes the keys and creates no objects again', async () => {
  const { kubectl } = rig.cluster
  const [first, second] = [aKey({ id: 'first' }), aKey({ id: 'second' })]
  await rig.apply(
    aGateway(),
    aGatewayKey('first', { hash: first.record.hash }),
    aGatewayKey('second', { hash: second.record.hash }),
  )
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  await untilAnswers(first.key, 200)
  await untilAnswers(second.key, 200)
  await hold(['example.com/held'])
  await kubectl(['delete', 'gwc/production', '-n', 'ai', '--wait=false'])
  await kubectl(['delete', 'service/production', '-n', 'ai'])
  await kubectl(['delete', 'gwk/first', '-n', 'ai'])
  await untilAnswers(first.key, 401)
  await rig.apply(
    aGatewayKey('second', { hash: second.record.hash, revoked: { at: '2026-01-01T00:00:00Z' } }),
  )
  await untilAnswers(second.key, 401)
  assert.doesNotMatch(await objects('services'), /service\/production$/m)
})

test('without the finalizer the gateway and its objects disappear', async () => {
  await hold([])
  await until('all is gone', async () => !(await objects('configmaps')).includes('production'), 120)
  assert.equal(await objects('gwc'), '')
})

test('a namespace takes its gateway with it, and the operator logs no error', async () => {
  const { kubectl } = rig.cluster
  const gateway = aGateway()
  await kubectl(['create', 'namespace', 'going'])
  await rig.apply({ ...gateway, metadata: { ...gateway.metadata, namespace: 'going' } })
  const deployment = ['get', 'deployments', '-n', 'going', '-o', 'name']
  await until('it has pods', async () => (await kubectl(deployment)) !== '', 60)
  await kubectl(['delete', 'namespace', 'going', '--wait=false'])
  const left = ['get', 'gwc,deployments,configmaps', '-n', 'going', '-o', 'name']
  await until('all is gone', async () => (await kubectl(left)) === '', 120)
  const lines = rig.operator.output().split('\n')
  const errors = lines.filter((line) => line.includes('"event":"reconcile"'))
  assert.deepEqual(errors, [])
})
