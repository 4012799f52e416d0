/**
 * A guardrail that only judges runs in parallel with the attempt: the client receives nothing
 * before the verdict.
 */
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

/** The request to the sidecar, once received; the test answers it. */
let asked: PromiseWithResolvers<ServerResponse>

beforeEach(() => {
  upstream.asked.length = 0
  sidecar.asked.length = 0
  asked = Promise.withResolvers()
  sidecar.instead = asked.resolve
})

/**
 * Sends a request, and returns the verdict once the upstream has the request and `when` has passed.
 */
async function judged(
  reply: Reply,
  verdict: string,
  { stream = false, when = async () => {} } = {},
) {
  upstream.reply = reply
  const asking = front.ask({ stream })
  const outgoing = await asked.promise
  await until('the upstream has the request', () => upstream.asked.length === 1)
  await when()
  assert.equal(asking.text(), '')
  outgoing.end(verdict)
  return await asking.over
}

const inFlight = () => front.value('gw_upstream_in_flight{upstream="up"}')
/** The gateway has read the answer as far as it can. */
const answered = async () => {
  await until('the upstream has answered', async () => (await inFlight()) === 0)
}

test('an answer that arrives before the verdict waits for it', async () => {
  const heard = await judged(whole('hello'), PASS, { when: answered })
  assert.equal(heard.status, 200)
  assert.equal(JSON.parse(heard.text).choices[0].message.content, 'hello')
  assert.partialDeepStrictEqual((await front.trace(heard)).guardrails, [{ verdict: 'pass' }])
})

test('a stream that begins before the verdict is complete after it', async () => {
  const words = Array.from({ length: 2000 }, (_, index) => `word-${index} `)
  const heard = await judged(streaming({ words }), PASS, { stream: true })
  assert.equal(wordsOf(heard), words.join(''))
  assert.equal(eventsOf(heard).at(-1), '[DONE]')
})

test('a block ends the attempt at once, and a silent upstream is charged only for its prompt', async () => {
  const heard = await judged(silent, BLOCK)
  assert.equal(heard.status, 400)
  assert.match(errorOf(heard).message, /Not here\./)
  const { attempts, prompt_tokens, completion_tokens } = await front.trace(heard)
  assert.equal(attempts[0].outcome, 'refused')
  assert.deepEqual([prompt_tokens > 0, completion_tokens], [true, 0])
  await answered()
})

test("a block after the answer returns 400, and the answer's usage is charged", async () => {
  const heard = await judged(whole('hello'), BLOCK, { when: answered })
  assert.equal(errorOf(heard).code, 'ERR_GW_GUARDRAIL_BLOCKED')
  assert.doesNotMatch(heard.text, /hello/)
  assert.equal((await front.trace(heard)).completion_tokens, 3)
})

test('a block after the first words of a stream returns 400 without any of them', async () => {
  const { promise: hold, resolve } = Promise.withResolvers<void>()
  const heard = await judged(streaming({ words: ['one', 'two'], hold }), BLOCK, { stream: true })
  resolve()
  assert.equal(heard.status, 400)
  assert.doesNotMatch(heard.text, /one|two/)
  await answered()
})

test('a failure of the upstream also waits for the verdict, and a block takes precedence', async () => {
  const blocked = await judged(failing(500), BLOCK, { when: answered })
  assert.equal(errorOf(blocked).code, 'ERR_GW_GUARDRAIL_BLOCKED')
  asked = Promise.withResolvers()
  sidecar.instead = asked.resolve
  upstream.asked.length = 0
  const failed = await judged(failing(500), PASS, { when: answered })
  assert.equal(failed.status, 502)
})

test('a failing sidecar returns 503, even if the upstream has answered', async () => {
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
