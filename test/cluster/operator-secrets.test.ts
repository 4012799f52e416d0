/** Secrets: mounted by the pods, never read by the operator; what is missing costs one upstream and heals by itself. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aKey, until } from '../integration/gateway-process.ts'
import { conditionIn, statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig

const { record } = aKey({ id: 'first' })
const local = { name: 'local', provider: 'vllm', endpoint: 'http://10.1.2.3:8000', model: 'm' }
const hosted = { name: 'hosted', provider: 'openai', model: 'gpt', api_key: '${secret:openai/key}' }
const SECRET = 'sk-canary-4711'

function withUpstreams(...upstreams: readonly { readonly name: string }[]) {
  const names = upstreams.map(({ name }) => name)
  const routes = [{ name: 'chat', strategy: 'round_robin', upstreams: names }]
  return aGateway({ gw: { api_keys: [record], upstreams, routes }, spec: { replicas: 1 } })
}

before(async () => {
  rig = await startOperatorRig()
  await rig.apply(withUpstreams(local))
  await untilCondition(rig.cluster.kubectl, 'production', ['Ready', 'True'], 90)
})

after(() => rig?.stop())

async function podNames(): Promise<string[]> {
  return (await statusOf(rig.cluster.kubectl, 'production')).pods.map(({ name }) => name)
}

test('a new reference rolls the pods once, and a missing Secret costs only its upstream', async () => {
  const before = await podNames()
  await rig.apply(withUpstreams(local, hosted))
  const { kubectl } = rig.cluster
  const status = await untilCondition(kubectl, 'production', ['ResolvedRefs', 'False'], 90)
  assert.match(
    conditionIn(status, 'ResolvedRefs')?.message ?? '',
    /upstream hosted: \$\{secret:openai\/key\}/,
  )
  await until(
    'the pods were replaced, and the new one is programmed',
    async () => {
      const { pods, conditions } = await statusOf(kubectl, 'production')
      const isProgrammed = conditionIn({ conditions }, 'Programmed')?.status === 'True'
      return isProgrammed && pods.length === 1 && !before.includes(pods[0]?.name ?? '')
    },
    90,
  )
  assert.equal(conditionIn(await statusOf(kubectl, 'production'), 'Accepted')?.status, 'True')
})

test('it heals when the Secret comes, without an edit and without a restart', async () => {
  const before = await podNames()
  const { kubectl } = rig.cluster
  await kubectl([
    'create',
    'secret',
    'generic',
    'openai',
    '-n',
    'ai',
    `--from-literal=key=${SECRET}`,
  ])
  await untilCondition(kubectl, 'production', ['ResolvedRefs', 'True'], 60)
  await untilCondition(kubectl, 'production', ['Ready', 'True'], 60)
  assert.deepEqual(await podNames(), before)
})

test('a reference that is gone rolls nothing', async () => {
  const before = await podNames()
  await rig.apply(withUpstreams(local))
  await untilCondition(rig.cluster.kubectl, 'production', ['Ready', 'True'])
  assert.deepEqual(await podNames(), before)
})

test('the value of a Secret is nowhere but in the Secret', async () => {
  const everything = await rig.cluster.kubectl([
    'get',
    'gwc,cm,deploy,pod,events',
    '-n',
    'ai',
    '-o',
    'json',
  ])
  assert.ok(!everything.includes(SECRET))
  assert.ok(!everything.includes(Buffer.from(SECRET).toString('base64')))
  assert.ok(!rig.operator.output().includes(SECRET))
})
