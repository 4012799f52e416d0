/**
 * An event that is too large to buffer is forwarded in pieces, without a heartbeat between them.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { event, eventsOf, startFront, startUpstream, streaming } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'

const [upstream, idle] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  gateway: { sse: { heartbeat_seconds: 1 } },
  upstreams: [
    { name: 'up', endpoint: upstream.url },
    { name: 'idle', endpoint: idle.url },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'up' },
    { name: 'idle', strategy: 'single', primary: 'idle' },
  ],
})
after(() => Promise.all([front.process.stop(), upstream.close(), idle.close()]))

test('a heartbeat waits for the end of the event', async () => {
  const large = 'x'.repeat(1_500_000)
  const whole = event({ choices: [{ index: 0, delta: { content: large }, finish_reason: null }] })
  const rest = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  upstream.reply = async (outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(event({ choices: [{ index: 0, delta: { content: 'first' } }] }))
    outgoing.write(whole.slice(0, 1_200_000))
    await rest.promise
    outgoing.write(whole.slice(1_200_000))
    await end.promise
    outgoing.end('data: [DONE]\n\n')
  }
  const asking = front.ask({ stream: true })
  await until('the first pieces have arrived', () => asking.text().length > 1_048_576)
  // Another stream, which is silent between its events, shows that heartbeats were due meanwhile.
  idle.reply = streaming({ hold: rest.promise })
  const other = front.ask({ model: 'idle', stream: true })
  await until('heartbeats have been due', () => other.text().split(': keepalive').length > 3)
  // On a slow machine a heartbeat may come before it begins.
  const hasBeatSince = () => asking.text().slice(asking.text().indexOf('xxx')).includes('keepalive')
  assert.ok(!hasBeatSince())
  rest.resolve()
  await until('the delayed heartbeat has come', hasBeatSince)
  end.resolve()
  const heard = await asking.over
  assert.equal(heard.cut, false)
  const [first, second] = eventsOf(heard)
  assert.equal(first.choices[0].delta.content, 'first')
  assert.equal(second.choices[0].delta.content, large)
  await other.over
})
