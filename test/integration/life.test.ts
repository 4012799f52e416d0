/** The end of the process: what SIGTERM lets finish, and what it finally cuts. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  after as afterwards,
  errorOf,
  eventsOf,
  type Front,
  QUESTION,
  silent,
  startFront,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { answers, until } from '../helpers/until.ts'
import { RawSocket } from './hostile/raw-socket.ts'

const upstream = await startUpstream()
after(() => upstream.close())

beforeEach(() => {
  upstream.asked.length = 0
  upstream.reply = whole()
})

async function start(env: Readonly<Record<string, string>> = {}, gateway = {}): Promise<Front> {
  return await startFront(
    {
      gateway,
      upstreams: [{ name: 'fake', endpoint: upstream.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'fake' }],
    },
    { env },
  )
}

/** A stream whose first word has arrived; the test releases the second. */
async function aHeldStream(front: Front) {
  const hold = Promise.withResolvers<void>()
  upstream.reply = streaming({ hold: hold.promise })
  const asking = front.ask({ stream: true })
  await until('the first word arrives', () => asking.text().includes('hel'))
  return { ...asking, release: hold.resolve }
}

function isDraining(front: Front): Promise<void> {
  return until('it drains', () => front.logged('drain').length === 1)
}

async function refuses(front: Front): Promise<void> {
  await until(
    'new connections are refused',
    async () => !(await answers(`${front.process.url}/healthz`)),
  )
}

function chatBytes({ key }: Front): string {
  const body = JSON.stringify(QUESTION)
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

test('SIGTERM lets a stream finish, refuses new connections and ends with 0', async () => {
  const front = await start()
  const stream = await aHeldStream(front)
  front.process.signal('SIGTERM')
  await refuses(front)
  stream.release()
  const heard = await stream.over
  assert.equal(heard.cut, false)
  assert.equal(wordsOf(heard), 'hello')
  assert.equal(eventsOf(heard).at(-1), '[DONE]')
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
  assert.equal(front.logged('stop').length, 1)
  assert.partialDeepStrictEqual(front.logged('request'), [{ status: 200, prompt_tokens: 7 }])
})

test('during the drain delay the gateway is not ready, still serves, and closes each connection after its answer', async () => {
  const front = await start({ GW_DRAIN_DELAY_SECONDS: '300' })
  const stream = await aHeldStream(front)
  const kept = new RawSocket(front.process.url)
  kept.send('GET /readyz HTTP/1.1\r\nHost: gateway\r\n\r\n')
  assert.ok(await kept.until(() => kept.answers.length === 1))
  assert.equal(kept.answers[0]?.status, 200)
  front.process.signal('SIGTERM')
  await isDraining(front)
  const readiness = await fetch(`${front.process.url}/readyz`)
  assert.equal(readiness.status, 503)
  assert.equal(readiness.headers.get('connection'), 'close')
  assert.equal((await fetch(`${front.process.url}/`)).status, 503)
  assert.equal((await front.admin('/status')).state, 'draining')
  upstream.reply = whole()
  const fresh = await front.chat()
  assert.equal(fresh.status, 200)
  assert.equal(fresh.headers.connection, 'close')
  kept.send(chatBytes(front))
  assert.ok(await kept.until(() => kept.answers.length === 2))
  assert.equal(kept.answers[1]?.headers.connection, 'close')
  assert.ok(await kept.closes())
  stream.release()
  assert.equal(wordsOf(await stream.over), 'hello')
  front.process.signal('SIGTERM')
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
})

test('a request in flight gets its answer with Connection: close', async () => {
  const front = await start()
  const answer = Promise.withResolvers<void>()
  upstream.reply = afterwards(answer.promise, whole())
  const kept = new RawSocket(front.process.url)
  kept.send(chatBytes(front))
  await until('the upstream has the request', () => upstream.asked.length === 1)
  front.process.signal('SIGTERM')
  await isDraining(front)
  answer.resolve()
  assert.ok(await kept.until(() => kept.answers.length === 1))
  assert.equal(kept.answers[0]?.status, 200)
  assert.equal(kept.answers[0]?.headers.connection, 'close')
  assert.ok(await kept.closes())
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
})

test('after the drain timeout, remaining requests get an honest end', async () => {
  const front = await start({ GW_DRAIN_TIMEOUT_SECONDS: '1' })
  const stream = await aHeldStream(front)
  upstream.reply = silent
  const waiting = front.ask()
  const unready = front.ask({ stream: true })
  await until('all are asked', () => upstream.asked.length === 3)
  front.process.signal('SIGTERM')
  const heard = await stream.over
  assert.equal(heard.cut, true)
  assert.equal(wordsOf(heard), 'hel')
  assert.equal(eventsOf(heard).at(-1).error.code, 'ERR_GW_STREAM_ABORTED')
  for (const { over } of [waiting, unready]) {
    const refused = await over
    assert.equal(refused.status, 503)
    assert.equal(refused.cut, false)
    assert.equal(errorOf(refused).code, 'ERR_GW_OVERLOADED')
    assert.equal(refused.headers['retry-after'], '1')
  }
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
  assert.deepEqual(
    front
      .logged('request')
      .map(({ status, code }) => [status, code])
      .toSorted(),
    [
      [499, 'ERR_GW_STREAM_ABORTED'],
      [503, 'ERR_GW_OVERLOADED'],
      [503, 'ERR_GW_OVERLOADED'],
    ],
  )
  // The stream's events are counted, although the upstream reported no usage.
  assert.ok(front.logged('request').some((line) => line.usage_estimated))
})

test('after a heartbeat the cut is an error event', async () => {
  const front = await start({ GW_DRAIN_TIMEOUT_SECONDS: '0' }, { sse: { heartbeat_seconds: 1 } })
  upstream.reply = silent
  const asking = front.ask({ stream: true })
  await until('a heartbeat comes', () => asking.text().includes(': keepalive'))
  front.process.signal('SIGTERM')
  const heard = await asking.over
  assert.equal(heard.cut, true)
  assert.equal(eventsOf(heard).at(-1).error.code, 'ERR_GW_STREAM_ABORTED')
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
})

test('a waiting retry is not sent after its request was refused', async () => {
  const front = await startFront(
    {
      upstreams: [{ name: 'fake', endpoint: upstream.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'fake', retry: { max_attempts: 2 } }],
    },
    { env: { GW_DRAIN_TIMEOUT_SECONDS: '0' } },
  )
  upstream.reply = (outgoing) => {
    outgoing.writeHead(503, { 'retry-after': '2' }).end()
  }
  let asking = front.ask()
  // A check that comes too late finds the request already retried, and the test starts again.
  for (let asked = 1; !(await waitsForRetry(front, asked)); asked++) {
    assert.ok(asked < 4, 'this machine is too slow to observe the wait')
    await asking.over
    upstream.asked.length = 0
    asking = front.ask()
  }
  front.process.signal('SIGTERM')
  assert.equal(errorOf(await asking.over).code, 'ERR_GW_OVERLOADED')
  await front.process.exited
  assert.equal(upstream.asked.length, 1)
})

/** Whether the wait was observed, with most of its two seconds remaining. */
async function waitsForRetry(front: Front, retries: number): Promise<boolean> {
  await until('it is asked', () => upstream.asked.length > 0)
  const began = performance.now()
  await until(
    'it waits for its retry',
    async () => (await front.value('gw_upstream_retries_total{upstream="fake"}')) === retries,
  )
  return performance.now() - began < 1000
}

test('a second SIGTERM cuts at once', async () => {
  const front = await start({ GW_DRAIN_DELAY_SECONDS: '60', GW_DRAIN_TIMEOUT_SECONDS: '60' })
  const stream = await aHeldStream(front)
  front.process.signal('SIGTERM')
  await isDraining(front)
  const began = performance.now()
  front.process.signal('SIGTERM')
  const heard = await stream.over
  assert.equal(heard.cut, true)
  assert.equal(eventsOf(heard).at(-1).error.code, 'ERR_GW_STREAM_ABORTED')
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
  assert.ok(performance.now() - began < 30_000)
})

test('an idle gateway ends at once, also on SIGINT', async () => {
  const front = await start()
  const idle = new RawSocket(front.process.url)
  idle.send('GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n')
  assert.ok(await idle.until(() => idle.answers.length === 1))
  const began = performance.now()
  front.process.signal('SIGINT')
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
  // Waiting for the idle connection would take 75 s, and for a drain 30 s.
  assert.ok(performance.now() - began < 20_000)
  assert.ok(await idle.closes())
})

test('a gateway without requests ends long before its drain delay', async () => {
  const front = await start({ GW_DRAIN_DELAY_SECONDS: '300' })
  assert.equal((await fetch(`${front.process.url}/readyz`)).status, 200)
  front.process.signal('SIGTERM')
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
})

test('a gateway that was called a moment ago keeps serving through its drain delay', async () => {
  const front = await start({ GW_DRAIN_DELAY_SECONDS: '4' })
  upstream.reply = whole()
  assert.equal((await front.chat()).status, 200)
  const began = performance.now()
  front.process.signal('SIGTERM')
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
  assert.ok(performance.now() - began >= 4000)
})
