/**
 * Claude Code's habits: a probe at its start, queries, metadata, and model names that it chooses
 * itself.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startFront } from './hostile/front.ts'
import { sendTo } from './hostile/send.ts'

const front = await startFront({
  sections: {
    aliases: { 'claude-*': 'chat', 'claude-haiku-*': 'small' },
    routes: [
      { name: 'chat', strategy: 'single', primary: 'fake' },
      { name: 'small', strategy: 'single', primary: 'fake' },
    ],
  },
})
after(() => front.stop())

const HEADERS = {
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14',
}
const body = (model: string) =>
  JSON.stringify({
    model,
    max_tokens: 32_000,
    metadata: { user_id: `user_${'a'.repeat(64)}_account__session_${'b'.repeat(36)}` },
    system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  })

test('the probe at its start gets an answer without a key or a body', async () => {
  for (const path of ['/', '/?a=b']) {
    const headers = { authorization: undefined }
    const { status, text } = await sendTo(front, { path, method: 'HEAD', headers })
    assert.deepEqual([status, text], [200, ''])
  }
})

for (const [model, route] of [
  ['claude-opus-4-8', 'chat'],
  ['claude-sonnet-4-5-20250929[1m]', 'chat'],
  ['claude-haiku-4-5-20251001', 'small'],
] as const) {
  test(`${model} resolves to a route by an alias pattern`, async () => {
    const path = '/v1/messages?beta=true'
    const answer = await sendTo(front, { path, headers: HEADERS, body: body(model) })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers['x-gw-route'], route)
    assert.equal(JSON.parse(answer.text).type, 'message')
    const counted = await sendTo(front, {
      path: '/v1/messages/count_tokens?beta=true',
      headers: HEADERS,
      body: body(model),
    })
    assert.equal(counted.status, 200, counted.text)
    assert.ok(JSON.parse(counted.text).input_tokens > 0)
  })
}
