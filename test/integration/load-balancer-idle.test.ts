/**
 * A load balancer that closes silent connections: an answer that is not a stream comes before that.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  errorOf,
  after as later,
  silent,
  startFront,
  startUpstream,
  streaming,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const IDLE_SECONDS = 3
const upstream = await startUpstream()
const front = await startFront({
  gateway: { load_balancer_idle_seconds: IDLE_SECONDS, sse: { heartbeat_seconds: 1 } },
  upstreams: [{ name: 'slow', endpoint: upstream.url, timeout_seconds: 100 }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'slow' }],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

test("an answer that is not a stream gets 504 before the load balancer's timeout; a stream continues", async () => {
  const moment = Promise.withResolvers<void>()
  upstream.script.push(later(moment.promise, streaming()))
  const stream = front.ask({ stream: true })
  await until('the stream waits', () => upstream.asked.length === 1)
  upstream.reply = silent
  const began = performance.now()
  const heard = await front.chat()
  const milliseconds = performance.now() - began
  assert.equal(heard.status, 504)
  assert.equal(errorOf(heard).code, 'ERR_GW_PROXY_TIMEOUT')
  assert.ok(milliseconds > (IDLE_SECONDS - 1) * 1000 && milliseconds < 60_000, `${milliseconds} ms`)
  moment.resolve()
  const streamed = await stream.over
  assert.equal(wordsOf(streamed), 'hello')
  assert.equal(streamed.cut, false)
})
