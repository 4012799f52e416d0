/** A conversation that ends with words of the assistant, for a Claude model that continues no answer. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'

const SAYS =
  'This model does not support assistant message prefill. The conversation must end with a user message.'
const [claude, spare] = await Promise.all([startUpstream(), startUpstream(whole('from the spare'))])
claude.reply = (outgoing) => {
  outgoing.writeHead(400, { 'content-type': 'application/json' })
  const error = { type: 'invalid_request_error', message: SAYS }
  outgoing.end(JSON.stringify({ type: 'error', error, request_id: 'req_1' }))
}
const at = { provider: 'anthropic', endpoint: claude.url, model: 'claude-opus-4-8' }
const route = { strategy: 'primary_with_fallback', primary: 'claude', fallback: ['spare'] }
const front = await startFront({
  upstreams: [
    { name: 'claude', ...at, api_key: '${env:UPSTREAM_KEY}' },
    { name: 'spare', endpoint: spare.url },
  ],
  routes: [
    { name: 'refuse', ...route },
    { name: 'drop', ...route, on_unsupported: 'drop' },
  ],
})
after(() => Promise.all([front.process.stop(), claude.close(), spare.close()]))
beforeEach(() => {
  for (const upstream of [claude, spare]) upstream.asked.splice(0)
})

const messages = [
  { role: 'user', content: 'Name a colour.' },
  { role: 'assistant', content: 'The colour is' },
]

for (const model of ['refuse', 'drop'])
  for (const path of ['/v1/chat/completions', '/v1/messages'])
    test(`${path}, on_unsupported: ${model}: the refusal reaches the client, and no fallback is asked`, async () => {
      const answer = await fetch(`${front.process.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages, max_tokens: 50 }),
      })
      const text = await answer.text()
      assert.equal(answer.status, 400, text)
      assert.ok(JSON.parse(text).error.message.includes(SAYS), text)
      assert.deepEqual([claude.asked.length, spare.asked.length], [1, 0])
      const sent = claude.asked[0]?.body.messages as { role: string }[] | undefined
      const roles = sent?.map(({ role }) => role)
      assert.deepEqual(roles, ['user', 'assistant'])
    })

test('refusals of requests leave the upstream healthy', async () => {
  for (let count = 0; count < 12; count++) await front.chat({ model: 'refuse', messages })
  assert.equal(claude.asked.length, 12)
  assert.equal(spare.asked.length, 0)
})
