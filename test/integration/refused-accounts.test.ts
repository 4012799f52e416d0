/** Services with OpenAI's API that refuse the gateway's account or key with another status than usual. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { failing, json, startFront, startUpstream } from '../helpers/fake-upstream.ts'

const [first, second] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  upstreams: [
    { name: 'first', endpoint: first.url },
    { name: 'second', endpoint: second.url },
  ],
  routes: [
    {
      name: 'chat',
      strategy: 'primary_with_fallback',
      primary: 'first',
      fallback: ['second'],
      retry: { max_attempts: 3, initial_delay_ms: 1 },
    },
  ],
})
after(() => Promise.all([front.process.stop(), first.close(), second.close()]))

const invalid = { type: 'invalid_request_error' }
const REFUSALS = {
  'a spent hard limit': failing(400, {
    ...invalid,
    code: 'billing_hard_limit_reached',
    message: 'Billing hard limit has been reached',
  }),
  'an account without payment': failing(429, {
    type: 'billing_not_active',
    code: 'billing_not_active',
    message: 'Your account is not active, please check your billing details on our website.',
  }),
  'a spent credit': failing(400, {
    ...invalid,
    message: 'Your credit balance is too low to access the Anthropic API.',
  }),
  "xAI's refusal of a key": json(400, {
    code: 'Client specified an invalid argument',
    error: 'Incorrect API key provided: xa***st. You can obtain an API key from the console.',
  }),
  "Gemini's refusal of a key": json(400, [
    { error: { code: 400, message: 'API key not valid. Pass one.', status: 'INVALID_ARGUMENT' } },
  ]),
  "Gemini's refusal of a place": json(400, [
    { error: { code: 400, message: 'User location.', status: 'FAILED_PRECONDITION' } },
  ]),
}

for (const [what, refusal] of Object.entries(REFUSALS)) {
  test(`${what} leads to the fallback, and is not repeated`, async () => {
    first.reply = refusal
    const before = first.asked.length
    const answer = await front.chat()
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers['x-gw-upstream'], 'second')
    assert.equal(first.asked.length - before, 1)
  })
}

test("a refusal of the client's own parameter stays the client's if it repeats such a text", async () => {
  first.reply = failing(400, {
    ...invalid,
    message: 'Invalid value: "Incorrect API key provided, and your credit balance is too low".',
  })
  const { status, headers } = await front.chat()
  assert.deepEqual([status, headers['x-gw-upstream']], [400, 'first'])
})
