/**
 * Parameters that one upstream does not support: another upstream gets the request, or they are
 * dropped, or the client is refused.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { errorOf, startFront, startUpstream, streaming, whole } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const [narrow, wide] = await Promise.all([
  startUpstream(whole('narrow')),
  startUpstream(whole('wide')),
])
const front = await startFront({
  upstreams: [
    { name: 'narrow', provider: 'tgi', endpoint: narrow.url },
    { name: 'wide', provider: 'vllm', endpoint: wide.url },
    { name: 'local', provider: 'llamacpp', endpoint: narrow.url },
  ],
  routes: [
    { name: 'chat', strategy: 'primary_with_fallback', primary: 'narrow', fallback: ['wide'] },
    { name: 'one', strategy: 'single', primary: 'narrow' },
    { name: 'dropping', strategy: 'single', primary: 'narrow', on_unsupported: 'drop' },
    { name: 'endless', strategy: 'primary_with_fallback', primary: 'wide', fallback: ['local'] },
  ],
})
after(() => Promise.all([front.process.stop(), narrow.close(), wide.close()]))
beforeEach(() => {
  for (const upstream of [narrow, wide]) upstream.asked.splice(0)
  narrow.reply = whole('narrow')
})

test('the fallback answers a request that the primary does not support, and the trace shows the reason', async () => {
  const heard = await front.chat({ n: 2 })
  assert.deepEqual([heard.status, heard.headers['x-gw-upstream']], [200, 'wide'])
  assert.deepEqual([narrow.asked.length, wide.asked[0]?.body.n], [0, 2])
  const trace = await front.trace(heard)
  assert.deepEqual(trace.passed_over, [{ upstream: 'narrow', why: 'does not support n' }])
  assert.equal(trace.attempts.length, 1)
  assert.equal(await front.value('gw_overflow_total{route="chat",reason="upstream_error"}'), 0)
})

test('if no upstream supports it, the client reads what to send instead', async () => {
  const heard = await front.chat({ model: 'one', logit_bias: { '5': 1 } })
  assert.equal(heard.status, 400)
  const { message, ...error } = errorOf(heard)
  assert.match(message, /tgi.*"logit_bias".*leave logit_bias out/)
  assert.partialDeepStrictEqual(error, {
    type: 'invalid_request_error',
    param: 'logit_bias',
    code: 'ERR_GW_INVALID_REQUEST',
  })
  assert.equal(narrow.asked.length, 0)
})

test('a value that requests nothing is left out, and so are hints, which the trace names', async () => {
  const defaults = { n: 1, logit_bias: {}, presence_penalty: 0, modalities: ['text'] }
  const heard = await front.chat({ model: 'one', ...defaults, user: 'u', store: true })
  assert.equal(heard.status, 200)
  assert.deepEqual(Object.keys(narrow.asked[0]?.body ?? {}).sort(), ['messages', 'model'])
  assert.equal('x-gw-dropped-parameters' in heard.headers, false)
  const { attempts } = await front.trace(heard)
  assert.deepEqual(attempts[0].left_out, ['user', 'store'])
})

test('a route that drops leaves parameters out and names them in its answer', async () => {
  const heard = await front.chat({ model: 'dropping', n: 2, logit_bias: { '5': 1 }, top_k: 4 })
  assert.equal(heard.status, 200)
  assert.equal(heard.headers['x-gw-dropped-parameters'], 'n, logit_bias')
  assert.deepEqual(narrow.asked[0]?.body.top_k, 4)
  assert.deepEqual(Object.keys(narrow.asked[0]?.body ?? {}).sort(), ['messages', 'model', 'top_k'])
  assert.deepEqual((await front.trace(heard)).attempts[0].dropped, ['n', 'logit_bias'])
  const lineOf = () =>
    front.logged('request').find((one) => one.request_id === heard.headers['x-request-id'])
  await until('the line of the log', () => lineOf() !== undefined)
  assert.deepEqual(lineOf()?.dropped, ['n', 'logit_bias'])
})

test('a stream names the parameters dropped for it, and ends with its one choice', async () => {
  narrow.reply = streaming()
  const heard = await front.stream({ model: 'dropping', n: 2 })
  assert.deepEqual([heard.status, heard.cut], [200, false])
  assert.equal(heard.headers['x-gw-dropped-parameters'], 'n')
  assert.match(heard.text, /\[DONE\]/)
})

test('a limit of -1 tokens goes only to the runtime that reads it as no limit', async () => {
  const heard = await front.chat({ model: 'endless', max_tokens: -1 })
  assert.deepEqual([heard.status, heard.headers['x-gw-upstream']], [200, 'local'])
  assert.equal('max_tokens' in (narrow.asked[0]?.body ?? {}), false)
  assert.deepEqual((await front.trace(heard)).passed_over, [
    { upstream: 'wide', why: 'does not support max_tokens' },
  ])
  for (const max_tokens of [-1, 0]) {
    const refused = await front.chat({ model: 'one', max_tokens })
    const { message, param } = errorOf(refused)
    assert.deepEqual([refused.status, param], [400, 'max_tokens'])
    assert.match(message, /tgi.*"max_tokens": send a whole number from 1 or leave max_tokens out/)
  }
  const dropped = await front.chat({ model: 'dropping', max_tokens: -1 })
  assert.equal(dropped.headers['x-gw-dropped-parameters'], 'max_tokens')
  assert.equal('max_tokens' in (narrow.asked.at(-1)?.body ?? {}), false)
})
