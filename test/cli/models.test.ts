/** The lists of models of several pods become one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joined, type Model } from '../../cli/status/models.ts'

function aModel(name: string, eligible: readonly boolean[]): Model {
  const upstreams = eligible.map((one, index) => ({ name: `up-${index}`, eligible: one }))
  return { name, kind: 'route', route: name, strategy: 'round_robin', upstreams }
}

test('an upstream that any pod reports as out is shown as out', () => {
  const mixed = [[aModel('chat', [true, false])], [aModel('chat', [false, true])]]
  const [chat] = joined([...mixed, [aModel('chat', [true, true])]])
  assert.deepEqual(chat, aModel('chat', [false, false]))
})

test('a name that only one pod knows yet is listed', () => {
  const names = joined([[aModel('chat', [])], [aModel('chat', []), aModel('new', [])]])
  assert.deepEqual(
    names.map(({ name }) => name),
    ['chat', 'new'],
  )
})
