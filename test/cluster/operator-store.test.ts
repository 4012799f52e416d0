/** A gateway with a Redis store: its status and the tool's output during an outage. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gw } from '../helpers/gw.ts'
import { type RedisServer, startRedis } from '../helpers/redis-server.ts'
import { until } from '../helpers/until.ts'
import { allowed, milliseconds, recordFigure } from './figures.ts'
import { type ForwardingNode, startForwardingNode } from './forwarding-node.ts'
import { conditionIn, startOperatorProcess, statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

const AWAY_MS_MAX = allowed(5_000)

let rig: OperatorRig
let node: ForwardingNode
let redis: RedisServer

before(async () => {
  redis = await startRedis({ port: 'free' })
  rig = await startOperatorRig()
  node = await startForwardingNode(rig)
  await apply(false)
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  await node.adoptPods()
})

after(async () => {
  await node?.stop()
  await rig?.stop()
  await redis?.stop()
})

async function apply(failOpen: boolean): Promise<void> {
  const url = `redis://127.0.0.1:${redis.port}`
  const limits = { backend: 'redis', redis: { url, fail_open: failOpen } }
  await rig.apply(aGateway({ gw: { rate_limits: limits } }))
}

async function shown(): Promise<readonly string[]> {
  const said = await rig.cluster.kubectl(['get', 'gwc/production', '-n', 'ai', '--no-headers'])
  return said.trim().split(/ +/)
}

for (const [how, lose, restore] of [
  ['frozen', () => redis.signal('SIGSTOP'), () => redis.signal('SIGCONT')],
  [
    'killed',
    () => redis.signal('SIGKILL'),
    async () => {
      redis = await redis.restart()
    },
  ],
] as const) {
  test(`while a gateway waits for a Redis that is ${how}, it is not ready, and the tool reports it`, async () => {
    lose()
    const lostAt = performance.now()
    await untilCondition(rig.cluster, 'production', ['Ready', 'False', 'StoreAway'])
    const took = performance.now() - lostAt
    recordFigure('store_away', milliseconds(took), how)
    await untilCondition(rig.cluster, 'production', ['Degraded', 'True', 'StoreAway'])
    assert.deepEqual((await shown()).slice(1, 5), ['False', 'StoreAway', 'True', 'True'])
    const { code, stdout } = await gw('status', '--kubeconfig', rig.cluster.kubeconfig, '-n', 'ai')
    assert.equal(code, 1)
    assert.match(stdout, /^Ready +False +StoreAway/m)
    await restore()
    await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
    assert.ok(took <= AWAY_MS_MAX, milliseconds(took))
  })
}

test('the tool asks the pods, regardless of the status', async () => {
  await rig.operator.stop()
  redis.signal('SIGSTOP')
  const args = ['status', '--kubeconfig', rig.cluster.kubeconfig, '-n', 'ai']
  await until('the tool says it', async () => {
    const { code, stdout } = await gw(...args)
    return code === 1 && /^store: away from pod production-.* answers 503$/m.test(stdout)
  })
  assert.match((await gw(...args)).stdout, /^Ready +True/m)
  redis.signal('SIGCONT')
  await until('it is there again', async () => (await gw(...args)).code === 0)
  rig.operator = await startOperatorProcess({ kubeconfig: rig.cluster.kubeconfig })
})

test('while pods continue without their Redis the gateway is ready', async () => {
  await apply(true)
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  redis.signal('SIGSTOP')
  await untilCondition(rig.cluster, 'production', ['Degraded', 'True', 'StoreAway'])
  const { conditions } = await statusOf(rig.cluster, 'production')
  assert.equal(conditionIn({ conditions }, 'Ready')?.status, 'True')
  redis.signal('SIGCONT')
})
