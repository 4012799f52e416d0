/**
 * Easy and hard prompts go to two upstreams: classified by meaning, or by their text if no vectors
 * are available.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type Asked,
  type Front,
  failing,
  type Reply,
  startFront,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'

/** Texts about rain are hard here, regardless of their words. */
const vectors: Reply = (outgoing, { body }: Asked) => {
  const embedding = /rain/.test(String(body.input)) ? [0, 1] : [1, 0]
  const data = [{ object: 'embedding', index: 0, embedding }]
  const answer = { object: 'list', model: 'v', data, usage: { prompt_tokens: 1, total_tokens: 1 } }
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
}
const HARD = 'Prove the theorem step by step, and derive the general formula for every prime.'
const EXEMPLARS = { easy: ['sunshine', 'wind'], hard: ['rain', 'more rain'] }

const [chats, embedder] = await Promise.all([startUpstream(whole()), startUpstream(vectors)])
let front: Front

before(async () => {
  const sides = { easy: 'small', hard: 'large' }
  const embedding = { upstream: 'vectors', model: 'other', exemplars: EXEMPLARS }
  front = await startFront({
    upstreams: [
      { name: 'small', endpoint: chats.url },
      { name: 'large', endpoint: chats.url },
      { name: 'vectors', endpoint: embedder.url },
    ],
    routes: [
      { name: 'text', strategy: 'semantic', semantic: sides },
      {
        name: 'meaning',
        strategy: 'semantic',
        semantic: { ...sides, classifier: 'embedding', embedding },
      },
    ],
  })
})
after(() => Promise.all([front.process.stop(), chats.close(), embedder.close()]))

const ask = async (model: string, content: string) => {
  const heard = await front.chat({ model, messages: [{ role: 'user', content }] })
  assert.equal(heard.status, 200)
  return heard
}
/** A busy machine may return the vector too late, and then the text decides. */
const askForMeaning = async (content: string) => {
  let heard = await ask('meaning', content)
  await until('it is classified by its meaning', async () => {
    if ((await front.trace(heard)).semantic.classifier === 'embedding') return true
    heard = await ask('meaning', content)
    return false
  })
  return heard
}
const ready = async () => (await front.admin('/status')).classifiers[0]?.ready === true

for (const [content, upstream, side] of [
  ['hello', 'small', 'easy'],
  [HARD, 'large', 'hard'],
] as const) {
  test(`the built-in classifier sends a prompt to ${upstream}, and the trace shows the reason`, async () => {
    const heard = await ask('text', content)
    assert.equal(heard.headers['x-gw-upstream'], upstream)
    const { semantic, strategy } = await front.trace(heard)
    assert.partialDeepStrictEqual(
      [strategy, semantic],
      ['semantic', { classifier: 'builtin', side }],
    )
    const { score } = semantic
    assert.equal(heard.headers['x-gw-semantic'], `${side}; score=${score.toFixed(3)}; by=builtin`)
  })
}

test('exemplars are embedded at the start, with the configured model', async () => {
  await until('all exemplars are embedded', ready)
  const inputs = embedder.asked.map(({ body }) => String(body.input))
  assert.deepEqual(inputs.toSorted(), [...EXEMPLARS.easy, ...EXEMPLARS.hard].toSorted())
  assert.equal(embedder.asked[0]?.body.model, 'other')
  const { stdout } = await gw('status', '--admin', front.process.adminUrl)
  assert.match(stdout, /SEMANTIC ROUTE.*\nmeaning +vectors +yes +4\/4/)
})

test('the embedding classifier routes prompts by their meaning', async () => {
  await until('all exemplars are embedded', ready)
  const hard = await askForMeaning('it will rain')
  assert.equal(hard.headers['x-gw-upstream'], 'large')
  assert.equal(hard.headers['x-gw-semantic'], 'hard; score=1.000; by=embedding')
  assert.equal((await askForMeaning(HARD)).headers['x-gw-upstream'], 'small')
  const { semantic, prompt_tokens } = await front.trace(hard)
  assert.partialDeepStrictEqual(semantic, { classifier: 'embedding', side: 'hard' })
  assert.equal(prompt_tokens, 7, 'the tenant pays only for the answer')
  const { stdout } = await gw(
    ...['trace', 'get', String(hard.headers['x-request-id']), '--format', 'tree'],
    ...['--admin', front.process.adminUrl],
  )
  assert.match(stdout, /prompt: hard, score 1\.000 \(embedding\)/)
})

test('the built-in classifier replaces an unavailable embedding upstream, and reports it', async () => {
  await until('all exemplars are embedded', ready)
  embedder.reply = failing(500)
  const heard = await ask('meaning', HARD)
  embedder.reply = vectors
  assert.equal(heard.headers['x-gw-upstream'], 'large')
  const { semantic } = await front.trace(heard)
  assert.partialDeepStrictEqual(semantic, { classifier: 'builtin', side: 'hard' })
  assert.match(semantic.reason, /vectors/)
  const labels = 'route="meaning",classifier="builtin",side="hard"'
  assert.ok((await front.value(`gw_semantic_decisions_total{${labels}}`)) >= 1)
})

test('gw explain names the exemplars', async () => {
  const { stdout } = await gw('explain', '--admin', front.process.adminUrl, '--route', 'meaning')
  assert.match(stdout, /judged by meaning: vectors of vectors, 2 easy and 2 hard exemplars/)
})
