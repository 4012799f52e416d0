/**
 * The charge of a request: usage that upstreams reported, each at its own price, or a marked
 * estimate.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  event,
  failing,
  type Heard,
  json,
  startUpstream,
  streaming,
  USAGE,
  whole,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { until } from '../helpers/until.ts'
import { keysOf, standing, startLimited, untilIdle } from './limits/limited-gateway.ts'

const [first, second] = await Promise.all([startUpstream(), startUpstream()])
const gateway = await startLimited(
  {
    upstreams: [
      { name: 'first', endpoint: first.url, model: 'dear' },
      { name: 'second', endpoint: second.url, model: 'cheap' },
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
    rate_limits: { default: PLENTY },
    budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000_000, spend_per_month_usd: 1_000_000 }],
    pricing: [
      { model: 'dear', input: 10, output: 20, cached_input: 1, reasoning_output: 40 },
      { model: 'cheap', input: 1, output: 2 },
    ],
  },
  keysOf(['acme']),
)
after(() => Promise.all([gateway.stop(), first.close(), second.close()]))
const front = gateway.as('acme')

beforeEach(() => {
  for (const upstream of [first, second]) {
    upstream.script.length = 0
    upstream.asked.length = 0
  }
})

async function used() {
  const { tokens_per_day: day, spend_per_month_usd: month } = await standing(front, 'acme')
  return { tokens: day.used as number, nanos: Math.round(Number(month.used) * 1e9) }
}

/** The charge of one request, and its result. */
async function charged(ask: () => Promise<Heard>) {
  const before = await used()
  const heard = await ask()
  await untilIdle(front, 'acme')
  const later = await used()
  return {
    heard,
    tokens: later.tokens - before.tokens,
    nanos: later.nanos - before.nanos,
  }
}

/** Nano-dollars for seven prompt tokens and three answer tokens. */
const DEAR = 130_000
const CHEAP = 13_000
/** Without usage: the word of the question, and four template tokens around it. */
const PROMPT_ESTIMATE = 5
/** The same, after the upstream has counted more for earlier questions. */
const LEARNT_ESTIMATE = 6

test('an answer of 1,500 tokens is charged 1,500 tokens', async () => {
  first.script.push(whole('long', { prompt_tokens: 0, completion_tokens: 1500 }))
  const { heard, tokens, nanos } = await charged(() => front.chat())
  assert.deepEqual([tokens, nanos], [1500, 30_000_000])
  assert.equal((await front.trace(heard)).usage_estimated, undefined)
})

test('an answer that reports 0 is charged 0', async () => {
  first.script.push(whole('free', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }))
  const { tokens, nanos } = await charged(() => front.chat())
  assert.deepEqual([tokens, nanos], [0, 0])
})

test('a whole answer without usage is estimated and marked as an estimate', async () => {
  first.script.push(whole('four words of text', null))
  const { heard, tokens } = await charged(() => front.chat())
  assert.ok(tokens > PROMPT_ESTIMATE, `${tokens} tokens`)
  assert.equal((await front.trace(heard)).usage_estimated, true)
})

test('a stream without usage is charged for its content and marked as an estimate', async () => {
  first.script.push(async (outgoing, asked) => {
    const silentOnUsage = { ...asked, body: { ...asked.body, stream_options: {} } }
    await streaming({ words: ['a', 'b', 'c', 'd'] })(outgoing, silentOnUsage)
  })
  const { heard, tokens } = await charged(() => front.stream())
  assert.equal(tokens, PROMPT_ESTIMATE + 4)
  assert.equal((await front.trace(heard)).usage_estimated, true)
})

test('a stream is charged for reported usage, even if the client did not ask for usage', async () => {
  first.script.push(streaming())
  const { heard, tokens, nanos } = await charged(() => front.stream())
  assert.deepEqual([tokens, nanos], [10, DEAR])
  assert.doesNotMatch(heard.text, /"usage":\{/)
})

test('cached and reasoning tokens have separate prices, and count once', async () => {
  first.script.push(
    whole('thought', {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 80 },
      completion_tokens_details: { reasoning_tokens: 40 },
    }),
  )
  const { tokens, nanos } = await charged(() => front.chat())
  assert.deepEqual([tokens, nanos], [150, 20 * 10_000 + 80 * 1000 + 10 * 20_000 + 40 * 40_000])
})

test('failed attempts without usage cost nothing; the upstream that answers sets the price', async () => {
  first.script.push(failing(500), failing(503))
  const { heard, tokens, nanos } = await charged(() => front.chat())
  assert.equal(heard.headers['x-gw-upstream'], 'second')
  assert.equal(first.asked.length, 2)
  assert.deepEqual([tokens, nanos], [10, CHEAP])
})

test('a request without an answer costs nothing', async () => {
  first.script.push(failing(500), failing(500))
  second.script.push(failing(500))
  const { heard, tokens, nanos } = await charged(() => front.chat())
  assert.equal(heard.status, 502)
  assert.deepEqual([tokens, nanos], [0, 0])
})

test("an attempt that reported usage before it failed is charged at its own model's price", async () => {
  // Some runtimes report the prompt's usage in the first event.
  const before = event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } })
  const cut = streaming({ words: [], before, finish: false, done: false, end: 'cut' })
  first.script.push(cut, cut)
  second.script.push(streaming({ words: ['from ', 'second'] }))
  const { heard, tokens, nanos } = await charged(() => front.stream())
  assert.equal(wordsOf(heard), 'from second')
  assert.deepEqual([tokens, nanos], [30, 2 * DEAR + CHEAP])
})

test('usage reported in several steps is not added up: the last step counts', async () => {
  const steps = [1, 2].map((completion_tokens) =>
    event({ choices: [], usage: { prompt_tokens: 7, completion_tokens } }),
  )
  first.script.push(streaming({ before: steps.join('') }))
  const { tokens, nanos } = await charged(() => front.stream())
  assert.deepEqual([tokens, nanos], [10, DEAR])
})

test('a stream that its client leaves is charged for its content so far, and marked as an estimate', async () => {
  first.script.push((outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    const word = event({ choices: [{ index: 0, delta: { content: 'w ' } }] })
    for (let words = 0; words < 9; words++) outgoing.write(word)
  })
  let asking: ReturnType<typeof front.ask> | undefined
  const { tokens } = await charged(async () => {
    const one = front.ask({ stream: true })
    asking = one
    await until('all words arrive', () => one.text().split('w ').length > 9)
    one.leave()
    return { status: 0, headers: {}, text: '', cut: true }
  })
  assert.equal(tokens, LEARNT_ESTIMATE + 9)
  const head = await asking?.head
  const trace = await front.admin(`/traces/${head?.headers['x-request-id']}`)
  assert.equal(trace.usage_estimated, true)
  assert.equal(trace.status, 499)
})

test('words that a client received cost their tokens, even if the upstream has reported only the prompt so far', async () => {
  const usage = { prompt_tokens: 40, completion_tokens: 1 }
  const word = event({ choices: [{ index: 0, delta: { content: 'w ' } }], usage })
  first.script.push(streaming({ before: word.repeat(9), words: [], end: 'cut' }))
  const { tokens } = await charged(() => front.stream())
  assert.equal(tokens, 40 + 9)
})

test('the estimate of a picture in a cut stream does not use its bytes', async () => {
  first.script.push(streaming({ end: 'cut' }))
  const url = `data:image/png;base64,${'A'.repeat(3_000_000)}`
  const content = [{ type: 'image_url', image_url: { url } }]
  const { tokens } = await charged(() => front.stream({ messages: [{ role: 'user', content }] }))
  assert.ok(tokens < 20_000, `${tokens} tokens`)
})

test('a stream that its upstream cuts is charged for its content, not for usage reported by another stream', async () => {
  first.script.push(streaming({ words: ['a', 'b', 'c'], end: 'cut' }))
  const { heard, tokens } = await charged(() => front.stream())
  assert.equal(heard.cut, true)
  assert.equal(tokens, LEARNT_ESTIMATE + 3)
})

test('a stream that exceeds its estimate reserves more, and settles what it used', async () => {
  const { promise: hold, resolve } = Promise.withResolvers<void>()
  const usage = { prompt_tokens: 7, completion_tokens: 600 }
  const before = event({ choices: [{ index: 0, delta: { content: 'w ' } }] }).repeat(600)
  first.script.push(streaming({ before, hold, usage }))
  const { tokens } = await charged(async () => {
    const asking = front.ask({ stream: true, max_tokens: 1 })
    // Running requests report their usage every five seconds.
    await until('it holds more', async () => {
      return (await standing(front, 'acme')).tokens_per_day.reserved >= 600
    })
    resolve()
    return await asking.over
  })
  assert.equal(tokens, 607)
})

test('budget gauges and token counters agree with the charges', async () => {
  const before = await front.series()
  const { tokens, nanos } = await charged(() => front.chat())
  const series = await front.series()
  const grown = (name: string) => (series.get(name) ?? 0) - (before.get(name) ?? 0)
  assert.equal(grown('gw_budget_tokens_used{tenant="acme",window="day"}'), tokens)
  const spend = grown('gw_budget_spend_usd{tenant="acme",window="month"}')
  assert.equal(Math.round(spend * 1e9), nanos)
  const labels = 'route="chat",upstream="first"'
  assert.equal(grown(`gw_tokens_total{${labels},kind="prompt"}`), USAGE.prompt_tokens)
  assert.equal(grown(`gw_tokens_total{${labels},kind="completion"}`), USAGE.completion_tokens)
})

test('an answer that cannot be used is charged what it reports, and so is the one after it', async () => {
  const empty = { id: 'x', object: 'chat.completion', choices: [], usage: USAGE }
  first.script.push(json(200, empty), whole())
  const { heard, tokens } = await charged(() => front.chat())
  assert.deepEqual([heard.status, tokens], [200, 20])
})
