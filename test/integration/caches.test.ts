/** Prompt caches: a day of agents that set no cache marks, and the savings shown everywhere. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aDayOfAgents, type Sent } from '../helpers/agents-day.ts'
import { event, type Reply, startFront, startUpstream } from '../helpers/fake-upstream.ts'
import { type CacheUse, PromptCache } from '../helpers/providers/prompt-cache.ts'

/** The clock of the vendors. */
let now = 0
const CLAUDE = 'claude-sonnet-4-5'
const ON_BEDROCK = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
let cache = new PromptCache(1_024, () => now)

const [claude, bedrock] = await Promise.all([startUpstream(), startUpstream()])
const price = { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 }
const front = await startFront({
  upstreams: [
    { name: 'claude', provider: 'anthropic', endpoint: claude.url, model: CLAUDE },
    {
      ...{ name: 'bedrock', provider: 'bedrock', endpoint: bedrock.url, region: 'eu-west-1' },
      ...{ model: ON_BEDROCK, cache: 'auto' },
    },
  ],
  routes: [
    { name: 'plain', strategy: 'single', primary: 'claude' },
    { name: 'auto', strategy: 'single', primary: 'claude', cache: 'auto' },
    { name: 'passing', strategy: 'single', primary: 'claude', cache: 'auto' },
    { name: 'bedrock', strategy: 'single', primary: 'bedrock' },
    { name: 'none', strategy: 'single', primary: 'bedrock', cache: 'none' },
  ],
  pricing: [CLAUDE, ON_BEDROCK].map((model) => ({ model, ...price })),
  rate_limits: { default: { requests_per_minute: 1_000_000, burst: 1_000_000 } },
})
after(() => Promise.all([front.process.stop(), claude.close(), bedrock.close()]))

const OUTPUT = 40
const usageOf = ({ plain, read, written, hourly }: CacheUse) => ({
  ...{ input_tokens: plain, output_tokens: OUTPUT, cache_read_input_tokens: read },
  cache_creation_input_tokens: written,
  cache_creation: {
    ephemeral_5m_input_tokens: written - hourly,
    ephemeral_1h_input_tokens: hourly,
  },
})

claude.reply = (outgoing, { body, path }) => {
  if (path.includes('count_tokens')) return json({ input_tokens: 7 })(outgoing, { body } as never)
  const usage = usageOf(cache.used(body))
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: CLAUDE }
  const content = [{ type: 'text', text: 'ok' }]
  if (body.stream !== true)
    return json({ ...message, content, stop_reason: 'end_turn', usage })(outgoing, {} as never)
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const one of [
    { type: 'message_start', message: { ...message, content: [], usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: OUTPUT } },
    { type: 'message_stop' },
  ])
    outgoing.write(`event: ${one.type}\n${event(one)}`)
  outgoing.end()
}

bedrock.reply = (outgoing, { body }) => {
  const { plain, read, written } = cache.used(body)
  const usage = {
    ...{ inputTokens: plain, outputTokens: OUTPUT, cacheReadInputTokens: read },
    ...{ cacheWriteInputTokens: written, totalTokens: plain + read + written + OUTPUT },
  }
  const message = { role: 'assistant', content: [{ text: 'ok' }] }
  return json({ output: { message }, stopReason: 'end_turn', usage })(outgoing, {} as never)
}

function json(body: unknown): Reply {
  return (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
}

async function ask(path: string, body: object): Promise<Response> {
  const response = await fetch(`${front.process.url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  assert.equal(response.status, 200, await response.clone().text())
  await response.text()
  return response
}

async function rowOf(route: string) {
  const { rows } = await front.admin('/usage?by=route')
  return rows.find(({ by }: { by: { route: string } }) => by.route === route)
}

const day = aDayOfAgents()
const WAYS = [
  { route: 'plain', path: 'chat/completions', api: 'chat', least: 0, most: 0 },
  { route: 'none', path: 'chat/completions', api: 'chat', least: 0, most: 0 },
  { route: 'auto', path: 'chat/completions', api: 'chat', least: 70, most: 100 },
  { route: 'passing', path: 'messages', api: 'messages', least: 70, most: 100 },
  { route: 'bedrock', path: 'chat/completions', api: 'chat', least: 70, most: 100 },
] as const

for (const { route, path, api, least, most } of WAYS)
  test(`a day of agents over ${api} on the route ${route} reads ${least} to ${most} % of its input from the cache`, async (t) => {
    cache = new PromptCache(1_024, () => now)
    for (const sent of day) {
      now = sent.at
      await ask(path, { ...sent[api as keyof Pick<Sent, 'chat' | 'messages'>], model: route })
    }
    const row = await rowOf(route)
    const share = (100 * row.cached_tokens) / row.input_tokens
    const saved = row.cache_gain_nano_usd - row.cache_surcharge_nano_usd
    const usd = (nanos: number) => (nanos / 1e9).toFixed(2)
    t.diagnostic(
      `${row.requests} requests, ${row.input_tokens} input tokens: ${share.toFixed(1)} % read, ` +
        `${((100 * row.cache_write_tokens) / row.input_tokens).toFixed(1)} % written; ` +
        `cost ${usd(row.cost_nano_usd)} USD, saved ${usd(saved)} USD`,
    )
    assert.ok(share >= least && share <= most, `${share} %`)
    // Without a cache each token of the prompt would cost 3 USD a million.
    const plain = row.input_tokens * 3_000 + row.output_tokens * 15_000
    assert.equal(row.cost_nano_usd + saved, plain)
  })

const [{ chat, messages } = assert.fail()] = day

test('an answer reports what the cache saved: first a negative amount, then part of the price', async () => {
  for (const [path, body] of [
    ['chat/completions', { ...chat, model: 'auto' }],
    ['messages', { ...messages, model: 'auto' }],
    ['chat/completions', { ...chat, model: 'auto', stream: true }],
    ['messages', { ...messages, model: 'auto', stream: true }],
    ['chat/completions', { ...chat, model: 'bedrock' }],
  ] as const) {
    cache = new PromptCache(1_024, () => now)
    const [first, second] = [await ask(path, body), await ask(path, body)]
    const [lost, saved] = [first, second].map(({ headers }) =>
      Number(headers.get('x-gw-cache-saved-usd')),
    )
    assert.ok(lost !== undefined && lost < 0, `${path}: ${lost}`)
    const trace = await front.admin(`/traces/${second.headers.get('x-request-id')}`)
    const { usage } = trace.attempts[0]
    const tokens = usage.cached_tokens as number
    assert.ok(tokens > 1_024)
    assert.equal(usage.cache_gain_nano_usd, tokens * 2_700)
    assert.equal(usage.cache_surcharge_nano_usd, usage.cache_write_tokens * 750)
    assert.equal(trace.cache_saved_nano_usd, usage.cache_gain_nano_usd)
    assert.equal(saved, trace.cache_saved_nano_usd / 1e9)
  }
  const { headers } = await ask('chat/completions', { ...chat, model: 'plain' })
  assert.equal(headers.get('x-gw-cache-saved-usd'), null)
})

test('the counters of a route agree with its rows', async () => {
  const row = await rowOf('auto')
  const labels = 'route="auto",upstream="claude"'
  const [gain, surcharge] = await Promise.all(
    ['gain', 'surcharge'].map((kind) =>
      front.value(`gw_cache_usd_total{${labels},kind="${kind}"}`),
    ),
  )
  assert.deepEqual(
    [gain, surcharge].map((usd) => Math.round((usd ?? 0) * 1e9)),
    [row.cache_gain_nano_usd, row.cache_surcharge_nano_usd],
  )
})

test('a request that only counts tokens gets no marks', async () => {
  claude.asked.length = 0
  await ask('messages/count_tokens', { ...messages, model: 'auto' })
  assert.equal(claude.asked.length, 1)
  assert.doesNotMatch(JSON.stringify(claude.asked[0]?.body), /cache_control/)
})
