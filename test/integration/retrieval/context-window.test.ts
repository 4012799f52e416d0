/**
 * Passages that overflow a context window are left out by score, and `gw context inspect` shows
 * what was sent.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { errorOf, startFront, startUpstream } from '../../helpers/fake-upstream.ts'
import { gw } from '../../helpers/gw-here.ts'
import { startQdrant } from '../../helpers/vector-stores/qdrant-server.ts'
import { embedding, wordVector } from '../../helpers/vector-stores/word-vectors.ts'

const [small, large, embedder, qdrant] = await Promise.all([
  startUpstream(),
  startUpstream(),
  startUpstream(embedding),
  startQdrant(),
])
qdrant.fill(
  ['refunds are paid', 'refunds take long', 'shipping takes days'].map((words) => {
    const text = `${words} `.repeat(40).trim()
    return {
      id: words.replaceAll(' ', '-'),
      text,
      vector: wordVector(words),
      source: 'handbook.md',
      tenant: 'acme',
    }
  }),
)
const store = { provider: 'qdrant', endpoint: qdrant.url, collection: 'docs', shared: true }
const front = await startFront({
  upstreams: [
    { name: 'small', endpoint: small.url, model: 'm', context_window: 300 },
    { name: 'large', endpoint: large.url, model: 'm', context_window: 700 },
    { name: 'embedder', endpoint: embedder.url },
  ],
  routes: [
    { name: 'chat', strategy: 'round_robin', upstreams: ['small', 'large'], retrieval: ['docs'] },
    { name: 'plain', strategy: 'single', primary: 'small' },
    {
      name: 'kept',
      strategy: 'single',
      primary: 'large',
      retrieval: ['docs'],
      trace: { keep_texts: true },
    },
  ],
  vector_stores: [{ ...store, name: 'docs', embedding: { upstream: 'embedder', model: 'e' } }],
  retrieval: [{ name: 'docs', overflow_strategy: 'truncate_lowest_score' }],
  telemetry: { trace_ring: 40 },
  context: { reserve_completion_tokens: 200, overflow_strategy: 'truncate_lowest_score' },
})
after(async () => {
  await front.process.stop()
  await Promise.all([small, large, embedder, qdrant].map((one) => one.close()))
})

const ask = (content: string, more: object = {}) =>
  front.ask({ model: 'chat', messages: [{ role: 'user', content }], ...more }).over
const inspect = (id: unknown, ...more: string[]) =>
  gw('context', 'inspect', '--admin', front.process.adminUrl, '--request-id', String(id), ...more)

test('the passages with the lowest scores are left out, and an upstream whose window is too small is skipped', async () => {
  const heard = await ask('refunds are paid')
  assert.equal(heard.status, 200)
  assert.equal(heard.headers['x-gw-upstream'], 'large')
  const text = JSON.stringify(large.asked[0]?.body.messages)
  assert.match(text, /refunds are paid/)
  assert.doesNotMatch(text, /shipping/)
  const id = heard.headers['x-request-id']
  const { stdout, code } = await inspect(id, '-o', 'json')
  assert.equal(code, 0)
  const inspected = JSON.parse(stdout)
  assert.partialDeepStrictEqual(inspected, { window: 700, reserved: 200, route: 'chat' })
  assert.equal(inspected.prompt.counted, 'estimate')
  assert.equal(inspected.room, 700 - 200 - inspected.prompt.tokens)
  assert.ok(inspected.added > 100 && inspected.added <= inspected.room)
  const left = inspected.passages.filter(({ kept }: { kept: boolean }) => !kept)
  assert.partialDeepStrictEqual(left.at(-1), {
    id: 'shipping-takes-days',
    reason: 'context_window',
  })
  const shown = await inspect(id)
  assert.match(shown.stdout, /window +700 tokens, 200 for the answer/)
  assert.match(shown.stdout, /docs +shipping-takes-days +0\.\d+ +\d+ +no +context_window/)
  assert.doesNotMatch(shown.stdout, /refunds are paid/)
})

test('a prompt that overflows by itself is refused with the numbers, without a search', async () => {
  const before = qdrant.asked.length
  const heard = await ask('refunds are paid '.repeat(200))
  assert.equal(heard.status, 400)
  const { code, context_window, prompt_tokens } = errorOf(heard)
  assert.deepEqual([code, context_window], ['ERR_GW_CONTEXT_OVERFLOW', 700])
  assert.ok(Number(prompt_tokens) > 700)
  assert.equal(qdrant.asked.length, before)
})

test('an overflow is shown with the count that caused the refusal, and with the requested limit', async () => {
  const content = 'refunds are paid '.repeat(200)
  const heard = await ask(content, { max_tokens: 50 })
  const { prompt_tokens } = errorOf(heard)
  const id = heard.headers['x-request-id']
  const { stdout } = await inspect(id, '-o', 'json')
  assert.partialDeepStrictEqual(JSON.parse(stdout), {
    status: 400,
    prompt: { tokens: prompt_tokens, counted: 'estimate' },
    max_tokens: 50,
    window: 700,
  })
  assert.match((await inspect(id)).stdout, /passages +not looked up/)
})

test('an answer limit that needs the whole window leaves no room for passages', async () => {
  const heard = await ask('refunds', { max_tokens: 680 })
  assert.equal(heard.status, 200)
  const { body } = large.asked.at(-1) ?? assert.fail('It was not asked.')
  assert.deepEqual(body.messages, [{ role: 'user', content: 'refunds' }])
})

test('a request without passages is shown, and an unknown one ends with 1', async () => {
  const { headers } = await front.chat({ model: 'plain' })
  const { stdout } = await inspect(headers['x-request-id'])
  assert.match(stdout, /prompt +not counted/)
  assert.match(stdout, /window +300 tokens/)
  assert.equal((await inspect('nowhere')).code, 1)
})

test('a route that keeps texts shows the assembled and omitted ones, until newer requests come', async () => {
  const { process } = front
  const heard = await front.ask({
    model: 'kept',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'refunds \u001b[31mmarker-5121' },
    ],
  }).over
  assert.equal(heard.status, 200, heard.text)
  const id = heard.headers['x-request-id']
  const { texts, passages } = JSON.parse((await inspect(id, '-o', 'json')).stdout)
  const said = texts.messages.map(({ role }: { role: string }) => role)
  assert.deepEqual([said, texts.left_out], [['system', 'user', 'user'], 0])
  assert.match(texts.messages[1].text, /were looked up for the next message[\s\S]*refunds are paid/)
  assert.equal(texts.messages[2].text, 'refunds \u001b[31mmarker-5121')
  const sent = large.asked.at(-1)?.body.messages as { content: string }[]
  assert.deepEqual(
    texts.messages.map(({ text }: { text: string }) => text),
    sent.map(({ content }) => content),
  )
  const shipping = passages.find(({ id }: { id: string }) => id === 'shipping-takes-days')
  assert.equal(shipping.kept, false)
  assert.match(shipping.text, /^shipping takes days/)

  const { stdout } = await inspect(id)
  assert.match(stdout, /\nsystem:\n {2}Be brief\.\n/)
  assert.match(stdout, /\nuser:\n {2}refunds {2}\[31mmarker-5121\n/)
  assert.match(stdout, /\npassage shipping-takes-days of docs, left out:\n {2}shipping takes days/)
  assert.ok(!stdout.includes('\u001b'))

  const tree = await gw('trace', 'get', String(id), '--admin', process.adminUrl)
  const metrics = await (await fetch(`${process.metricsUrl}/metrics`)).text()
  const traces = JSON.stringify(await front.admin('/traces?limit=100'))
  for (const other of [tree.stdout, metrics, traces, process.output()])
    assert.doesNotMatch(other, /marker-5121|Be brief|takes days/)

  for (let time = 0; time < 40; time++) await front.chat({ model: 'plain' })
  assert.equal((await inspect(id)).code, 1)
})

test('a route that is not configured to keep texts reports that', async () => {
  const { headers } = await front.chat({ model: 'plain' })
  const { stdout } = await inspect(headers['x-request-id'])
  assert.match(stdout, /texts +not kept; routes\[\]\.trace\.keep_texts keeps them/)
  const json = await inspect(headers['x-request-id'], '-o', 'json')
  assert.equal(JSON.parse(json.stdout).texts, null)
})
