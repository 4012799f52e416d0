/** The conversation that a WebSocket keeps between two messages: bounded, and removed with the connection. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResponsesDialogue } from '../../dataplane/apis/openai-responses/socket/dialogue.ts'
import { Bodies } from '../../dataplane/body/bodies.ts'

const items = (length: number) => Buffer.alloc(length, 'x')

test('it counts for its tenant until another one replaces it, or the connection is closed', () => {
  const keeping = new Bodies(1_000_000)
  const dialogue = new ResponsesDialogue(keeping)
  dialogue.keep({ id: 'one', items: items(100) }, 'acme', 1000)
  dialogue.keep({ id: 'two', items: items(200) }, 'acme', 1000)
  assert.equal(dialogue.last?.id, 'two')
  assert.deepEqual([keeping.bytes, keeping.tenants], [200, 1])
  dialogue.close()
  assert.equal(dialogue.last, undefined)
  assert.deepEqual([keeping.bytes, keeping.tenants], [0, 0])
})

test('one larger than a request may be is not kept', () => {
  const keeping = new Bodies(1_000_000)
  const dialogue = new ResponsesDialogue(keeping)
  dialogue.keep({ id: 'one', items: items(100) }, 'acme', 1000)
  dialogue.keep({ id: 'two', items: items(1001) }, 'acme', 1000)
  assert.equal(dialogue.last, undefined)
  assert.equal(keeping.bytes, 0)
})

test('the connections of a tenant together keep at most half of the total bound, and the rest is not kept', () => {
  const keeping = new Bodies(8000)
  const kept = Array.from({ length: 10 }, (_, index) => {
    const dialogue = new ResponsesDialogue(keeping)
    dialogue.keep({ id: String(index), items: items(250) }, 'acme', 250)
    return dialogue.last
  })
  assert.equal(kept.filter((one) => one !== undefined).length, 2)
  const other = new ResponsesDialogue(keeping)
  other.keep({ id: 'other', items: items(250) }, 'globex', 250)
  assert.equal(other.last?.id, 'other')
})
