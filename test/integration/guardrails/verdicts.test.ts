/**
 * Guardrails judge requests and answers: they let them pass, change them or block them; and the
 * behaviour without a sidecar.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  errorOf,
  eventsOf,
  type Reply,
  refusingUrl,
  startFront,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../../helpers/fake-upstream.ts'
import { FORBIDDEN, startSidecar } from '../../helpers/guardrail-sidecar.ts'
import { gw } from '../../helpers/gw-here.ts'
import { until } from '../../helpers/until.ts'

const [upstream, sidecar] = await Promise.all([startUpstream(), startSidecar()])
const ROUTES = ['input', 'output', 'masking', 'litellm', 'closed', 'gone'] as const
const guardrail = (name: string, more: object = {}) => ({ name, endpoint: sidecar.url, ...more })
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [
    ...ROUTES.map((name) => ({ name, strategy: 'single', primary: 'up', guardrails: [name] })),
    { name: 'chat', strategy: 'single', primary: 'up' },
    {
      name: 'kept',
      strategy: 'single',
      primary: 'up',
      guardrails: ['masking'],
      trace: { keep_texts: true },
    },
  ],
  guardrails: [
    guardrail('input', { headers: { 'x-team': 'blue' } }),
    guardrail('output', { stage: 'output' }),
    guardrail('masking', { stage: 'both', redact: true }),
    guardrail('litellm', { stage: 'both', redact: true, protocol: 'litellm' }),
    guardrail('closed', { timeout_ms: 200 }),
    { name: 'gone', endpoint: await refusingUrl(), timeout_ms: 200 },
  ],
})
after(() => Promise.all([front.process.stop(), upstream.close(), sidecar.close()]))

beforeEach(() => {
  upstream.asked.length = 0
  upstream.reply = whole()
  sidecar.asked.length = 0
  sidecar.instead = undefined
})

const ask = (model: string, content: string, more: object = {}) =>
  front.ask({ model, messages: [{ role: 'user', content }], ...more }).over

test('a request that passes is forwarded unchanged', async () => {
  const heard = await ask('input', 'hello')
  assert.equal(heard.status, 200)
  assert.partialDeepStrictEqual(sidecar.asked[0], {
    path: '/request',
    body: { body: { messages: [{ role: 'user', content: 'hello' }] } },
    headers: { 'x-team': 'blue' },
  })
  assert.equal(sidecar.asked.length, 1)
})

for (const model of ['input', 'litellm']) {
  test(`${model}: a blocked request returns 400 with the sidecar's words, and reaches no upstream`, async () => {
    const heard = await ask(model, `say ${FORBIDDEN}`)
    assert.equal(heard.status, 400)
    const { code, message, guardrail: name } = errorOf(heard)
    assert.deepEqual([code, name], ['ERR_GW_GUARDRAIL_BLOCKED', model])
    assert.match(message, /Not here\./)
    assert.equal(heard.headers['x-should-retry'], 'false')
    assert.equal(upstream.asked.length, 0)
  })
}

for (const model of ['masking', 'litellm']) {
  test(`${model}: upstream and client receive masked words`, async () => {
    upstream.reply = whole('it was secret-7')
    const heard = await ask(model, 'my secret-42', { seed: 7 })
    const asked = upstream.asked[0]?.body
    assert.deepEqual(asked?.messages, [{ role: 'user', content: 'my [hidden]' }])
    assert.deepEqual([asked?.model, asked?.seed], ['served', 7])
    assert.equal(JSON.parse(heard.text).choices[0].message.content, 'it was [hidden]')
  })
}

test('each part of a message is judged separately', async () => {
  const content = [
    { type: 'text', text: 'a secret-1' },
    { type: 'image_url', image_url: { url: 'https://x/y.png' } },
    { type: 'text', text: 'and secret-2' },
  ]
  await ask('masking', content as never)
  assert.deepEqual(upstream.asked[0]?.body.messages, [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'a [hidden]' },
        content[1],
        { type: 'text', text: 'and [hidden]' },
      ],
    },
  ])
})

test('without redact, a text that the sidecar would change is blocked', async () => {
  const heard = await ask('input', 'my secret-42')
  assert.equal(errorOf(heard).code, 'ERR_GW_GUARDRAIL_BLOCKED')
})

test('a blocked answer returns 400, and its usage is charged', async () => {
  upstream.reply = whole(`so ${FORBIDDEN}`)
  const heard = await ask('output', 'hello')
  assert.equal(heard.status, 400)
  assert.doesNotMatch(heard.text, new RegExp(FORBIDDEN))
  const trace = await front.trace(heard)
  assert.equal(trace.completion_tokens, 3)
  assert.partialDeepStrictEqual(trace.guardrails, [
    { name: 'output', side: 'output', verdict: 'block' },
  ])
})

const LONG = 'word '.repeat(400)

test('a stream that has begun ends with an error event and an abort', async () => {
  const { promise: hold, resolve } = Promise.withResolvers<void>()
  upstream.reply = streaming({ words: [LONG, FORBIDDEN], hold })
  const asking = front.ask({
    model: 'output',
    messages: [{ role: 'user', content: 'hello' }],
    stream: true,
  })
  await until('its first words are there', () => asking.text().includes('word'))
  resolve()
  const heard = await asking.over
  assert.ok(heard.cut)
  assert.equal(eventsOf(heard).at(-1).error.code, 'ERR_GW_GUARDRAIL_BLOCKED')
})

test('a stream is masked wherever it is split, and is otherwise complete', async () => {
  const words = [...`${LONG}secret-99 ${LONG}`]
  upstream.reply = streaming({ words })
  const heard = await ask('masking', 'hello', { stream: true })
  assert.equal(wordsOf(heard), `${LONG}[hidden] ${LONG}`)
  assert.equal(eventsOf(heard).at(-1), '[DONE]')
})

test('a short stream that is blocked before its first word returns 400', async () => {
  upstream.reply = streaming({ words: [FORBIDDEN] })
  assert.equal((await ask('output', 'hello', { stream: true })).status, 400)
})

test('after some failures, requests to a missing sidecar are refused at once', async () => {
  for (let time = 0; time < 6; time++) assert.equal((await ask('gone', 'hello')).status, 503)
  const count = (outcome: string) =>
    front.value(`gw_auxiliary_requests_total{kind="guardrail",name="gone",outcome="${outcome}"}`)
  assert.deepEqual([await count('error'), await count('open')], [5, 1])
  const admin = ['--admin', front.process.adminUrl]
  const status = await gw('status', ...admin)
  assert.match(
    status.stdout,
    /GUARDRAIL +STAGE +ON ERROR +BREAKER\n(.*\n)*gone +input +block +(half_)?open/,
  )
  assert.match(status.stdout, /breaker of gone: (half )?open.*; last failure: /)
  const explained = await gw('explain', ...admin, '--route', 'gone')
  assert.match(
    explained.stdout,
    /judged by guardrails: gone(.*\n)*gone +input +block +(half_)?open/,
  )
  const blocked = await ask('input', FORBIDDEN)
  const id = String(blocked.headers['x-request-id'])
  const tree = await gw('trace', 'get', id, '--format', 'tree', ...admin)
  assert.match(tree.stdout, /guardrail input \(input\): block in \d+ ms: Not here\./)
})

test('a route that keeps texts keeps those that guardrails let pass', async () => {
  const { headers, status } = await ask('kept', 'it is secret-7')
  assert.equal(status, 200)
  const { texts } = await front.admin(`/context/${headers['x-request-id']}`)
  assert.deepEqual(texts.messages, [{ role: 'user', text: 'it is [hidden]' }])
  const blocked = await ask('kept', FORBIDDEN)
  assert.equal((await front.admin(`/context/${blocked.headers['x-request-id']}`)).texts, null)
})

test('explain predicts a guardrail that is refused at once, and the effect of on_error and side', async () => {
  const explained = async (model: string, query = '') =>
    await front.admin(`/explain?model=${model}${query}`)
  await until('the breaker is open', async () => {
    await ask('gone', 'hello')
    const { guardrails, verdict } = await explained('gone')
    if (guardrails[0].breaker !== 'open') return false
    assert.deepEqual([verdict.status, verdict.code], [503, 'ERR_GW_AUXILIARY_UNAVAILABLE'])
    assert.match(verdict.message, /^Guardrail "gone" gave no verdict/)
    assert.equal(verdict.retry_after_seconds, 1)
    return true
  })
  assert.equal((await explained('input')).verdict.status, 200)
})

for (const [path, body, words] of [
  ['messages', { max_tokens: 9, messages: [{ role: 'user', content: 'secret-1' }] }, /\[hidden\]/],
  ['responses', { input: 'secret-1' }, /\[hidden\]/],
] as const) {
  test(`/v1/${path} is judged alike`, async () => {
    upstream.reply = whole('secret-2')
    const answer = await fetch(`${front.process.url}/v1/${path}`, {
      method: 'POST',
      headers: { 'x-api-key': front.key, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'masking', ...body }),
    })
    assert.match(await answer.text(), words)
    assert.match(JSON.stringify(upstream.asked[0]?.body.messages), words)
  })
}

test('/v1/completions and /v1/embeddings are judged alike', async () => {
  const post = async (path: string, body: object) =>
    await fetch(`${front.process.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'masking', ...body }),
    })
  const says =
    (body: object): Reply =>
    (outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify(body))
    }
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const choices = [0, 1].map((index) => ({
    index,
    text: `secret-${index}`,
    finish_reason: 'stop',
    logprobs: null,
  }))
  upstream.reply = says({ id: 'c', object: 'text_completion', model: 'm', choices, usage })
  const completion = await (await post('completions', { prompt: ['a secret-1', 'b'], n: 1 })).text()
  assert.deepEqual(upstream.asked[0]?.body.prompt, ['a [hidden]', 'b'])
  assert.match(completion, /"text":"\[hidden\]".*"text":"\[hidden\]"/)
  const data = [{ object: 'embedding', index: 0, embedding: [0.5] }]
  upstream.reply = says({ object: 'list', model: 'm', data, usage })
  assert.equal((await post('embeddings', { input: 'a secret-2' })).status, 200)
  assert.equal(upstream.asked.at(-1)?.body.input, 'a [hidden]')
})

/** Requests with a forbidden word outside the text of a message. */
const HIDDEN: Readonly<Record<string, readonly [string, object]>> = {
  'an earlier call of a tool': [
    '/v1/chat/completions',
    {
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: FORBIDDEN } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'done' },
      ],
    },
  ],
  'the description of a tool': [
    '/v1/chat/completions',
    {
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ type: 'function', function: { name: 'f', description: FORBIDDEN } }],
    },
  ],
  'what follows a text': ['/v1/completions', { prompt: 'hi', suffix: FORBIDDEN }],
  "a note to Anthropic's billing": [
    '/v1/messages',
    {
      max_tokens: 9,
      system: [{ type: 'text', text: `x-anthropic-billing-header: say ${FORBIDDEN}` }],
      messages: [{ role: 'user', content: 'hi' }],
    },
  ],
}

const postTo = (path: string, body: object) =>
  fetch(front.process.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'input', ...body }),
  })

for (const [where, [path, body]] of Object.entries(HIDDEN)) {
  test(`a word is found in ${where}`, async () => {
    const answer = await postTo(path, body)
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /ERR_GW_GUARDRAIL_BLOCKED/)
    assert.equal(upstream.asked.length, 0)
  })
}

test('token numbers are refused if a guardrail would have to read them', async () => {
  for (const [path, body] of [
    ['/v1/completions', { prompt: [1, 2] }],
    ['/v1/embeddings', { input: [[1], [2]] }],
  ] as const) {
    const answer = await postTo(path, body)
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /cannot read lists of token numbers/)
  }
  assert.equal(upstream.asked.length, 0)
})

test('gw guardrail test shows the verdict', async () => {
  const { adminUrl } = front.process
  const verdict = async (...args: string[]) =>
    await gw('guardrail', 'test', '--admin', adminUrl, '--policy', ...args)
  const passed = await verdict('input', '--input', 'hello')
  assert.equal(passed.code, 0)
  assert.match(passed.stdout, /^input \(input\): pass in \d+ ms\n$/)
  const masked = await verdict('masking', '--input', 'secret-1', '--side', 'output')
  assert.match(masked.stdout, /^masking \(output\): mask in \d+ ms\n {2}\[hidden\]\n$/)
  const blocked = await verdict('litellm', '--input', FORBIDDEN, '-o', 'json')
  assert.partialDeepStrictEqual(JSON.parse(blocked.stdout), {
    verdict: 'block',
    reason: 'Not here.',
  })
  sidecar.instead = (outgoing) => outgoing.destroy()
  const failed = await verdict('closed', '--input', 'hello')
  assert.equal(failed.code, 1)
  assert.match(failed.stdout, /on_error is block, so requests are refused with 503/)
  assert.equal((await verdict('nothing', '--input', 'hello')).code, 1)
})
