/** Partial usage from an upstream, or only one of its halves, is charged in full; parts of a half are counted apart. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { event, type Reply, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { keysOf, standing, startLimited, untilIdle } from './limits/limited-gateway.ts'

const upstream = await startUpstream()
const gateway = await startLimited(
  {
    upstreams: [{ name: 'runtime', endpoint: upstream.url, model: 'served' }],
    routes: [{ name: 'runtime', strategy: 'single', primary: 'runtime' }],
    rate_limits: { default: PLENTY },
    budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000_000 }],
  },
  keysOf(['acme']),
)
after(() => Promise.all([gateway.stop(), upstream.close()]))
const front = gateway.as('acme')

/** The tokens that one request is charged. */
async function charged(reply: Reply, fields: object) {
  const before = (await standing(front, 'acme')).tokens_per_day.used
  upstream.script.push(reply)
  const answer = await fetch(`${front.process.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...fields }),
  })
  await answer.text()
  await untilIdle(front, 'acme')
  const tokens = (await standing(front, 'acme')).tokens_per_day.used - before
  const trace = await front.admin(`/traces/${answer.headers.get('x-request-id')}`)
  return { tokens, isEstimated: trace.usage_estimated }
}

const TEXT = 'x'.repeat(4000)
for (const [usage, tokens] of [
  [{ prompt_tokens: 7, total_tokens: 507 }, 507],
  [{ completion_tokens: 500, total_tokens: 507 }, 507],
] as const) {
  test(`${JSON.stringify(usage)}: the missing half is the rest of the total`, async () => {
    const { tokens: used, isEstimated } = await charged(whole(TEXT, usage), { model: 'runtime' })
    assert.deepEqual([used, isEstimated], [tokens, undefined])
  })
}

for (const completion of [undefined, null, -1, '500', 1e300]) {
  test(`an answer with ${completion} completion tokens is estimated and not free`, async () => {
    const usage = { prompt_tokens: 7, completion_tokens: completion }
    const { tokens, isEstimated } = await charged(whole(TEXT, usage), { model: 'runtime' })
    assert.ok(tokens >= 7 + TEXT.length / 4, `${tokens} tokens`)
    assert.equal(isEstimated, true)
  })
}

const words = (count: number) =>
  Array.from({ length: count }, () => event({ choices: [{ index: 0, delta: { content: 'w ' } }] }))

test('a stream that reports only its prompt is also charged for its content', async () => {
  const finish = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
  const usage = event({ choices: [], usage: { prompt_tokens: 7 } })
  const reply: Reply = (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.end([...words(9), finish, usage, 'data: [DONE]\n\n'].join(''))
  }
  const { tokens, isEstimated } = await charged(reply, { model: 'runtime', stream: true })
  assert.deepEqual([tokens, isEstimated], [16, true])
})

test('tokens of caches and of thinking are counted as parts of the prompt and of the completion', async () => {
  const usage = {
    prompt_tokens: 70,
    completion_tokens: 30,
    prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 20 },
    completion_tokens_details: { reasoning_tokens: 10 },
  }
  const value = (kind: string) =>
    front.value(`gw_tokens_total{route="runtime",upstream="runtime",kind="${kind}"}`)
  const kinds = ['prompt', 'completion', 'cache_read', 'cache_write', 'reasoning']
  const counts = () => Promise.all(kinds.map(value))
  const shown = async () => (await front.admin('/activity')).routes[0].tokens
  const [before, total] = [await counts(), await shown()]
  const { tokens } = await charged(whole('Hi', usage), { model: 'runtime' })
  assert.equal(tokens, 100)
  const after = await counts()
  assert.deepEqual(
    after.map((count, index) => count - (before[index] ?? 0)),
    [70, 30, 40, 20, 10],
  )
  assert.equal((await shown()) - total, 100, 'the total counts no token twice')
})
