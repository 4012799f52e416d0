/** The vector of a text comes from an upstream like a client's, and costs no tenant anything. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AuxiliaryError } from '../../../dataplane/auxiliaries/auxiliary.ts'
import { EMBEDDED_CHARACTERS_MAX } from '../../../dataplane/auxiliaries/embeddings.ts'
import { type FakeUpstream, type Reply, startUpstream } from '../../helpers/fake-upstream.ts'
import { assemble } from '../assembled-gateway.ts'

const vector: Reply = (outgoing) => {
  const data = [{ object: 'embedding', index: 0, embedding: [1, 0.5, -0.25] }]
  const body = { object: 'list', model: 'm', data, usage: { prompt_tokens: 2, total_tokens: 2 } }
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
const TERMS = { requestId: 'id-1' }

let upstream: FakeUpstream
before(async () => {
  upstream = await startUpstream(vector)
})
after(() => upstream.close())

function open(fields: Readonly<Record<string, unknown>> = {}) {
  upstream.reply = vector
  upstream.asked.length = 0
  const up = { name: 'up', provider: 'openai', endpoint: upstream.url, model: 'm' }
  const { gateway, targets } = assemble({
    upstreams: [{ ...up, api_key: '${env:SECRET}', ...fields }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
  })
  const count = (outcome: string) =>
    gateway.metrics.auxiliaryRequests.at('embedding', 'up', outcome).value
  return { gateway, targets, embed: gateway.embeddings.embed.bind(gateway.embeddings), count }
}

test('a text becomes a vector, with the credential and the model of the upstream', async () => {
  const { embed, count, targets } = open()
  const made = await embed({ upstream: 'up' }, 'hello', TERMS)
  assert.deepEqual(made, Float32Array.of(1, 0.5, -0.25))
  const [asked] = upstream.asked
  assert.equal(asked?.path, '/v1/embeddings')
  assert.deepEqual(asked?.body, { model: 'm', input: 'hello' })
  assert.equal(asked?.headers.authorization, 'Bearer plain-secret-of-the-test')
  assert.equal(asked?.headers['x-request-id'], 'id-1')
  assert.equal(count('ok'), 1)
  assert.equal(targets.named('up')?.inFlight, 0)
})

test('another model of the same upstream may be used', async () => {
  await open().embed({ upstream: 'up', model: 'other' }, 'hello', TERMS)
  assert.equal(upstream.asked[0]?.body.model, 'other')
})

test('a long text is cut, and no character is cut in half', async () => {
  await open().embed({ upstream: 'up' }, `${'x'.repeat(EMBEDDED_CHARACTERS_MAX - 1)}😀`, TERMS)
  const input = String(upstream.asked[0]?.body.input)
  assert.equal(input.length, EMBEDDED_CHARACTERS_MAX)
  assert.ok(input.isWellFormed())
})

test('a text is cut to the window of its model', async () => {
  await open({ context_window: 100 }).embed({ upstream: 'up' }, 'x'.repeat(1000), TERMS)
  assert.equal(String(upstream.asked[0]?.body.input).length, 300)
})

const failed = (outcome: string) => (error: Error) =>
  error instanceof AuxiliaryError && error.outcome === outcome

test('an upstream that does not exist, or answers without a vector, is an error', async () => {
  const { embed, count } = open()
  await assert.rejects(embed({ upstream: 'other' }, 'hello', TERMS), failed('error'))
  upstream.reply = (outgoing) => void outgoing.writeHead(200).end('{"data":[]}')
  await assert.rejects(embed({ upstream: 'up' }, 'hello', TERMS), failed('error'))
  assert.equal(count('error'), 1)
})

test('an upstream that keeps failing is not called for a while', async () => {
  const { embed, count } = open()
  upstream.reply = (outgoing) => void outgoing.writeHead(500).end('{}')
  for (let time = 0; time < 5; time++)
    await assert.rejects(embed({ upstream: 'up' }, 'hello', TERMS), failed('error'))
  await assert.rejects(embed({ upstream: 'up' }, 'hello', TERMS), failed('open'))
  assert.deepEqual([count('error'), count('open'), upstream.asked.length], [5, 1, 5])
})

test('an upstream without free places is not called', async () => {
  const { embed, targets } = open({ max_queue_depth: 1 })
  const { state } = targets.named('up') ?? assert.fail()
  state.inFlight = 1
  await assert.rejects(embed({ upstream: 'up' }, 'hello', TERMS), failed('open'))
  assert.equal(upstream.asked.length, 0)
})

test('a silent upstream takes no more than its allowed time', async () => {
  const { embed, targets, count } = open()
  upstream.reply = () => {}
  const asking = embed({ upstream: 'up' }, 'hello', { ...TERMS, timeoutMs: 20 })
  await assert.rejects(asking, failed('timeout'))
  // The rest of a request's time is seldom a whole number of milliseconds.
  const later = embed({ upstream: 'up' }, 'hello', { ...TERMS, timeoutMs: 20.02 })
  await assert.rejects(later, failed('timeout'))
  assert.equal(count('timeout'), 2)
  assert.equal(targets.named('up')?.inFlight, 0)
})

test('a client that leaves ends the call, and the upstream notices', async () => {
  const { embed, targets, count } = open()
  const arrived = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  upstream.reply = (outgoing) => {
    outgoing.on('close', closed.resolve)
    arrived.resolve()
  }
  const leaving = new AbortController()
  const asking = embed({ upstream: 'up' }, 'hello', { ...TERMS, signal: leaving.signal })
  await arrived.promise
  leaving.abort()
  await assert.rejects(asking, failed('left'))
  await closed.promise
  assert.deepEqual([targets.named('up')?.inFlight, count('left')], [0, 1])
})
