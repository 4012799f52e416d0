/** Commands that ask every pod: one that is silent takes no answer of the others away. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AskedGateway, askEach, silence } from '../../cli/asking/asked-gateways.ts'

const answering = (name: string): AskedGateway => ({
  name,
  ask: async () => ({ status: 200, body: name }),
  clientUrl: async () => 'http://127.0.0.1:1',
})
const hung: AskedGateway = {
  ...answering('hung'),
  ask: () => Promise.reject(new Error('Pod hung does not answer (nothing for 10 s).')),
}
const bodyOf = async ({ ask }: AskedGateway) => (await ask('/status')).body

test('the output has the answers of the others, and the reason of the missing one', async () => {
  assert.deepEqual(await askEach([hung, answering('a'), answering('b')], bodyOf), {
    answers: ['a', 'b'],
    silent: ['Pod hung does not answer (nothing for 10 s).'],
  })
  await assert.rejects(askEach([hung, hung], bodyOf), /Pod hung does not answer/)
})

test('a pod that hangs, one that is gone and a missing permission are three things', () => {
  const at = { pod: 'p-1', namespace: 'ai' }
  const said = 'No gateway answers at http://127.0.0.1:1 (nothing for 10 s). Give its admin API.'
  assert.match(
    silence(at, undefined, said),
    /^Pod p-1 does not answer \(nothing for 10 s\)\. If .*kubectl logs p-1 -n ai/,
  )
  assert.match(silence(at, 'Unexpected server response: 404', said), /response: 404\)/)
  assert.match(
    silence(at, 'Unexpected server response: 403', said),
    /permission to create pods\/portforward/,
  )
})
