/**
 * Bodies that are read in steps, and whose tree is dropped before the answer: each API serves them
 * like small bodies.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type Reply,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'

const LONG = 'word '.repeat(30_000)
const SAID = [{ role: 'user', content: LONG }]

/** Answers the requested text; reports no usage if the prompt says so. */
const replying: Reply = (outgoing, asked) => {
  const { stream } = asked.body
  if (asked.path.endsWith('/chat/completions')) {
    const usage = asked.body.user === 'uncounted' ? null : undefined
    return (
      stream === true ? streaming(usage === null ? { usage: {} } : {}) : whole('hello', usage)
    )(outgoing, asked)
  }
  outgoing.writeHead(200, { 'content-type': 'application/json' })
  const choices = [{ index: 0, text: 'hello', finish_reason: 'stop' }]
  const data = [{ object: 'embedding', index: 0, embedding: [1, 2] }]
  const results = [{ index: 0, relevance_score: 0.5 }]
  outgoing.end(JSON.stringify({ id: 'hello', model: 'served', choices, data, results }))
}
const upstream = await startUpstream(replying)
const front = await startFront({
  upstreams: [
    { name: 'local', provider: 'vllm', endpoint: upstream.url },
    {
      name: 'pods',
      provider: 'vllm',
      endpoint: upstream.url.replace('127.0.0.1', 'localhost'),
      endpoints: 'dns',
      balance: 'affinity',
    },
  ],
  routes: [
    { name: 'plain', strategy: 'single', primary: 'local' },
    { name: 'near', strategy: 'single', primary: 'pods' },
    { name: 'kept', strategy: 'single', primary: 'local', trace: { keep_texts: true } },
    {
      name: 'judged',
      strategy: 'semantic',
      upstreams: ['local', 'pods'],
      semantic: { easy: 'local', hard: 'pods' },
    },
  ],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

const streamed = (body: Readonly<Record<string, unknown>>) => [body, { ...body, stream: true }]

const ASKED = {
  '/v1/chat/completions': [
    ...streamed({ messages: SAID }),
    ...streamed({ messages: SAID, user: 'uncounted' }),
  ],
  '/v1/responses': [...streamed({ input: LONG }), ...streamed({ input: LONG, user: 'uncounted' })],
  '/v1/messages': [
    ...streamed({ messages: SAID, max_tokens: 10 }),
    ...streamed({ messages: SAID, max_tokens: 10, metadata: { user_id: 'uncounted' } }),
  ],
  '/v1/completions': [{ prompt: LONG }],
  '/v1/embeddings': [{ input: LONG }],
  '/v1/rerank': [{ query: 'a', documents: [LONG] }],
}

for (const model of ['plain', 'near', 'kept', 'judged']) {
  for (const [path, bodies] of Object.entries(ASKED)) {
    test(`${path} serves them by the route "${model}"`, async () => {
      for (const body of bodies) {
        const answer = await fetch(`${front.process.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${front.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, ...body }),
        })
        const text = await answer.text()
        assert.equal(answer.status, 200, text)
        assert.match(text, /hel|embedding|relevance_score/)
        assert.doesNotMatch(text, /ERR_GW|"error":\{/)
      }
    })
  }
}
