/** A pod of another owner with a gateway's label: the operator sends it nothing, and ignores its reports. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GATEWAY_LABEL } from '../../operator/kube/names.ts'
import { statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startFakePod, startOperatorRig } from './operator-rig.ts'

const ABSURD = Number.MAX_SAFE_INTEGER
const SAID = {
  ready: true,
  configuration: { hash: 'x', documentHash: 'x', sequence: ABSURD, newestSequence: ABSURD },
  keys: { hash: 'x', setHash: 'x', sequence: ABSURD, count: 0 },
}

let rig: OperatorRig
let stranger: Awaited<ReturnType<typeof startFakePod>>
const asked: string[] = []

before(async () => {
  rig = await startOperatorRig({ kubelet: { missingImages: 'missing:' } })
  stranger = await startFakePod((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    request.resume().on('end', () => response.end(JSON.stringify(SAID)))
  })
  await rig.apply(aGateway())
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})

after(async () => {
  stranger?.stop()
  await rig?.stop()
})

async function addStranger(): Promise<void> {
  const { kubectl } = rig.cluster
  const labels = { [GATEWAY_LABEL]: 'production' }
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'stranger', namespace: 'ai', labels },
    spec: { containers: [{ name: 'gateway', image: 'missing:1' }] },
  }
  await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(pod) })
  await rig.redirect('stranger', stranger.address)
  const conditions = [{ type: 'Ready', status: 'True' }]
  const podIPs = [{ ip: '10.9.9.9' }]
  const status = { phase: 'Running', podIP: '10.9.9.9', podIPs, conditions }
  const args = ['patch', 'pod', 'stranger', '-n', 'ai', '--subresource=status', '-p']
  await kubectl([...args, JSON.stringify({ status })])
}

test("edits still reach the gateway's pods, and never the other pod", async () => {
  await addStranger()
  for (const alias of ['first', 'second', 'third']) {
    await rig.apply(aGateway({ gw: { aliases: { [alias]: 'chat' } } }))
    await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  }
  const { activeSequence = 0, pods = [] } = await statusOf(rig.cluster, 'production')
  assert.ok(activeSequence < 100, String(activeSequence))
  assert.equal(pods.length, 2)
  assert.ok(pods.every(({ name }) => name !== 'stranger'))
  assert.deepEqual(asked, [])
})
