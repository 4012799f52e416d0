/** Events about an operator's decisions, within the bounds of the API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valueBelow } from '../../dataplane/json/values.ts'
import { Events } from '../../operator/kube/events.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway, aGatewayKey } from '../helpers/kubernetes/a-gateway.ts'

async function eventOf(
  object: KubeObject,
  type: string,
  reason: string,
  message: string,
  status: 'True' | 'False' = 'False',
) {
  const made = Promise.withResolvers<KubeObject>()
  const events = new Events({
    api: {
      create: async (_resource, event) => {
        made.resolve(event)
        return event
      },
    },
    instance: 'operator-1',
    wallClock: () => 0x1_0000_0000,
    newId: () => '0123456789ab',
    onError: made.reject,
  })
  const lastTransitionTime = '2026-06-01T00:00:00Z'
  const condition = { type, status, reason, message, lastTransitionTime }
  events.tellOfChanges(object, [], [condition])
  return await made.promise
}

test('a note is at most 1,024 bytes in any letters, and cut between them', async () => {
  for (const letter of ['x', 'ü', '模', '🙂']) {
    const event = await eventOf(aGateway(), 'Accepted', 'Invalid', letter.repeat(1024))
    const note = String(valueBelow(event, 'note'))
    assert.ok(Buffer.byteLength(note) <= 1024, letter)
    assert.ok(Buffer.byteLength(note) > 1020, letter)
    assert.equal(note.replaceAll(letter, ''), '')
  }
})

test('the event of a key with the longest name has a name that the API server accepts', async () => {
  const name = `${'k'.repeat(239)}-${'k'.repeat(13)}`
  const event = await eventOf(aGatewayKey(name), 'Ready', 'RouteNotFound', 'It has no route.')
  assert.match(event.metadata.name, /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/)
  assert.doesNotMatch(event.metadata.name, /-\./)
  assert.equal(valueBelow(event, 'regarding', 'name'), name)
})

for (const reason of ['SecretUnusable', 'NoEndpoints', 'CredentialRejected']) {
  test(`a gateway that becomes degraded by ${reason} is announced as a warning`, async () => {
    const event = await eventOf(aGateway(), 'Degraded', reason, 'It is wrong.', 'True')
    assert.equal(valueBelow(event, 'reason'), reason)
    assert.equal(valueBelow(event, 'type'), 'Warning')
    assert.equal(valueBelow(event, 'note'), 'It is wrong.')
  })
}
