/**
 * Upstreams receive the bytes of the client's body with another model, and none of the client's
 * headers.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { CHAT_BODY, startFront } from './front.ts'
import { sendTo } from './send.ts'

const front = await startFront({ credential: 'credential-of-the-upstream' })
after(() => front.stop())
beforeEach(() => {
  front.upstream.asked.length = 0
})

const MESSAGES = '"messages":[{"role":"user","content":"hi"}]'

const BODIES: Readonly<Record<string, string>> = {
  'the plain one': CHAT_BODY,
  'spaces everywhere': ` {\n\t"model" :\r\n "chat" , ${MESSAGES} , "seed"\t:\t1.50e+1 }\n`,
  'the model last': `{${MESSAGES},"model":"chat"}`,
  'the model with escapes': `{"\\u006dodel":"\\u0063hat",${MESSAGES}}`,
  'the model elsewhere too': `{"metadata":{"model":"chat"},"model":"chat",${MESSAGES},"x":["model","chat"]}`,
  'numbers that no double holds': `{"model":"chat",${MESSAGES},"x":[1e400,123456789012345678901234567890,-0,1.0]}`,
  'four-byte letters': `{"model":"chat","messages":[{"role":"user","content":"𝒳😀\\ud83d\\ude00"}]}`,
  'members twice': `{"model":"chat",${MESSAGES},"seed":1,"seed":2}`,
  'member names that every object has': `{"model":"chat",${MESSAGES},"__proto__":{"a":1},"constructor":{"prototype":{}}}`,
  'quotes and backslashes': `{"a":"\\\\\\"}{,model","model":"chat",${MESSAGES},"b":"\\\\"}`,
  'one megabyte': `{"model":"chat",${MESSAGES},"x":"${'é"'.replace('"', '').repeat(500_000)}"}`,
}

for (const [what, body] of Object.entries(BODIES)) {
  test(`${what}: the model is replaced and every other byte is unchanged`, async () => {
    const answer = await sendTo(front, { body })
    assert.equal(answer.status, 200, answer.text)
    const [asked] = front.upstream.asked
    const model =
      /("model"|"\\u006dodel")(\s*:\s*)"(chat|\\u0063hat)"(?=[^{}]*("messages"|\}\s*$)|,"messages"|,"x")/
    const expected =
      what === 'the model elsewhere too'
        ? body.replace('},"model":"chat"', '},"model":"served"')
        : body.replace(model, '$1$2"served"')
    assert.notEqual(expected, body)
    assert.equal(asked?.body.toString(), expected)
  })
}

const ROUTING = {
  api_base: 'http://127.0.0.1:1/v1',
  base_url: 'http://127.0.0.1:1/v1',
  api_key: 'other-credential',
  extra_headers: { authorization: 'Bearer other-credential', 'x-canary': '1' },
  organization: 'other-organization',
}

for (const [name, value] of Object.entries(ROUTING)) {
  test(`the member ${name} selects nothing and is not forwarded`, async () => {
    const body = CHAT_BODY.replace('{', `{${JSON.stringify(name)}:${JSON.stringify(value)},`)
    const escaped = body.replace(`"${name[0]}`, `"\\u00${name.charCodeAt(0).toString(16)}`)
    for (const text of [body, escaped]) {
      const answer = await sendTo(front, { body: text })
      assert.equal(answer.status, 200, answer.text)
      const asked = front.upstream.asked.pop()
      assert.equal(asked?.body.toString(), CHAT_BODY.replace('"chat"', '"served"'))
      assert.equal(asked?.headers.authorization, 'Bearer credential-of-the-upstream')
    }
  })
}

const CANARY = 'canary-7d1f'
const HEADERS = [
  'x-api-key-2',
  'cookie',
  'proxy-authorization',
  'x-auth-token',
  'x-goog-api-key',
  'x-amz-security-token',
  'openai-organization',
  'openai-project',
  'openai-beta',
  'anthropic-version',
  'anthropic-beta',
  'x-stainless-os',
  'x-stainless-runtime',
  'user-agent',
  'referer',
  'origin',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'forwarded',
  'via',
  'x-gw-route',
  'x-gw-upstream',
  'x-middleware-subrequest',
  'x-original-url',
  'x-http-method-override',
  'traceparent',
  'baggage',
  'accept-language',
  'accept-encoding',
  'if-none-match',
  'x-internal',
  'te',
  '__proto__',
]

test(`${HEADERS.length} headers of the client: none reaches the upstream`, async () => {
  const headers = Object.fromEntries(HEADERS.map((name) => [name, `${CANARY}-${name}`]))
  const answer = await sendTo(front, { headers: { ...headers, accept: CANARY } })
  assert.equal(answer.status, 200, answer.text)
  const [asked] = front.upstream.asked
  assert.ok(asked)
  const seen = JSON.stringify(asked.headers)
  assert.ok(!seen.includes(CANARY), seen)
  assert.ok(!seen.includes(front.key))
  assert.deepEqual(Object.keys(asked.headers).toSorted(), [
    'accept',
    'accept-encoding',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'x-request-id',
  ])
})

for (const name of ['x-api-key', 'api-key']) {
  test(`a key in ${name} is accepted and not forwarded`, async () => {
    const headers = { authorization: undefined, [name]: front.key }
    assert.equal((await sendTo(front, { headers })).status, 200)
    const [asked] = front.upstream.asked
    assert.ok(!JSON.stringify(asked?.headers).includes(front.key))
    assert.equal(asked?.headers.authorization, 'Bearer credential-of-the-upstream')
  })
}

test("headers of the upstream's answer are not forwarded", async () => {
  const { reply } = front.upstream
  front.upstream.reply = (asked, outgoing) => {
    for (const name of ['set-cookie', 'x-canary', 'server', 'openai-organization', 'x-gw-route'])
      outgoing.setHeader(name, CANARY)
    reply(asked, outgoing)
  }
  const answer = await sendTo(front)
  front.upstream.reply = reply
  assert.equal(answer.status, 200)
  assert.ok(!JSON.stringify(answer.headers).includes(CANARY), JSON.stringify(answer.headers))
})

test('prototype members in JSON, query and headers change no other object', async () => {
  const probes = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']
  for (const probe of probes) {
    const body = CHAT_BODY.replace('{', `{"${probe}":{"stream":true,"model":"x","polluted":1},`)
    const message = CHAT_BODY.replace('"role"', `"${probe}":{"role":"x","polluted":1},"role"`)
    for (const text of [body, message]) {
      const path = `/v1/chat/completions?${probe}[polluted]=1&${probe}.polluted=1`
      const answer = await sendTo(front, { body: text, path, headers: { [probe]: 'polluted' } })
      assert.equal(answer.status, 200, answer.text)
      assert.ok(!answer.text.includes('polluted'))
    }
    const unknown = await sendTo(front, { body: CHAT_BODY.replace('"chat"', `"${probe}"`) })
    assert.equal(unknown.status, 404)
  }
  const answer = await sendTo(front)
  assert.equal(answer.status, 200)
  assert.ok(!answer.text.includes('polluted'))
})
