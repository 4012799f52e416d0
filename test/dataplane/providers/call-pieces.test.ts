/** An upstream that sends thousands of calls or pieces causes a bounded search of the request and few parses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeptText } from '../../../dataplane/base/kept-text.ts'
import { CallIds } from '../../../dataplane/providers/answers/call-ids.ts'
import { CallPieces } from '../../../dataplane/providers/answers/call-pieces.ts'

const MEBIBYTE = 1_048_576

test('a request of megabytes is not searched for each of thousands of ids, which stay different', (t) => {
  const bytes = Buffer.alloc(8 * MEBIBYTE, 'x')
  const searches = t.mock.method(bytes, 'includes')
  const ids = new CallIds({ bytes, wire: 'openai-chat' })
  const made = Array.from({ length: 1_000 }, (_, call) => ids.of(`call_${call}`, `0/${call}`))
  assert.equal(new Set(made).size, 1_000)
  assert.equal(made[0], 'call_0')
  assert.ok(searches.mock.callCount() <= 10, `${searches.mock.callCount()} searches`)
})

test('pieces that repeat the name are parsed a few times, and stay one call', (t) => {
  const ids = new CallIds({ bytes: Buffer.from('{}'), wire: 'openai-chat' })
  const pieces = new CallPieces(ids, '0', new KeptText())
  const parses = t.mock.method(JSON, 'parse')
  const begun = { index: 0, id: 'a', name: 'run', arguments: '{"text":"' }
  const shown = [...pieces.add(begun)]
  for (let piece = 0; piece < 200; piece++)
    shown.push(...pieces.add({ ...begun, id: undefined, arguments: '}' }))
  shown.push(...pieces.add({ ...begun, name: undefined, arguments: '"}' }))
  assert.ok(parses.mock.callCount() <= 16, `${parses.mock.callCount()} parses`)
  const text = shown.map((call) => call.arguments).join('')
  assert.deepEqual([pieces.size, JSON.parse(text).text], [1, '}'.repeat(200)])
})

test('pieces that repeat the name behind arguments of megabytes are not parsed', (t) => {
  const ids = new CallIds({ bytes: Buffer.from('{}'), wire: 'openai-chat' })
  const pieces = new CallPieces(ids, '0', new KeptText())
  const parses = t.mock.method(JSON, 'parse')
  const begun = { index: 0, id: 'a', name: 'run', arguments: '{"text":"' }
  pieces.add(begun)
  for (let piece = 0; piece < 3; piece++)
    pieces.add({ ...begun, id: undefined, arguments: `${'x'.repeat(MEBIBYTE)}}` })
  assert.deepEqual([pieces.size, parses.mock.callCount()], [1, 0])
})
