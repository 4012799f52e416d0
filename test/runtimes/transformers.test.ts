/** A real `transformers serve` behind the gateway: streams without [DONE], usage unasked, errors without an envelope. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { errorOf, startFront } from '../helpers/fake-upstream.ts'
import { clientOf, testConversation } from './conversation.ts'
import { startTransformers } from './transformers.ts'

const server = await startTransformers()
const at = { provider: 'openai', endpoint: server.url }
const front = await startFront({
  upstreams: [
    { name: 'served', ...at, model: '/mnt/tiny' },
    { name: 'unknown', ...at, model: 'nope' },
  ],
  routes: ['served', 'unknown'].map((name) => ({ name, strategy: 'single', primary: name })),
})
after(async () => {
  await front.process.stop()
  await server.stop()
})

// It ignores the newer name.
testConversation(clientOf(front), 'served', 'max_tokens')

test('a stream without [DONE] gets one', async () => {
  const heard = await front.stream({ model: 'served' })
  assert.deepEqual([heard.status, heard.cut], [200, false])
  assert.match(heard.text, /"finish_reason":"stop"[\s\S]*data: \[DONE\]\n\n$/)
})

test('its refusal of another model has four members', async () => {
  const heard = await front.chat({ model: 'unknown' })
  const { message, ...rest } = errorOf(heard)
  assert.equal(heard.status, 400, heard.text)
  assert.match(message, /pinned/)
  assert.deepEqual(Object.keys(rest).sort(), ['code', 'param', 'type'])
})
