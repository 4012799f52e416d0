/** The limit of tokens that an answer is given where a budget needs one and the client names none. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { errorOf, type Heard, startUpstream, streaming, whole } from './fake-upstream.ts'
import { PLENTY } from './gateway-process.ts'
import { keysOf, PRICES, startLimited } from './limits/limited-gateway.ts'

const WINDOW = 1000

const upstream = await startUpstream()
const gateway = await startLimited(
  {
    upstreams: [
      { name: 'up', endpoint: upstream.url },
      { name: 'small', endpoint: upstream.url, context_window: WINDOW },
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'up' },
      { name: 'short', strategy: 'single', primary: 'up', max_tokens_default: 200 },
      { name: 'small', strategy: 'single', primary: 'small' },
      { name: 'either', strategy: 'primary_with_fallback', primary: 'small', fallback: ['up'] },
    ],
    rate_limits: { default: PLENTY },
    budgets: [
      { tenant: 'rich', tokens_per_day: 1_000_000, spend_per_month_usd: 1000 },
      { tenant: 'poor', tokens_per_day: 500 },
      { tenant: 'many', tokens_per_day: 500 },
      { tenant: 'broke', spend_per_month_usd: 0.01 },
      { tenant: 'last', tokens_per_day: 1 },
      { tenant: 'pictures', tokens_per_day: 100_000 },
    ],
    pricing: PRICES,
  },
  keysOf(['rich', 'poor', 'many', 'broke', 'last', 'pictures', 'free']),
)
after(() => Promise.all([gateway.stop(), upstream.close()]))

beforeEach(() => {
  upstream.asked.length = 0
})

/** What the upstream was told of limits, and what the client was. */
function limitsOf(heard: Heard) {
  assert.equal(heard.status, 200, heard.text)
  const { max_tokens, max_completion_tokens } = upstream.asked.at(-1)?.body ?? {}
  const said = heard.headers['x-gw-max-tokens']
  return {
    ...(max_tokens !== undefined && { max_tokens }),
    ...(max_completion_tokens !== undefined && { max_completion_tokens }),
    said: said === undefined ? undefined : Number(said),
  }
}

function injected(heard: Heard): number {
  const { said, ...told } = limitsOf(heard)
  assert.deepEqual(Object.values(told), [said], 'one limit is sent upstream, and said')
  return said as number
}

test('without max_tokens of client and route it is 4,096', async () => {
  assert.equal(injected(await gateway.as('rich').chat()), 4096)
})

test('a stream is given the same', async () => {
  upstream.script.push(streaming())
  assert.equal(injected(await gateway.as('rich').stream()), 4096)
})

test('max_tokens: null is no limit of the client', async () => {
  const heard = await gateway.as('rich').chat({ max_tokens: null })
  assert.equal(heard.headers['x-gw-max-tokens'], '4096')
})

test("the route's max_tokens_default goes before it", async () => {
  assert.equal(injected(await gateway.as('rich').chat({ model: 'short' })), 200)
})

test('it is never above what the context window leaves', async () => {
  const front = gateway.as('rich')
  const content = 'word '.repeat(400)
  const limit = injected(
    await front.chat({ model: 'small', messages: [{ role: 'user', content }] }),
  )
  assert.ok(limit <= WINDOW - content.length / 4, `${limit}`)
  assert.ok(limit > WINDOW / 4, `${limit}`)
})

test('a prompt that leaves no room for an answer is 400', async () => {
  // A token for each four characters, and four around the message.
  const messages = [{ role: 'user', content: 'x'.repeat(4 * (WINDOW - 4)) }]
  const heard = await gateway.as('rich').chat({ model: 'small', messages })
  assert.equal(heard.status, 400, heard.text)
  assert.equal(errorOf(heard).code, 'ERR_GW_CONTEXT_OVERFLOW')
  assert.equal(upstream.asked.length, 0)
})

test('it is at most what the tokens of the day leave', async () => {
  const front = gateway.as('poor')
  const first = injected(await front.chat())
  assert.ok(first < 500 && first > 450, `${first}`)
  upstream.script.push(whole('long', { prompt_tokens: 7, completion_tokens: 393 }))
  await front.chat({ max_tokens: 400 })
  const later = injected(await front.chat())
  assert.equal(later, first - 410)
})

test('it is at most what the money of the month leaves', async () => {
  // A cent buys 500 tokens of answer, less the prompt.
  const limit = injected(await gateway.as('broke').chat())
  assert.ok(limit < 500 && limit > 450, `${limit}`)
})

test('several choices share what is left', async () => {
  const limit = injected(await gateway.as('many').chat({ n: 4 }))
  assert.ok(limit * 4 < 500 && limit * 4 > 450, `${limit}`)
})

test('it is at least one token', async () => {
  assert.equal(injected(await gateway.as('last').chat()), 1)
})

test("the client's own limit passes untouched, and nothing is said of it", async () => {
  const front = gateway.as('rich')
  assert.deepEqual(limitsOf(await front.chat({ max_tokens: 17 })), {
    max_tokens: 17,
    said: undefined,
  })
  assert.deepEqual(limitsOf(await front.chat({ max_completion_tokens: 18 })), {
    max_completion_tokens: 18,
    said: undefined,
  })
  const large = { max_tokens: 50_000 }
  assert.deepEqual(limitsOf(await gateway.as('poor').chat(large)), { ...large, said: undefined })
})

test('a tenant without a budget is given none', async () => {
  assert.deepEqual(limitsOf(await gateway.as('free').chat()), { said: undefined })
  assert.deepEqual(limitsOf(await gateway.as('free').chat({ model: 'short' })), { said: undefined })
})

test('several choices are checked against the window by max_tokens, as one is', async () => {
  const content = 'word '.repeat(100)
  const asked = { model: 'small', max_tokens: 700, messages: [{ role: 'user', content }] }
  for (const tenant of ['rich', 'free']) {
    assert.equal((await gateway.as(tenant).chat(asked)).status, 200)
    assert.equal((await gateway.as(tenant).chat({ ...asked, n: 4 })).status, 200)
  }
})

test('a limit that no client asked for sends nobody past an upstream that has room for the prompt', async () => {
  for (const tenant of ['rich', 'free']) {
    const heard = await gateway.as(tenant).chat({ model: 'either' })
    assert.equal(heard.headers['x-gw-upstream'], 'small')
  }
})

test('an image does not count by its bytes, or nothing would be left for the answer', async () => {
  const url = `data:image/png;base64,${'A'.repeat(3_000_000)}`
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url } },
  ]
  const heard = await gateway.as('pictures').chat({ messages: [{ role: 'user', content }] })
  assert.equal(injected(heard), 4096)
})
