/** The example sidecar of the chart, with a real Presidio behind it, judges what passes through the gateway. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  errorOf,
  startFront,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { startPresidio } from './presidio.ts'

const [upstream, sidecar] = await Promise.all([startUpstream(), startPresidio(['CREDIT_CARD'])])
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up', guardrails: ['pii'] }],
  guardrails: [
    { name: 'pii', endpoint: sidecar.url, stage: 'both', redact: true, timeout_ms: 10_000 },
  ],
})
after(() => Promise.all([front.process.stop(), upstream.close(), sidecar.stop()]))

const ask = (content: string, stream = false) =>
  front.ask({ messages: [{ role: 'user', content }], stream }).over

test('an address in a prompt is masked before an upstream reads it', async () => {
  const heard = await ask('😀 write to anna@example.org please')
  assert.equal(heard.status, 200)
  assert.deepEqual(upstream.asked[0]?.body.messages, [
    { role: 'user', content: '😀 write to <EMAIL_ADDRESS> please' },
  ])
})

test('a number of a card blocks the request', async () => {
  const heard = await ask('pay with 4111 1111 1111 1111')
  assert.equal(heard.status, 400)
  const { code, message } = errorOf(heard)
  assert.equal(code, 'ERR_GW_GUARDRAIL_BLOCKED')
  assert.match(message, /CREDIT_CARD/)
})

test('an address in an answer is masked, also where a stream cuts it', async () => {
  upstream.reply = whole('ask bob@example.org')
  const answer = await ask('hello')
  assert.equal(JSON.parse(answer.text).choices[0].message.content, 'ask <EMAIL_ADDRESS>')
  const words = 'word '.repeat(200)
  upstream.reply = streaming({ words: [words, 'bob@exa', 'mple.org', ` ${words}`] })
  assert.equal(wordsOf(await ask('hello', true)), `${words}<EMAIL_ADDRESS> ${words}`)
})
