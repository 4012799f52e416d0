/** A guardrail that only judges runs beside the attempt: nothing reaches the client before its verdict. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, beforeEach, test } from 'node:test'
import {
  errorOf,
  eventsOf,
  failing,
  type Reply,
  silent,
  startFront,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../../helpers/fake-upstream.ts'
import { startSidecar } from '../../helpers/guardrail-sidecar.ts'
import { until } from '../../helpers/until.ts'

const [upstream, sidecar] = await Promise.all([startUpstream(), startSidecar()])
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up', guardrails: ['words'] }],
  guardrails: [{ name: 'words', endpoint: sidecar.url, parallel: true, timeout_ms: 60_000 }],
})
after(() => Promise.all([front.process.stop(), upstream.close(), sidecar.close()]))

const PASS = '{"action":{}}'
const BLOCK = '{"action":{"body":"Not here.","status_code":403}}'

/** The question to the sidecar, once it has come; the test answers it. */
let asked: PromiseWithResolvers<ServerResponse>

beforeEach(() => {
  upstream.asked.length = 0
  sidecar.asked.length = 0
  asked = Promise.withResolvers()
  sidecar.instead = asked.resolve
})

/** Asks, and gives the verdict when the upstream has been asked and `when` has passed. */
async function judged(
  reply: Reply,
  verdict: string,
  { stream = false, when = async () => {} } = {},
) {
  upstream.reply = reply
  const asking = front.ask({ stream })
  const outgoing = await asked.promise
  await until('the upstream is asked', () => upstream.asked.length === 1)
  await when()
  assert.equal(asking.text(), '')
  outgoing.end(verdict)
  return await asking.over
}

const inFlight = () => front.value('gw_upstream_in_flight{upstream="up"}')
/** The answer has been read whole, as far as the gateway reads it. */
const answered = async () => {
  await until('the upstream has answered', async () => (await inFlight()) === 0)
}

test('an answer that is there before the verdict waits for it', async () => {
  const heard = await judged(whole('hello'), PASS, { when: answered })
  assert.equal(heard.status, 200)
  assert.equal(JSON.parse(heard.text).choices[0].message.content, 'hello')
  assert.partialDeepStrictEqual((await front.trace(heard)).guardrails, [{ verdict: 'pass' }])
})

test('a stream that begins before the verdict is whole behind it', async () => {
  const words = Array.from({ length: 2000 }, (_, index) => `word-${index} `)
  const heard = await judged(streaming({ words }), PASS, { stream: true })
  assert.equal(wordsOf(heard), words.join(''))
  assert.equal(eventsOf(heard).at(-1), '[DONE]')
})

test('a block ends the attempt at once, and an upstream that was silent is charged its prompt alone', async () => {
  const heard = await judged(silent, BLOCK)
  assert.equal(heard.status, 400)
  assert.match(errorOf(heard).message, /Not here\./)
  const { attempts, prompt_tokens, completion_tokens } = await front.trace(heard)
  assert.equal(attempts[0].outcome, 'refused')
  assert.deepEqual([prompt_tokens > 0, completion_tokens], [true, 0])
  await answered()
})

test('a block behind the answer is a 400, and what the answer used is charged', async () => {
  const heard = await judged(whole('hello'), BLOCK, { when: answered })
  assert.equal(errorOf(heard).code, 'ERR_GW_GUARDRAIL_BLOCKED')
  assert.doesNotMatch(heard.text, /hello/)
  assert.equal((await front.trace(heard)).completion_tokens, 3)
})

test('a block behind the first words of a stream is a 400 without any of them', async () => {
  const { promise: hold, resolve } = Promise.withResolvers<void>()
  const heard = await judged(streaming({ words: ['one', 'two'], hold }), BLOCK, { stream: true })
  resolve()
  assert.equal(heard.status, 400)
  assert.doesNotMatch(heard.text, /one|two/)
  await answered()
})

test('a failure of the upstream waits for the verdict too, and a block wins', async () => {
  const blocked = await judged(failing(500), BLOCK, { when: answered })
  assert.equal(errorOf(blocked).code, 'ERR_GW_GUARDRAIL_BLOCKED')
  asked = Promise.withResolvers()
  sidecar.instead = asked.resolve
  upstream.asked.length = 0
  const failed = await judged(failing(500), PASS, { when: answered })
  assert.equal(failed.status, 502)
})

test('a sidecar that fails is a 503, though the upstream has answered', async () => {
  const heard = await judged(whole('hello'), 'nonsense', { when: answered })
  assert.equal(errorOf(heard).code, 'ERR_GW_AUXILIARY_UNAVAILABLE')
})

test('a client that leaves before the verdict leaves nothing behind', async () => {
  upstream.reply = whole('hello')
  const asking = front.ask()
  asking.head.catch(() => {})
  await asked.promise
  await answered()
  asking.leave()
  await until('its slot is given back', async () => {
    const { concurrent_requests } = await front.admin('/limits/acme')
    return concurrent_requests.used === 0
  })
})
