/** Pods mount Secrets, and the operator never reads them; a missing one disables one upstream until it appears. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { type FakeUpstream, startUpstream } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import { recordFigure } from './figures.ts'
import { conditionIn, statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig
let upstream: FakeUpstream

const { key, record } = aKey({ id: 'first' })
const local = { name: 'local', provider: 'vllm', endpoint: 'http://10.1.2.3:8000', model: 'm' }
const hosted = { name: 'hosted', provider: 'openai', model: 'gpt', api_key: '${secret:openai/key}' }
const SECRET = 'sk-canary-4711'
const ROTATED = 'sk-canary-4712'

/** The pod's current credential for the hosted model. */
async function credentialInUse(): Promise<string | undefined> {
  const [pod] = rig.kubelet.pods()
  const answer = await fetch(`${pod?.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await answer.arrayBuffer()
  return upstream.asked.at(-1)?.headers.authorization
}

function withUpstreams(
  ...upstreams: readonly { readonly name: string; readonly endpoint?: string }[]
) {
  const names = upstreams.map(({ name }) => name)
  const routes = [{ name: 'chat', strategy: 'round_robin', upstreams: names }]
  return aGateway({ gw: { api_keys: [record], upstreams, routes }, spec: { replicas: 1 } })
}

before(async () => {
  upstream = await startUpstream()
  rig = await startOperatorRig()
  await rig.apply(withUpstreams(local))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})

after(async () => {
  await rig?.stop()
  await upstream?.close()
})

async function podNames(): Promise<string[]> {
  return (await statusOf(rig.cluster, 'production')).pods.map(({ name }) => name)
}

test('a new reference rolls the pods once, and a missing Secret disables only its upstream', async () => {
  const before = await podNames()
  await rig.apply(withUpstreams(local, hosted))
  const status = await untilCondition(rig.cluster, 'production', ['ResolvedRefs', 'False'])
  assert.match(
    conditionIn(status, 'ResolvedRefs')?.message ?? '',
    /upstream hosted: \$\{secret:openai\/key\}/,
  )
  await until(
    'new pods replaced the old ones, and the new one is Programmed',
    async () => {
      const { pods, conditions } = await statusOf(rig.cluster, 'production')
      const isProgrammed = conditionIn({ conditions }, 'Programmed')?.status === 'True'
      return isProgrammed && pods.length === 1 && !before.includes(pods[0]?.name ?? '')
    },
    180,
  )
  assert.equal(conditionIn(await statusOf(rig.cluster, 'production'), 'Accepted')?.status, 'True')
})

test('the upstream recovers when the Secret appears, without an edit or a restart', async () => {
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
  await untilCondition(rig.cluster, 'production', ['ResolvedRefs', 'True'])
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  assert.deepEqual(await podNames(), before)
})

test('running pods use a rotated Secret, without an edit or a restart', async () => {
  const { kubectl } = rig.cluster
  await rig.apply(withUpstreams({ ...hosted, endpoint: upstream.url }))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  const before = await podNames()
  const { activeSequence } = await statusOf(rig.cluster, 'production')
  assert.equal(await credentialInUse(), `Bearer ${SECRET}`)
  const data = JSON.stringify({ stringData: { key: ROTATED } })
  await kubectl(['patch', 'secret', 'openai', '-n', 'ai', '--type=merge', '-p', data])
  const isNew = async () => (await credentialInUse()) === `Bearer ${ROTATED}`
  await until('the call to the upstream has the new credential', isNew, 120)
  assert.deepEqual(await podNames(), before)
  assert.equal((await statusOf(rig.cluster, 'production')).activeSequence, activeSequence)
  recordFigure('secrets', 'as promised: missing, created, rotated', '1 pod')
})

test('removing a reference rolls nothing', async () => {
  const before = await podNames()
  await rig.apply(withUpstreams(local))
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  assert.deepEqual(await podNames(), before)
})

test('only the Secret contains its value', async () => {
  const everything = await rig.cluster.kubectl([
    'get',
    'gwc,cm,deploy,pod,events',
    '-n',
    'ai',
    '-o',
    'json',
  ])
  for (const value of [SECRET, ROTATED]) {
    assert.ok(!everything.includes(value))
    assert.ok(!everything.includes(Buffer.from(value).toString('base64')))
    assert.ok(!rig.operator.output().includes(value))
  }
})
