/**
 * Clients that disconnect: the upstream request is aborted at once, and nothing remains in flight.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { until } from '../../helpers/until.ts'
import { answerWhole } from './fake-upstream.ts'
import { CHAT_BODY, chatBytes, framedBytes, open, startFront } from './front.ts'
import type { RawSocket } from './raw-socket.ts'

const front = await startFront()
after(() => front.stop())

const { upstream } = front
const STREAM_BODY = CHAT_BODY.replace('{', '{"stream":true,')
const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'
const WAYS = ['leave', 'reset', 'sendEnd'] as const
/** No timer of the gateway would have aborted anything by then. */
const SECONDS_MAX = 20

beforeEach(() => {
  upstream.asked.length = 0
  upstream.abandoned = 0
  upstream.reply = answerWhole
})

/** All values of a metric, with their labels. */
async function gauge(name: string): Promise<number> {
  const text = await (await fetch(`${front.gateway.metricsUrl}/metrics`)).text()
  const values = text.split('\n').filter((line) => line.startsWith(name))
  return values.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

async function nothingIsLeft(): Promise<void> {
  const isNothing = (name: string) => async () => (await gauge(name)) === 0
  await until('nothing is in flight', isNothing('gw_requests_in_flight'), SECONDS_MAX)
  await until('no stream is open', isNothing('gw_streams_open'), SECONDS_MAX)
  await until('the upstream is free', isNothing('gw_upstream_in_flight'), SECONDS_MAX)
}

async function upstreamIsLetGo(count = 1): Promise<void> {
  await until('the upstream request is aborted', () => upstream.abandoned === count, SECONDS_MAX)
}

/** A stream that sends something every 20 ms and never ends. */
function endlessly(events: string): void {
  upstream.reply = (_asked, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.write(events)
    const timer = setInterval(() => outgoing.write(events), 20)
    outgoing.on('close', () => clearInterval(timer))
  }
}

function silently(): void {
  upstream.reply = () => {}
}

async function asked(bytes: string): Promise<RawSocket> {
  const socket = open(front, bytes)
  await until('the upstream has the request', () => upstream.asked.length === 1)
  return socket
}

for (const way of WAYS) {
  test(`in the middle of a stream (${way})`, async () => {
    endlessly(EVENT)
    const socket = await asked(chatBytes({ body: STREAM_BODY }))
    assert.ok(await socket.until(() => socket.heard.includes('word ')))
    assert.equal(await gauge('gw_requests_in_flight'), 1)
    socket[way]()
    await upstreamIsLetGo()
    await nothingIsLeft()
  })

  test(`before the first byte of a stream (${way})`, async () => {
    silently()
    const socket = await asked(chatBytes({ body: STREAM_BODY }))
    socket[way]()
    await upstreamIsLetGo()
    await nothingIsLeft()
  })

  test(`before the first content of a stream (${way})`, async () => {
    endlessly(': waiting\n\n')
    const socket = await asked(chatBytes({ body: STREAM_BODY }))
    socket[way]()
    await upstreamIsLetGo()
    await nothingIsLeft()
  })

  test(`before an answer that is not a stream (${way})`, async () => {
    silently()
    const socket = await asked(chatBytes())
    socket[way]()
    await upstreamIsLetGo()
    await nothingIsLeft()
  })

  test(`in the middle of its body (${way})`, async () => {
    const bodies = [
      framedBytes(['Content-Length: 5000'], '{"model":"chat",'),
      framedBytes(['Transfer-Encoding: chunked'], 'ff\r\n{"model":"chat",'),
    ]
    for (const bytes of bodies) {
      const socket = open(front, bytes)
      await until('it is sent', () => socket.drained)
      socket[way]()
      assert.ok(await socket.closes())
    }
    await nothingIsLeft()
    assert.equal(upstream.asked.length, 0)
  })
}

test('while an answer that it does not read fills every buffer', async () => {
  endlessly(EVENT.replace('word ', 'x'.repeat(900_000)))
  const socket = await asked(chatBytes({ body: STREAM_BODY }))
  socket.stall()
  await until('a stream is open', async () => (await gauge('gw_streams_open')) === 1)
  socket.leave()
  await upstreamIsLetGo()
  await nothingIsLeft()
})

test('a hundred at once, at random moments', async () => {
  endlessly(EVENT)
  const sockets = Array.from({ length: 100 }, () => open(front, chatBytes({ body: STREAM_BODY })))
  const leaving = sockets.map(async (socket, index) => {
    await socket.until(() => socket.heard.length >= index * 20, 5)
    socket[WAYS[index % 2] ?? 'leave']()
  })
  await Promise.all(leaving)
  await nothingIsLeft()
  await upstreamIsLetGo(upstream.asked.length)
})

test('the received part of an abandoned stream is counted and marked as an estimate', async () => {
  endlessly(EVENT)
  const socket = await asked(chatBytes({ body: STREAM_BODY }))
  assert.ok(await socket.until(() => socket.heard.split('word ').length > 3))
  socket.leave()
  await nothingIsLeft()
  const { adminUrl, adminHeaders: headers } = front.gateway
  const { traces } = (await (await fetch(`${adminUrl}/traces?limit=1`, { headers })).json()) as {
    traces: Record<string, unknown>[]
  }
  assert.equal(traces[0]?.status, 499)
  assert.equal(traces[0]?.usage_estimated, true)
  assert.ok(Number(traces[0]?.completion_tokens) >= 3)
})
