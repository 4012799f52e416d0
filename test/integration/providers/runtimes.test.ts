/** Behaviour of self-hosted runtimes, as clients of the gateway see it. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  errorOf,
  event,
  eventsOf,
  failing,
  type Reply,
  startFront,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../../helpers/fake-upstream.ts'

const [runtime, spare] = await Promise.all([startUpstream(), startUpstream()])
const at = { endpoint: runtime.url, model: 'served' }
const RUNTIMES = ['tgi', 'triton', 'llamacpp', 'sglang']
const front = await startFront({
  upstreams: [
    ...RUNTIMES.map((provider) => ({ name: provider, provider, ...at })),
    { name: 'spare', endpoint: spare.url },
  ],
  routes: RUNTIMES.flatMap((primary) => [
    { name: primary, strategy: 'single', primary },
    { name: `${primary}-pair`, strategy: 'primary_with_fallback', primary, fallback: ['spare'] },
  ]),
})
after(() => Promise.all([front.process.stop(), runtime.close(), spare.close()]))
beforeEach(() => {
  for (const upstream of [runtime, spare]) {
    upstream.asked.splice(0)
    upstream.reply = streaming()
  }
})

const TGI_OVERLOAD = { error: { message: 'Model is overloaded', http_status_code: 429 } }
const SGLANG_FULL = { message: 'The request queue is full.', type: 'ServiceUnavailableError' }
const SGLANG_OVERLOAD = { error: { object: 'error', ...SGLANG_FULL, param: null, code: 503 } }

function opening(first: unknown): Reply {
  return (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.end(event(first))
  }
}

for (const [name, first] of [
  ['tgi', TGI_OVERLOAD],
  ['sglang', SGLANG_OVERLOAD],
] as const) {
  test(`${name}: a stream that begins with status 200 and an overload counts as an overload, and the spare answers`, async () => {
    runtime.reply = opening(first)
    const heard = await front.stream({ model: name })
    assert.ok(heard.status === 429 || heard.status === 502 || heard.status === 503, heard.text)
    const spilled = await front.stream({ model: `${name}-pair` })
    assert.deepEqual([spilled.status, spilled.headers['x-gw-upstream']], [200, 'spare'])
    assert.equal(wordsOf(spilled), 'hello')
  })
}

test('tgi: types that TGI does not know arrive in a form that it reads', async () => {
  runtime.reply = whole()
  const asked = { top_p: 1, stop: 'x', logit_bias: {}, max_tokens: 5, max_completion_tokens: 6 }
  assert.equal((await front.chat({ model: 'tgi', ...asked })).status, 200)
  const { messages, ...sent } = runtime.asked[0]?.body ?? {}
  assert.deepEqual(sent, { model: 'served', stop: ['x'], max_tokens: 6 })
})

test('triton: unknown members are removed, a limit is sent, and reaching it gives finish reason length', async () => {
  runtime.reply = whole('cut', { prompt_tokens: 1, completion_tokens: 4096, total_tokens: 4097 })
  const asked = { parallel_tool_calls: true, metadata: { a: 'b' } }
  const heard = await front.chat({ model: 'triton', ...asked })
  const { messages, ...sent } = runtime.asked[0]?.body ?? {}
  assert.deepEqual(sent, { model: 'served', max_tokens: 4096, temperature: 1 })
  assert.equal(JSON.parse(heard.text).choices[0].finish_reason, 'length')
})

for (const detail of ['Unsupported field', [{ loc: ['body', 'x'], msg: 'Extra', type: 'extra' }]]) {
  test(`triton: a refusal as ${typeof detail} has the four members, with a text for a code`, async () => {
    runtime.reply = (outgoing) => {
      outgoing.writeHead(422, { 'content-type': 'application/json' })
      outgoing.end(JSON.stringify({ detail }))
    }
    const heard = await front.chat({ model: 'triton' })
    assert.equal(heard.status, 422)
    const error = errorOf(heard)
    assert.deepEqual(Object.keys(error).sort(), ['code', 'message', 'param', 'type'])
    assert.ok(error.code === null || typeof error.code === 'string')
  })
}

test('llama.cpp: the spare answers while a model is loading', async () => {
  runtime.reply = failing(503, { message: 'Loading model', type: 'unavailable_error', code: 503 })
  assert.equal((await front.chat({ model: 'llamacpp' })).status, 502)
  spare.reply = whole('from the spare')
  const heard = await front.chat({ model: 'llamacpp-pair' })
  assert.equal(heard.headers['x-gw-upstream'], 'spare')
})

test('llama.cpp: an error inside a stream without an end is an error of the stream', async () => {
  const hold = new Promise(setImmediate)
  runtime.reply = streaming({ end: 'error', finish: false, done: false, hold })
  const heard = await front.stream({ model: 'llamacpp' })
  if (heard.status === 200) {
    assert.equal(heard.cut, true)
    assert.ok(eventsOf(heard).at(-1).error)
  } else assert.equal(heard.status, 502)
  assert.doesNotMatch(heard.text, /\[DONE\]/)
})
