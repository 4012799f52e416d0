/**
 * One caller repeatedly asks for something that an upstream cannot do; the upstream still serves
 * other callers.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  failing,
  type Reply,
  startFront,
  startUpstream,
  whole,
} from '../../helpers/fake-upstream.ts'

/** More than enough to open a breaker. */
const TIMES = 8

const upstream = await startUpstream(whole())
const front = await startFront({
  upstreams: [
    {
      name: 'local',
      provider: 'vllm',
      endpoint: upstream.url,
      circuit_breaker: { failure_threshold: 5 },
    },
  ],
  routes: [{ name: 'chat', strategy: 'single', primary: 'local' }],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

async function post(path: string, body: Readonly<Record<string, unknown>>): Promise<number> {
  const answer = await fetch(`${front.process.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', ...body }),
  })
  await answer.text()
  return answer.status
}

const answering =
  (body: unknown): Reply =>
  (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' })
    outgoing.end(JSON.stringify(body))
  }

const vectors = { object: 'list', model: 'm', data: [{ index: 0, embedding: [1, 2] }] }
const texts = {
  id: 'a',
  object: 'text_completion',
  choices: [{ text: 'a', finish_reason: 'stop' }],
}

const odd: readonly [name: string, path: string, body: Record<string, unknown>, reply: Reply][] = [
  ['an API that the upstream has no path for', '/v1/embeddings', { input: 'a' }, failing(404)],
  ['an API that the upstream was not started with', '/v1/embeddings', { input: 'a' }, failing(501)],
  [
    'a method that the upstream refuses',
    '/v1/rerank',
    { query: 'a', documents: ['b'] },
    failing(405),
  ],
  [
    'dimensions that the model ignores',
    '/v1/embeddings',
    { input: 'a', dimensions: 3 },
    answering(vectors),
  ],
  ['choices that the upstream ignores', '/v1/completions', { prompt: 'a', n: 3 }, answering(texts)],
]

for (const [name, path, body, reply] of odd) {
  test(`${name}: the caller gets an error, and the breaker stays closed`, async () => {
    for (let time = 0; time < TIMES; time++) {
      upstream.script.push(reply)
      const status = await post(path, body)
      assert.ok([400, 404, 405, 502].includes(status), `${status}`)
    }
    assert.equal(upstream.script.length, 0, 'each was asked')
    assert.equal(
      await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'a' }] }),
      200,
    )
  })
}
