/**
 * Vectors of two models are not comparable, so a route's upstreams answer embeddings only for one
 * model.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { failing, type Reply, startFront, startUpstream } from '../helpers/fake-upstream.ts'

const vectors: Reply = (outgoing, { body }) => {
  const data = [body.input]
    .flat()
    .map((_, index) => ({ object: 'embedding', index, embedding: [1, 2] }))
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  const usage = { prompt_tokens: 10, total_tokens: 10 }
  outgoing.end(JSON.stringify({ object: 'list', data, model: body.model, usage }))
}

const upstream = await startUpstream(vectors)
const member = (name: string, model: string, more: object = {}) => ({
  name,
  model,
  endpoint: upstream.url,
  ...more,
})
const front = await startFront({
  upstreams: [
    member('first', 'small'),
    member('again', 'small'),
    member('other', 'large'),
    member('renamed', 'org/small-v1', { embeddings: { model: 'small' } }),
    member('measured', 'small', { embeddings: { dimensions: 3 } }),
  ],
  routes: [
    {
      name: 'chain',
      strategy: 'primary_with_fallback',
      primary: 'first',
      fallback: ['other', 'again', 'renamed'],
      retry: { max_attempts: 3 },
    },
    { name: 'turns', strategy: 'round_robin', upstreams: ['first', 'other'] },
    { name: 'measured', strategy: 'single', primary: 'measured' },
    { name: 'cheap', strategy: 'single', primary: 'other' },
  ],
  pricing: ['small', 'large', 'org/small-v1'].map((model) => ({ model, input: 1, output: 1 })),
  budgets: [
    { tenant: 'acme', tokens_per_day: 90, on_exceeded: 'downgrade', downgrade_route: 'cheap' },
  ],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

async function embed(model: string) {
  const answer = await fetch(`${front.process.url}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: 'a' }),
  })
  const { error } = JSON.parse(await answer.text())
  return {
    status: answer.status,
    upstream: answer.headers.get('x-gw-upstream'),
    headers: answer.headers,
    error,
  }
}

test('a request fails over among upstreams of one model, under any name, and to no other model', async () => {
  upstream.script.push(failing(500), failing(500))
  const { status, upstream: served, headers } = await embed('chain')
  assert.deepEqual([status, served], [200, 'renamed'])
  const models = upstream.asked.map(({ body }) => body.model)
  assert.deepEqual(models, ['small', 'small', 'org/small-v1'])
  const { passed_over } = await front.admin(`/traces/${headers.get('x-request-id')}`)
  assert.deepEqual(passed_over, [{ upstream: 'other', why: 'another embedding model' }])
})

test('a strategy alternates only among upstreams of one model', async () => {
  for (let turn = 0; turn < 3; turn++) assert.equal((await embed('turns')).upstream, 'first')
})

test('vectors whose length differs from the configured one are refused', async () => {
  const { status, error } = await embed('measured')
  assert.deepEqual([status, error.code], [502, 'ERR_GW_UPSTREAM_ERROR'])
})

test("a spent budget never switches to another model's vectors", async () => {
  let last = await embed('chain')
  for (let turn = 0; turn < 12 && last.status === 200; turn++) last = await embed('chain')
  assert.deepEqual([last.status, last.error.code], [402, 'ERR_GW_BUDGET_EXCEEDED'])
})
