/**
 * WebSocket connections: control frames, broken rules, large messages, disconnecting clients, and
 * the end of the process.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { aKey } from '../../helpers/a-key.ts'
import { Certificates } from '../../helpers/certificates.ts'
import { clientFrame, textFrame } from '../../helpers/client-frames.ts'
import {
  type Front,
  silent,
  startFront,
  startUpstream,
  streaming,
} from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { open, type RawClient } from './raw-client.ts'

const LIMIT = 20_000
const mine = aKey({ id: 'mine' })
const headers = { authorization: `Bearer ${mine.key}` }
const model = await startUpstream()
const start = (gateway: object = {}, env: Record<string, string> = {}) =>
  startFront(
    {
      upstreams: [{ name: 'model', endpoint: model.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'model' }],
      gateway: { sse: { heartbeat_seconds: 1 }, max_request_bytes: LIMIT, ...gateway },
      api_keys: [mine.record],
    },
    { env },
  )
const front = await start()
const opened: RawClient[] = []
after(async () => {
  for (const { socket } of opened) socket.destroy()
  await Promise.all([front.process.stop(), model.close()])
})

async function connected({ process }: Front = front): Promise<RawClient> {
  const client = await open({ url: process.url, headers })
  opened.push(client)
  return client
}

beforeEach(() => {
  model.asked.length = 0
  model.script.length = 0
  model.reply = streaming()
})

const question = { model: 'chat', input: 'hi' }
const create = JSON.stringify({ type: 'response.create', ...question })

test('a ping is answered with its own bytes, also during a response', async () => {
  const client = await connected()
  client.socket.write(clientFrame({ opcode: 9, payload: 'one' }))
  await until('the first pong', () => client.opcodes(10).length === 1)
  model.script.push(silent)
  client.create(question)
  await until('the model has the request', () => model.asked.length === 1)
  client.socket.write(clientFrame({ opcode: 9, payload: 'two' }))
  await until('the second pong', () => client.opcodes(10).length === 2)
  assert.deepEqual(
    client.opcodes(10).map(({ payload }) => payload.toString()),
    ['one', 'two'],
  )
  client.socket.destroy()
})

test('pings come at the heartbeat interval, without a response and while the model is silent', async () => {
  const client = await connected()
  await until('two pings', () => client.opcodes(9).length >= 2)
  assert.equal(client.events.length, 0)
  model.script.push(silent)
  client.create(question)
  await client.event('keepalive')
  const before = client.opcodes(9).length
  await until('two more pings', () => client.opcodes(9).length >= before + 2)
  assert.deepEqual(
    client.events.slice(0, 3).map(({ type }) => type),
    ['response.created', 'response.in_progress', 'keepalive'],
  )
  client.socket.destroy()
})

test('a message in fragments, split at every byte, is one message', async () => {
  const client = await connected()
  const half = Math.floor(create.length / 2)
  const bytes = Buffer.concat([
    clientFrame({ opcode: 1, isLast: false, payload: create.slice(0, half) }),
    clientFrame({ opcode: 9, payload: 'p' }),
    clientFrame({ opcode: 0, payload: create.slice(half) }),
  ])
  client.socket.setNoDelay(true)
  for (const byte of bytes) {
    client.socket.write(Buffer.of(byte))
    await new Promise(setImmediate)
  }
  await client.event('response.completed')
  assert.equal(client.opcodes(10).length, 1)
})

const BROKEN: Readonly<Record<string, readonly [bytes: Buffer, code: number]>> = {
  'a frame without a mask': [clientFrame({ opcode: 1, payload: create, isMasked: false }), 1002],
  'a compressed frame': [clientFrame({ opcode: 1, payload: create, reserved: 0x40 }), 1002],
  'a binary message': [clientFrame({ opcode: 2, payload: create }), 1003],
  'a text that is not UTF-8': [clientFrame({ opcode: 1, payload: Buffer.of(0xff) }), 1007],
  'a close': [clientFrame({ opcode: 8, payload: Buffer.of(0x03, 0xe8) }), 1000],
}

for (const [name, [bytes, code]] of Object.entries(BROKEN))
  test(`${name} ends the connection with ${code}`, async () => {
    const client = await connected()
    client.socket.write(bytes)
    assert.equal(await client.closed(), code)
  })

test('compression is not offered', async () => {
  const client = await open({
    url: front.process.url,
    headers: {
      ...headers,
      'sec-websocket-extensions': 'permessage-deflate; client_max_window_bits',
    },
  })
  assert.equal(client.headers['sec-websocket-extensions'], undefined)
  client.socket.destroy()
})

test('a message at the bound passes, and a larger one is refused like a body; then the connection ends with 1009', async () => {
  const fitting = await connected()
  const events = await fitting.turn({ ...question, input: 'x'.repeat(LIMIT - create.length + 2) })
  assert.equal(events.at(-1)?.type, 'response.completed')
  const long = JSON.stringify({ type: 'response.create', ...question, input: 'x'.repeat(LIMIT) })
  const half = Math.floor(long.length / 2)
  const ways = [
    [textFrame(long)],
    [
      clientFrame({ opcode: 1, isLast: false, payload: long.slice(0, half) }),
      clientFrame({ opcode: 0, payload: long.slice(half) }),
    ],
  ]
  for (const way of ways) {
    const client = await connected()
    for (const frame of way) client.socket.write(frame)
    const error = await client.event('error')
    assert.deepEqual([error.status, error.error.code], [413, 'ERR_GW_REQUEST_TOO_LARGE'])
    assert.equal(await client.closed(), 1009)
  }
})

test('the context that a turn continues from counts towards the bound of its message', async () => {
  const client = await connected()
  const words = 'x'.repeat(LIMIT / 2)
  const first = await client.turn({ ...question, input: words })
  const [error] = await client.turn({
    ...question,
    input: words,
    previous_response_id: first.at(-1)?.response.id,
  })
  assert.equal(error?.status, 413)
  assert.equal((await client.turn(question)).at(-1)?.type, 'response.completed')
})

const LEAVING: Readonly<Record<string, (client: RawClient) => void>> = {
  'breaks the connection': ({ socket }) => void socket.destroy(),
  'ends the connection': ({ socket }) => void socket.end(),
  'sends a close': ({ socket }) =>
    void socket.write(clientFrame({ opcode: 8, payload: Buffer.of(0x03, 0xe8) })),
}

for (const [name, leave] of Object.entries(LEAVING))
  test(`a client that ${name} in a turn is settled as disconnected`, async () => {
    const client = await connected()
    const { promise: hold, resolve } = Promise.withResolvers<void>()
    const { promise: isLeft, resolve: leaves } = Promise.withResolvers<void>()
    model.script.push(async (outgoing, asked) => {
      outgoing.on('close', leaves)
      await streaming({ hold })(outgoing, asked)
    })
    client.create(question)
    const { headers: facts } = await client.event('response.created')
    const aborted = () => front.value('gw_stream_aborted_total{by="client"}')
    const before = await aborted()
    leave(client)
    await isLeft
    resolve()
    const line = () =>
      front.logged('request').find(({ request_id }) => request_id === facts['x-request-id'])
    await until('the turn is logged', () => line() !== undefined)
    assert.equal(line()?.status, 499)
    assert.equal(await aborted(), before + 1)
    assert.equal(await front.value('gw_streams_open'), 0)
    await client.closed()
  })

test('draining ends connections without a response at once, and the others after it, with 1001', async () => {
  const other = await start()
  const [idle, busy] = [await connected(other), await connected(other)]
  const { promise: hold, resolve: goOn } = Promise.withResolvers<void>()
  model.script.push(streaming({ hold }))
  busy.create(question)
  await busy.event('response.output_text.delta')
  other.process.signal('SIGTERM')
  assert.equal(await idle.closed(), 1001)
  assert.equal(busy.isClosed, false)
  goOn()
  assert.equal(await busy.closed(), 1001)
  assert.equal(busy.events.at(-1)?.type, 'response.completed')
  assert.deepEqual((await other.process.exited).code, 0)
})

test('a response that outlasts the drain ends with events that report it', async () => {
  const other = await start({ drain_timeout_seconds: 1 })
  const client = await connected(other)
  model.script.push(streaming({ hold: new Promise(() => {}) }))
  client.create(question)
  await client.event('response.output_text.delta')
  other.process.signal('SIGTERM')
  assert.equal(await client.closed(), 1001)
  assert.deepEqual(
    client.events.slice(-2).map(({ type }) => type),
    ['error', 'response.failed'],
  )
  await other.process.exited
})

test('a client that answers no ping is closed after the idle timeout', async () => {
  const other = await start({ keepalive_seconds: 1 })
  try {
    const [dumb, good] = [await connected(other), await connected(other)]
    const answering = setInterval(() => good.socket.write(clientFrame({ opcode: 10 })), 500)
    await until('the silent client is cut', () => dumb.isClosed)
    assert.equal(good.isClosed, false)
    clearInterval(answering)
  } finally {
    await other.process.stop()
  }
})

test('the TLS listener accepts WebSockets', async () => {
  const certificates = new Certificates()
  const authority = certificates.authority()
  const pair = certificates.make({ by: authority })
  const other = await start(
    { tls: { cert: '${env:PAIR_CERT}', key: '${env:PAIR_KEY}' } },
    { PAIR_CERT: pair.cert, PAIR_KEY: pair.key },
  )
  try {
    const client = await open({ url: other.process.url, headers, ca: authority.cert })
    assert.equal((await client.turn(question)).at(-1)?.type, 'response.completed')
    client.socket.destroy()
  } finally {
    await other.process.stop()
    certificates.remove()
  }
})
