/** Mistakes that the API server refuses at apply with the field, and those that only the operator finds. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  aGatewayConfig,
  LEFT_TO_THE_OPERATOR,
  REFUSED_AT_APPLY,
  REFUSED_IN_A_CLUSTER,
  withMistake,
} from '../helpers/kubernetes/broken-resources.ts'
import { refusalOf } from '../helpers/kubernetes/kubectl.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

let cluster: ControlPlane

before(async () => {
  cluster = await startControlPlane()
  await cluster.installDefinitions()
  await apply(aGatewayConfig('good'))
})

after(async () => await cluster?.stop())

async function apply(document: unknown, ...flags: readonly string[]): Promise<string> {
  return await cluster.kubectl(['apply', '-f', '-', ...flags], { stdin: JSON.stringify(document) })
}

for (const mistake of [...REFUSED_AT_APPLY, ...REFUSED_IN_A_CLUSTER]) {
  test(`apply refuses and names the field: ${mistake.name}`, async () => {
    const said = await refusalOf(apply(withMistake('good', mistake)))
    assert.match(said, mistake.says)
  })
}

test('the resource is unchanged after all these edits', async () => {
  const stored = JSON.parse(await cluster.kubectl(['get', 'gwc', 'good', '-o', 'json']))
  assert.deepEqual(stored.gw, aGatewayConfig('good').gw)
  assert.equal(stored.metadata.generation, 1)
})

for (const mistake of LEFT_TO_THE_OPERATOR) {
  test(`apply accepts, and the operator reports: ${mistake.name}`, async () => {
    const said = await apply(withMistake('good', mistake), '--dry-run=server')
    assert.match(said, /gatewayconfig.inference.gw\/good/)
  })
}
