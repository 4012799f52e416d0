/**
 * Guardrails see everything that models read: words outside messages, and members that parsers read
 * differently.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { startFront, startUpstream, whole } from '../../helpers/fake-upstream.ts'
import { FORBIDDEN, startSidecar } from '../../helpers/guardrail-sidecar.ts'

const [upstream, sidecar] = await Promise.all([startUpstream(), startSidecar()])
const ROUTES = ['openai', 'vllm', 'anthropic']
const single = (name: string, more: object) => ({ name, strategy: 'single', ...more })
const front = await startFront({
  upstreams: [
    {
      name: 'openai',
      provider: 'openai',
      endpoint: upstream.url,
      native: ['responses', 'messages'],
    },
    { name: 'vllm', provider: 'vllm', endpoint: upstream.url },
    { name: 'anthropic', provider: 'anthropic', endpoint: upstream.url },
  ],
  routes: [
    ...ROUTES.map((name) => single(name, { primary: name, guardrails: ['words'] })),
    single('open', { primary: 'openai' }),
    single('spent', { primary: 'openai', guardrails: ['words'] }),
  ],
  aliases: { alias: 'openai' },
  budgets: [
    {
      tenant: 'acme',
      tokens_per_day: 1_000_000,
      on_exceeded: 'downgrade',
      downgrade_route: 'open',
    },
  ],
  guardrails: [{ name: 'words', endpoint: sidecar.url, redact: true }],
})
after(() => Promise.all([front.process.stop(), upstream.close(), sidecar.close()]))
beforeEach(() => {
  upstream.asked.length = 0
  upstream.reply = whole()
  sidecar.asked.length = 0
})

const CHAT = '/v1/chat/completions'
const user = { role: 'user', content: 'hi' }
const messages = [user]
const aTool = (members: object) => ({
  tools: [{ type: 'function', function: { name: 'f', ...members } }],
})
const parameters = (city: object, name = 'city') => ({
  parameters: { type: 'object', properties: { [name]: { type: 'string', ...city } } },
})
const aMessage = (members: object) => ({ messages: [{ ...user, ...members }] })
const aBlock = (block: object) => ({
  max_tokens: 9,
  messages: [{ role: 'user', content: [block] }],
})

async function post(path: string, body: string | object, model = 'openai') {
  const text = typeof body === 'string' ? body : JSON.stringify({ model, ...body })
  const answer = await fetch(front.process.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: text,
  })
  return { status: answer.status, text: await answer.text() }
}

/** Requests with words in unsupported places, by the member that the refusal names. */
const REFUSED: readonly (readonly [param: string, path: string, body: object])[] = [
  ['messages[0].content[0]', CHAT, aMessage({ content: [FORBIDDEN] })],
  ['messages[0].content[0].type', CHAT, aMessage({ content: [{ type: 'odd', odd: FORBIDDEN }] })],
  ['messages[0].odd', CHAT, aMessage({ odd: FORBIDDEN })],
  ['messages[0].role', CHAT, aMessage({ role: FORBIDDEN })],
  ['messages[0].Content', CHAT, aMessage({ Content: FORBIDDEN })],
  ['messages[0].ſtyle', CHAT, aMessage({ style: null, ſtyle: FORBIDDEN })],
  [
    'messages[0].tool_calls[0].function.arguments',
    CHAT,
    {
      messages: [
        {
          role: 'assistant',
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: { a: FORBIDDEN } } },
          ],
        },
      ],
    },
  ],
  ['chat_template', CHAT, { messages, chat_template: FORBIDDEN }],
  [
    'chat_template_kwargs.chat_template',
    CHAT,
    { messages, chat_template_kwargs: { chat_template: FORBIDDEN } },
  ],
  ['documents', CHAT, { messages, documents: [{ text: FORBIDDEN }] }],
  ...['guided_grammar', 'guided_regex', 'guided_json', 'guided_choice', 'grammar'].map(
    (name) => [name, CHAT, { messages, [name]: FORBIDDEN }] as const,
  ),
  ['structured_outputs', CHAT, { messages, structured_outputs: { choice: [FORBIDDEN] } }],
  ['tools[0].function.returns', CHAT, { messages, ...aTool({ returns: FORBIDDEN }) }],
  ['messages', '/v1/embeddings', { input: 'hi', messages: [{ role: 'user', content: FORBIDDEN }] }],
  ['instruction', '/v1/embeddings', { input: 'hi', instruction: FORBIDDEN }],
  ['guided_regex', '/v1/completions', { prompt: 'hi', guided_regex: FORBIDDEN }],
  ['instruction', '/v1/rerank', { query: 'hi', documents: ['a'], instruction: FORBIDDEN }],
  [
    'documents[0].title',
    '/v1/rerank',
    { query: 'hi', documents: [{ text: 'a', title: FORBIDDEN }] },
  ],
  ['odd', '/v1/messages', { max_tokens: 9, messages, odd: FORBIDDEN }],
  ['messages.0.content.0.odd', '/v1/messages', aBlock({ type: 'text', text: 'a', odd: FORBIDDEN })],
  ['messages.0.content.0.type', '/v1/messages', aBlock({ type: 'odd', text: FORBIDDEN })],
  ['odd', '/v1/responses', { input: 'hi', odd: FORBIDDEN }],
  ['input[0].odd', '/v1/responses', { input: [{ ...user, odd: FORBIDDEN }] }],
]

for (const [param, path, body] of REFUSED) {
  test(`${path}: ${param} is not supported, and is refused by name`, async () => {
    const { status, text } = await post(path, body, path === '/v1/rerank' ? 'vllm' : 'openai')
    assert.equal(status, 400, text)
    const { error } = JSON.parse(text)
    if (path !== '/v1/messages')
      assert.deepEqual([error.code, error.param], ['ERR_GW_INVALID_REQUEST', param])
    else assert.match(text, new RegExp(`\\\\"${param}\\\\"`))
    assert.deepEqual([upstream.asked.length, sidecar.asked.length], [0, 0])
  })
}

const TWICE: Readonly<Record<string, string>> = {
  'messages[0].content': `{"model":"openai","messages":[{"role":"user","content":"${FORBIDDEN}","content":"hi"}]}`,
  'messages[0].Content': `{"model":"openai","messages":[{"role":"user","content":"hi","Content":"${FORBIDDEN}"}]}`,
  'messages[0].role': `{"model":"openai","messages":[{"rol\\u0065":"user","role":"user","content":"hi"}]}`,
  'tools[0].function.parameters.properties.\u212aey': `{"model":"openai","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"key":{},"\u212aey":{}}}}}]}`,
  user: '{"model":"openai","messages":[{"role":"user","content":"hi"}],"user":"a","user":"b"}',
}

for (const [param, body] of Object.entries(TWICE)) {
  test(`${param} appears twice and is refused`, async () => {
    const { status, text } = await post(CHAT, body)
    assert.equal(status, 400, text)
    const { error } = JSON.parse(text)
    assert.deepEqual([error.code, error.param], ['ERR_GW_INVALID_REQUEST', param])
    assert.equal(upstream.asked.length, 0)
  })
}

/** Words in places that guardrails see. */
const SHOWN: Readonly<
  Record<string, readonly [path: string, body: (words: string) => object, isFixed?: true]>
> = {
  'the name of a tool': [CHAT, (name) => ({ messages, ...aTool({ name }) }), true],
  'the description of a parameter': [
    CHAT,
    (description) => ({ messages, ...aTool(parameters({ description })) }),
  ],
  'the name of a parameter': [CHAT, (name) => ({ messages, ...aTool(parameters({}, name)) }), true],
  'an allowed value of a parameter': [
    CHAT,
    (word) => ({ messages, ...aTool(parameters({ enum: [word] })) }),
  ],
  'the description of a shape': [
    CHAT,
    (description) => ({
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 's', description, schema: {} } },
    }),
  ],
  'a schema': [
    CHAT,
    (title) => ({
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 's', schema: { title } } },
    }),
  ],
  'a prediction': [CHAT, (content) => ({ messages, prediction: { type: 'content', content } })],
  'a value for a template': [CHAT, (note) => ({ messages, chat_template_kwargs: { note } })],
  "the name of a message's author": [CHAT, (name) => aMessage({ name }), true],
  'escaped arguments of a call': [
    CHAT,
    (words) => ({
      messages: [
        user,
        {
          role: 'assistant',
          tool_calls: [
            {
              id: 'a',
              type: 'function',
              function: {
                name: 'f',
                arguments: `{"a":"\\u00${words.charCodeAt(0).toString(16)}${words.slice(1)}"}`,
              },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'b' },
      ],
    }),
    true,
  ],
  'the format of a response': [
    '/v1/responses',
    (description) => ({
      input: 'hi',
      text: { format: { type: 'json_schema', name: 's', description, schema: { type: 'object' } } },
    }),
  ],
  'a document': [
    '/v1/messages',
    (data) => aBlock({ type: 'document', source: { type: 'text', data } }),
  ],
  'the title of a document': [
    '/v1/messages',
    (title) => aBlock({ type: 'document', title, source: { type: 'text', data: 'a' } }),
  ],
  'a search result': [
    '/v1/messages',
    (text) =>
      aBlock({ type: 'search_result', title: 'a', source: 'b', content: [{ type: 'text', text }] }),
  ],
  'thinking of an earlier turn': [
    '/v1/messages',
    (thinking) => ({
      max_tokens: 9,
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking, signature: 'c2ln' },
            { type: 'tool_use', id: 'a', name: 'f', input: {} },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'b' }] },
      ],
    }),
    true,
  ],
}

for (const [where, [path, body, isFixed]] of Object.entries(SHOWN)) {
  for (const model of path === '/v1/messages' ? ['openai', 'anthropic'] : ['openai', 'alias']) {
    test(`${where} is judged, and changed there or blocked: ${path} at ${model}`, async () => {
      const blocked = await post(path, body(FORBIDDEN), model)
      assert.deepEqual([blocked.status, upstream.asked.length], [400, 0])
      assert.match(blocked.text, /ERR_GW_GUARDRAIL_BLOCKED/)
      const masked = await post(path, body('secret-7'), model)
      if (isFixed) {
        assert.match(masked.text, /ERR_GW_GUARDRAIL_BLOCKED/)
        assert.equal(upstream.asked.length, 0)
        return
      }
      const sent = JSON.stringify(upstream.asked[0]?.body)
      assert.match(sent, /\[hidden\]/)
      assert.doesNotMatch(sent, /secret-7/)
    })
  }
}

test('files and recordings, which guardrails cannot read, are refused, and pictures pass', async () => {
  const file = {
    type: 'file',
    file: { filename: 'a.txt', file_data: 'data:text/plain;base64,YQ==' },
  }
  const recording = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
  for (const part of [file, recording])
    assert.equal((await post(CHAT, aMessage({ content: [part] }))).status, 400)
  const pdf = {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: 'AA' },
  }
  assert.equal((await post('/v1/messages', aBlock(pdf), 'anthropic')).status, 400)
  const words = { type: 'image_url', image_url: { url: 'data:text/plain;base64,YQ==' } }
  assert.equal((await post(CHAT, aMessage({ content: [words] }))).status, 400)
  assert.equal(upstream.asked.length, 0)
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  assert.equal((await post(CHAT, aMessage({ content: [picture] }))).status, 200)
})

test('a route that is downgraded to a route without guardrails keeps its own', async () => {
  const usage = { prompt_tokens: 1_000_000, completion_tokens: 1, total_tokens: 1_000_001 }
  upstream.reply = whole('hello', usage)
  await post(CHAT, { messages }, 'open')
  const answer = await post(CHAT, { messages: [{ role: 'user', content: FORBIDDEN }] }, 'spent')
  assert.match(answer.text, /ERR_GW_GUARDRAIL_BLOCKED/)
  assert.equal(upstream.asked.length, 1)
})

test('a large request is judged and sent whole, including a member in another case', async () => {
  const long = 'word '.repeat(20_000)
  const prediction = { type: 'content', content: `${long}secret-7` }
  const large = { messages: [{ role: 'user', content: long }], prediction }
  assert.equal((await post(CHAT, large)).status, 200)
  assert.deepEqual(upstream.asked[0]?.body.messages, large.messages)
  assert.deepEqual(upstream.asked[0]?.body.prediction, {
    type: 'content',
    content: `${long}[hidden]`,
  })
  const twice = await post(CHAT, { ...large, metadata: { a: long, A: 'b' } })
  assert.equal(JSON.parse(twice.text).error.param, 'metadata.A')
  const odd = await post(CHAT, { ...large, documents: [long] })
  assert.equal(JSON.parse(odd.text).error.param, 'documents')
  assert.equal(upstream.asked.length, 1)
})
