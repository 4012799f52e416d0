/**
 * How alerts are sent: through the egress proxy like other requests, and before the process ends.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  after as afterwards,
  type FakeUpstream,
  type Front,
  silent,
  startFront,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import { startProxy } from './connect-proxy.ts'

const [upstream, proxy] = await Promise.all([startUpstream(), startProxy()])
const started: Front[] = []
const receivers: FakeUpstream[] = []
after(async () => {
  await Promise.all(started.map(({ process }) => process.stop()))
  await Promise.all([...receivers, upstream, proxy].map((one) => one.close()))
})

/** Each request uses ten of its tenant's hundred tokens, so it reaches the next threshold. */
async function start(more: Readonly<Record<string, unknown>>, path = '/hook?team=ml') {
  const receiver = await startUpstream()
  const front = await startFront({
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    budgets: [{ tenant: 'acme', tokens_per_day: 100, alert_thresholds: [0.1, 0.2, 0.3] }],
    alerts: { webhook_url: receiver.url + path },
    ...more,
  })
  receivers.push(receiver)
  started.push(front)
  return { front, receiver }
}

test('alerts go through the proxy', async () => {
  const http_proxy = `http://127.0.0.1:${proxy.port}`
  const { front, receiver } = await start({ http_proxy, no_proxy: new URL(upstream.url).host })
  assert.equal((await front.chat()).status, 200)
  await until('the alert has come', () => receiver.asked.length === 1)
  assert.deepEqual(
    proxy.asked.map(({ line }) => line),
    [`POST ${receiver.url}/hook?team=ml`],
  )
  assert.equal(receiver.asked[0]?.path, '/hook?team=ml')
  assert.equal(receiver.asked[0]?.body.type, 'budget_alert')
})

test('alerts bypass the proxy if no_proxy names their host', async () => {
  const before = proxy.asked.length
  const http_proxy = `http://127.0.0.1:${proxy.port}`
  const { front, receiver } = await start({ http_proxy, no_proxy: '127.0.0.0/8' })
  assert.equal((await front.chat()).status, 200)
  await until('the alert has come', () => receiver.asked.length === 1)
  assert.equal(proxy.asked.length, before)
})

test('SIGTERM: waiting alerts are delivered before the process ends', async () => {
  const { front, receiver } = await start({})
  const { promise: release, resolve } = Promise.withResolvers<void>()
  receiver.script.push(afterwards(release, whole()))
  for (let asked = 0; asked < 3; asked++) await front.chat()
  await until('the first is being posted', () => receiver.asked.length === 1)
  front.process.signal('SIGTERM')
  await until('it drains', () => front.process.output().includes('Draining'))
  resolve()
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
  assert.deepEqual(
    receiver.asked.map(({ body }) => body.threshold),
    [0.1, 0.2, 0.3],
  )
})

test('SIGTERM: a receiver that never answers delays the process by at most the drain timeout', async () => {
  const { front, receiver } = await start({ gateway: { drain_timeout_seconds: 1 } })
  receiver.reply = silent
  for (let asked = 0; asked < 3; asked++) await front.chat()
  await until('the first is being posted', () => receiver.asked.length === 1)
  front.process.signal('SIGTERM')
  const exit = front.process.exited
  assert.deepEqual(await exit, { code: 0, signal: null })
  assert.match(front.process.output(), /3 alerts were not delivered\./)
  assert.equal(receiver.asked.length, 1, 'there was no time for another attempt')
})
