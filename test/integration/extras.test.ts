/**
 * Requests for extras cost more than tokens or name an account's objects. They go to upstreams that
 * allow them, in every API.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { type Reply, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'

/** An upstream with responses: otherwise it gets chat completions from the second request on. */
const reply: Reply = (outgoing, asked) => {
  if (!asked.path.endsWith('/responses')) return whole()(outgoing, asked)
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify({ id: 'r', object: 'response', status: 'completed', output: [] }))
}
const upstream = await startUpstream(reply)
const OPENAI = ['code_execution', 'files', 'mcp', 'service_tier', 'store', 'web_search']
const ANTHROPIC = ['code_execution', 'files', 'inference_geo', 'mcp', 'speed', 'web_search']
const single = (name: string, more: object = {}) => ({ name, strategy: 'single', ...more })
const at = { endpoint: upstream.url }
const front = await startFront({
  upstreams: [
    { name: 'openai', provider: 'openai', ...at, native: ['responses', 'messages'] },
    { name: 'claude', provider: 'anthropic', ...at, native: undefined },
    { name: 'openai-all', provider: 'openai', ...at, native: ['responses'], allow: OPENAI },
    { name: 'claude-all', provider: 'anthropic', ...at, native: undefined, allow: ANTHROPIC },
    { name: 'llamacpp', provider: 'llamacpp', ...at, api_key: undefined },
    { name: 'vllm', provider: 'vllm', ...at, api_key: undefined },
  ],
  routes: [
    ...['openai', 'claude', 'openai-all', 'claude-all', 'llamacpp', 'vllm'].map((name) =>
      single(name, { primary: name }),
    ),
    single('dropping', { primary: 'openai', on_unsupported: 'drop' }),
    single('claude-dropping', { primary: 'claude', on_unsupported: 'drop' }),
  ],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))
beforeEach(() => {
  upstream.asked.length = 0
})

const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'
const RESPONSES = '/v1/responses'
const messages = [{ role: 'user', content: 'hi' }]
const parts = (part: object) => ({ messages: [{ role: 'user', content: [part] }] })

async function post(path: string, model: string, body: object) {
  const answer = await fetch(front.process.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, ...(path === MESSAGES && { max_tokens: 9 }), ...body }),
  })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

const FILE = { type: 'file', file: { file_id: 'file-1' } }
const DOCUMENT = { type: 'document', source: { type: 'file', file_id: 'file-1' } }

/** Requests by the name in the refusal. */
const ASKING: readonly (readonly [param: string, path: string, body: object])[] = [
  ['web_search_options', CHAT, { messages, web_search_options: {} }],
  ['service_tier', CHAT, { messages, service_tier: 'priority' }],
  ['service_tier', CHAT, { messages, service_tier: 'flex' }],
  ['store', CHAT, { messages, store: true }],
  ['messages[0].content[0].file.file_id', CHAT, parts(FILE)],
  ['tools[0]', CHAT, { messages, tools: [{ type: 'web_search' }] }],
  ['service_tier', '/v1/completions', { prompt: 'hi', service_tier: 'priority' }],
  ['store', '/v1/embeddings', { input: 'hi', store: true }],
  ['service_tier', RESPONSES, { input: 'hi', service_tier: 'priority' }],
  [
    'input[0].content[0].file_id',
    RESPONSES,
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
  ],
  ['tools.0', MESSAGES, { messages, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  [
    'tools.0',
    MESSAGES,
    { messages, tools: [{ type: 'web_search_20250305', name: 'web_search', input_schema: {} }] },
  ],
  ['tools.0', MESSAGES, { messages, tools: [{ type: 'code_execution_20250825', name: 'c' }] }],
  [
    'mcp_servers',
    MESSAGES,
    { messages, mcp_servers: [{ type: 'url', url: 'https://x', name: 'x' }] },
  ],
  ['container', MESSAGES, { messages, container: 'container_1' }],
  ['messages.0.content', MESSAGES, parts(DOCUMENT)],
  ['messages.0.content', MESSAGES, parts({ type: 'container_upload', file_id: 'file-1' })],
  ['speed', MESSAGES, { messages, speed: 'fast' }],
  ['inference_geo', MESSAGES, { messages, inference_geo: 'us' }],
]

for (const [param, path, body] of ASKING) {
  const provider = path === MESSAGES ? 'claude' : 'openai'
  const what = Object.keys(body).at(-1)
  test(`${path}: ${param} (${what}) is refused by name, or goes to an upstream that allows it`, async () => {
    const refused = await post(path, provider, body)
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.text, new RegExp(param.replaceAll(/[.[\]]/g, '\\$&')))
    assert.equal(upstream.asked.length, 0)
    await post(path, `${provider}-all`, body)
    const sent = upstream.asked[0]?.body ?? assert.fail('nothing was sent')
    for (const [name, value] of Object.entries(body)) assert.deepEqual(sent[name], value)
  })
}

test('values that request nothing pass', async () => {
  const nothing = { messages, store: false, service_tier: 'auto', web_search_options: null }
  assert.equal((await post(CHAT, 'openai', nothing)).status, 200)
  assert.deepEqual(
    [upstream.asked[0]?.body.store, upstream.asked[0]?.body.service_tier],
    [false, 'auto'],
  )
  const tools = [
    { type: 'custom', name: 'a', input_schema: {} },
    { type: 'bash_20250124', name: 'bash' },
  ]
  await post(MESSAGES, 'claude', {
    messages,
    tools,
    service_tier: 'standard_only',
    speed: 'standard',
  })
  assert.deepEqual(upstream.asked[1]?.body.tools, tools)
})

test('a route with drop leaves them out and names them', async () => {
  const asking = { messages, store: true, service_tier: 'priority' }
  const dropped = await post(CHAT, 'dropping', asking)
  assert.equal(dropped.status, 200)
  assert.equal(dropped.headers.get('x-gw-dropped-parameters'), 'service_tier, store')
  assert.deepEqual(Object.keys(upstream.asked[0]?.body ?? {}).sort(), ['messages', 'model'])
  await post(MESSAGES, 'claude-dropping', { messages, speed: 'fast', inference_geo: 'us' })
  assert.deepEqual(Object.keys(upstream.asked[1]?.body ?? {}).sort(), [
    'max_tokens',
    'messages',
    'model',
  ])
})

test('a response tool that its upstream runs is left out, unless the upstream allows it', async () => {
  const tools = [{ type: 'web_search' }, { type: 'image_generation' }]
  const left = await post(RESPONSES, 'openai', { input: 'hi', tools })
  assert.match(left.headers.get('x-gw-dropped-parameters') ?? '', /web_search.*image_generation/)
  assert.equal(upstream.asked[0]?.body.tools, undefined)
  const kept = await post(RESPONSES, 'openai-all', { input: 'hi', tools })
  assert.deepEqual(upstream.asked.at(-1)?.body.tools, [{ type: 'web_search' }])
  assert.doesNotMatch(kept.headers.get('x-gw-dropped-parameters') ?? '', /web_search/)
})

const OF_RUNTIMES = [
  'request_id',
  'priority',
  'rid',
  'n_cmpl',
  'kv_transfer_params',
  'lora_path',
  'id_slot',
]
for (const [path, body] of [
  [CHAT, { messages }],
  ['/v1/completions', { prompt: 'hi' }],
  ['/v1/embeddings', { input: 'hi' }],
  [RESPONSES, { input: 'hi' }],
  [MESSAGES, { messages }],
] as const) {
  test(`${path}: members of runtimes are refused by name for provider: openai`, async () => {
    for (const name of OF_RUNTIMES) {
      const refused = await post(path, 'openai', { ...body, [name]: 2 })
      assert.equal(refused.status, 400, name)
      assert.match(refused.text, new RegExp(`"${name}`.replaceAll('"', '\\\\?"')))
    }
    assert.equal(upstream.asked.length, 0)
  })
}

test("an upstream that stores an account's file does not count its tokens", async () => {
  const path = `${MESSAGES}/count_tokens`
  const counted = await post(path, 'claude', parts(DOCUMENT))
  assert.equal(counted.status, 200)
  assert.equal(counted.headers.get('x-gw-token-count'), 'estimated')
  assert.equal(upstream.asked.length, 0)
  await post(path, 'claude-all', parts(DOCUMENT))
  assert.equal(upstream.asked.length, 1)
})

test('more than one choice is refused by name for llamacpp', async () => {
  for (const [path, body] of [
    [CHAT, { messages }],
    ['/v1/completions', { prompt: 'hi' }],
  ] as const) {
    const refused = await post(path, 'llamacpp', { ...body, n_cmpl: 100 })
    assert.equal(refused.status, 400)
    assert.equal(JSON.parse(refused.text).error.param, 'n_cmpl')
  }
  assert.equal(upstream.asked.length, 0)
})
