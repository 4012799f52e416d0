/** A client's connection that carries plain requests, on a socket that a test writes to and reads from. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { openAiChat } from '../../../dataplane/apis/openai-chat/api.ts'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import { heavyWork, LARGE_BYTES } from '../../../dataplane/base/heavy-work.ts'
import type { BodyTaker } from '../../../dataplane/call/call.ts'
import {
  type ConnectionOwner,
  PlainConnection,
} from '../../../dataplane/listener/http1/connection.ts'
import type { PlainExchange } from '../../../dataplane/listener/http1/exchange.ts'
import { servedBy } from '../../../dataplane/listener/table.ts'

const OTHER = 'GET /else HTTP/1.1\r\nHost: a\r\n\r\n'

function aPlain(body = 'a body', length = Buffer.byteLength(body)): string {
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${body}`
}

/** The members of a socket that a connection uses. The system accepts each write while `takes` is true. */
class FakeSocket extends EventEmitter {
  readonly calls: string[] = []
  /** The pieces that left. */
  readonly sent: string[] = []
  takes = true
  writable = true
  writableNeedDrain = false
  destroyed = false
  #corked = ''
  #isCorked = false
  readonly #untaken: (() => void)[] = []
  writableLength = 0

  write(text: string | Buffer, _encoding?: unknown, done?: () => void): boolean {
    this.#corked += text.toString('latin1' as never)
    if (done !== undefined) this.#untaken.push(done)
    if (!this.#isCorked) this.#leave()
    return this.takes
  }

  cork(): void {
    this.#isCorked = true
  }

  uncork(): void {
    this.#isCorked = false
    this.#leave()
  }

  /** The system accepts all written bytes. */
  take(): void {
    this.takes = true
    this.writableLength = 0
    for (const done of this.#untaken.splice(0)) done()
  }

  #leave(): void {
    if (this.#corked !== '') this.sent.push(this.#corked)
    if (!this.takes) this.writableLength += this.#corked.length
    this.#corked = ''
    if (this.takes) this.take()
  }

  end = () => this.#note('end')
  pause = () => this.#note('pause')
  resume = () => this.#note('resume')
  destroySoon = () => this.#note('destroySoon')

  destroy(): void {
    this.destroyed = true
    this.#note('destroy')
    this.emit('close')
  }

  #note(call: string): this {
    this.calls.push(call)
    this.emit(`called ${call}`)
    return this
  }
}

/** A connection whose owner records its calls, and answers at once unless `rig.holds`. */
function aRig() {
  const socket = new FakeSocket()
  const rig = {
    now: 1_000,
    isClosing: false,
    holds: false,
    /** Stages that read bodies only when they are called. */
    late: undefined as (() => void)[] | undefined,
    exchanges: [] as PlainExchange[],
    bodies: [] as string[],
    broken: [] as string[],
    handedOver: [] as { readonly bytes: string; readonly isBehind: boolean }[],
    gone: 0,
    refused: 0,
  }
  const owner: ConnectionOwner = {
    served: [servedBy(openAiChat)],
    keepAliveMs: 5_000,
    headMs: 10_000,
    requestMs: 60_000,
    get isClosing() {
      return rig.isClosing
    },
    now: () => rig.now,
    commonLines: (isLast) => (isLast ? 'last\r\n' : 'common\r\n'),
    answer(exchange, api) {
      assert.equal(api, openAiChat)
      rig.exchanges.push(exchange)
      const chunks: Buffer[] = []
      const got = () => {
        rig.bodies.push(Buffer.concat(chunks).toString())
        if (!rig.holds) exchange.sendWhole(200, [], `${rig.bodies.length}`)
      }
      const take = () => {
        const whole = exchange.takeWhole()
        if (whole === undefined) exchange.takeBody(taker)
        else {
          chunks.push(whole)
          got()
        }
      }
      const taker: BodyTaker = {
        sated: false,
        data: (chunk) => void chunks.push(Buffer.from(chunk)),
        ended: got,
        broken: ({ code }) => void rig.broken.push(code),
      }
      if (rig.late === undefined) take()
      else rig.late.push(take)
    },
    handOver(connection, bytes, isBehind) {
      connection.release()
      rig.handedOver.push({ bytes: bytes.toString(), isBehind })
    },
    gone: () => rig.gone++,
    refuseLate: () => rig.refused++,
    brokenBody: (isLate) =>
      new GatewayError(isLate ? 'ERR_GW_REQUEST_TIMEOUT' : 'ERR_GW_INVALID_REQUEST', 'broken'),
  }
  // It uses only these members.
  const connection = new PlainConnection(socket as unknown as Socket, owner, Infinity)
  const send = (text: string) => socket.emit('data', Buffer.from(text))
  /** The bodies of the sent answers. */
  const answers = () => socket.sent.map((text) => text.slice(text.indexOf('\r\n\r\n') + 4))
  const look = (ms: number) => {
    rig.now += ms
    connection.look(rig.now)
  }
  return { rig, socket, connection, send, answers, look }
}

/** Sends all held writes, and checks bytes that wait for an answer. */
async function turn(): Promise<void> {
  for (let round = 0; round < 8; round++) await new Promise((resolve) => setImmediate(resolve))
}

test('a large body is read in turns while the process is busy', async () => {
  const { rig, socket, send } = aRig()
  const half = 'x'.repeat(LARGE_BYTES)
  heavyWork.spend(10)
  send(aPlain('', 2 * half.length))
  const resumed = new Promise((resolve) => socket.once('called resume', resolve))
  send(half)
  assert.deepEqual(socket.calls, ['pause'])
  await resumed
  send(half)
  assert.deepEqual(rig.bodies, [half + half])
})

test('an answer is sent in one piece at the end of the turn, and the connection is idle', async () => {
  const { rig, socket, connection, send } = aRig()
  send(aPlain())
  assert.deepEqual(rig.bodies, ['a body'])
  assert.deepEqual([socket.sent, connection.isIdle], [[], false])
  await turn()
  assert.deepEqual(socket.sent, ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncommon\r\n\r\n1'])
  assert.equal(connection.isIdle, true)
})

test('requests that come together are answered one after the other', async () => {
  const { rig, send, answers } = aRig()
  rig.holds = true
  send(aPlain('one') + aPlain('two'))
  send(aPlain('three'))
  await turn()
  assert.deepEqual(rig.bodies, ['one'])
  rig.holds = false
  rig.exchanges[0]?.sendWhole(200, [], '1')
  await turn()
  assert.deepEqual(rig.bodies, ['one', 'two', 'three'])
  assert.deepEqual(answers(), ['1', '2', '3'])
})

test('a body in pieces is joined, and the bytes after it are the next request', async () => {
  const { rig, send, answers } = aRig()
  const text = aPlain('0123456789') + aPlain('next')
  const at = text.indexOf('5')
  send(text.slice(0, at))
  assert.equal(rig.bodies.length, 0)
  send(text.slice(at))
  await turn()
  assert.deepEqual(
    [rig.bodies, answers()],
    [
      ['0123456789', 'next'],
      ['1', '2'],
    ],
  )
})

test('a body that arrives before a stage reads it is complete, and not read beyond 64 KiB', async () => {
  const { rig, socket, send } = aRig()
  rig.late = []
  const body = 'b'.repeat(80_000)
  const text = aPlain(body)
  send(text.slice(0, 1_000))
  for (let at = 1_000; at < 70_000; at += 10_000) send(text.slice(at, at + 10_000))
  assert.equal(socket.calls.at(-1), 'pause')
  for (const take of rig.late) take()
  assert.equal(socket.calls.at(-1), 'resume')
  send(text.slice(71_000))
  await turn()
  assert.equal(rig.bodies[0], body)
})

test('a stage that reads a body after it broke off gets the error', () => {
  const { rig, socket, send } = aRig()
  rig.late = []
  send(aPlain('begun', 10))
  socket.emit('end')
  for (const take of rig.late) take()
  assert.deepEqual([rig.bodies, rig.broken], [[], ['ERR_GW_INVALID_REQUEST']])
})

test('bytes that are not a plain request are handed over, all of them, and the socket is released', () => {
  const { rig, socket, send } = aRig()
  send(OTHER)
  assert.deepEqual(rig.handedOver, [{ bytes: OTHER, isBehind: false }])
  for (const event of ['data', 'end', 'error', 'close', 'drain']) {
    assert.equal(socket.listenerCount(event), 0, event)
  }
})

test('another request after a plain one is handed over after the answer', async () => {
  const { rig, send, answers } = aRig()
  rig.holds = true
  send(aPlain() + OTHER)
  send(aPlain('later'))
  await turn()
  assert.deepEqual(rig.handedOver, [])
  rig.exchanges[0]?.sendWhole(200, [], '1')
  await turn()
  assert.deepEqual(rig.handedOver, [{ bytes: OTHER + aPlain('later'), isBehind: true }])
  assert.deepEqual(answers(), ['1'])
})

test('reading stops while 64 KiB wait after a request', async () => {
  const { rig, socket, send } = aRig()
  rig.holds = true
  send(aPlain())
  send('x'.repeat(65_536))
  assert.deepEqual(socket.calls, [])
  send('x')
  assert.deepEqual(socket.calls, ['pause'])
  rig.exchanges[0]?.sendWhole(200, [], '1')
  await turn()
  assert.deepEqual(socket.calls, ['pause', 'resume'])
})

test('the next request waits until the system has accepted the answer', async () => {
  const { rig, socket, send } = aRig()
  let closed = 0
  rig.holds = true
  send(aPlain('one') + aPlain('two'))
  rig.exchanges[0]?.tell({
    closed: () => closed++,
    drained: () => undefined,
    turned: () => undefined,
  })
  socket.takes = false
  rig.exchanges[0]?.sendWhole(200, [], '1')
  await turn()
  assert.deepEqual([rig.bodies, closed], [['one'], 0])
  socket.take()
  await turn()
  assert.deepEqual([rig.bodies, closed], [['one', 'two'], 1])
})

test('an answer with close is the last, and waiting requests are not served', async () => {
  const { rig, socket, connection, send } = aRig()
  rig.holds = true
  send(aPlain('one') + aPlain('two'))
  rig.exchanges[0]?.sendWhole(200, ['connection', 'close'], '1')
  await turn()
  assert.deepEqual([rig.bodies, connection.isIdle], [['one'], false])
  assert.match(socket.sent[0] ?? '', /last\r\n\r\n1$/)
  assert.deepEqual(socket.calls, ['destroySoon', 'resume'])
})

test('an answer is the last once the owner is closing', async () => {
  const { rig, socket, send } = aRig()
  rig.isClosing = true
  send(aPlain())
  await turn()
  assert.deepEqual(socket.calls, ['destroySoon', 'resume'])
})

test('a client that may still be sending gets the end, and time to read the answer', async () => {
  const { rig, socket, send } = aRig()
  rig.holds = true
  send(aPlain('', 10))
  rig.exchanges[0]?.answerLast()
  rig.exchanges[0]?.sendWhole(413, ['connection', 'close'], 'too large')
  await turn()
  assert.deepEqual(socket.calls.slice(0, 2), ['end', 'pause'])
  assert.equal(socket.destroyed, false)
  socket.destroy()
})

test('a client that sends no request in time is refused, once, and not served any more', () => {
  const { rig, send, look } = aRig()
  look(9_999)
  assert.equal(rig.refused, 0)
  look(1)
  look(100_000)
  send(aPlain())
  assert.deepEqual([rig.refused, rig.bodies], [1, []])
})

test('an idle connection is closed a second after the announced time, counted from its last answer', async () => {
  const { socket, send, look } = aRig()
  send(aPlain())
  await turn()
  look(5_000)
  send(aPlain())
  await turn()
  look(5_999)
  assert.equal(socket.destroyed, false)
  look(1)
  assert.equal(socket.destroyed, true)
})

test('a late body breaks off once, and a complete request may take any time', () => {
  const late = aRig()
  late.send(aPlain('half', 8))
  late.look(59_999)
  assert.deepEqual(late.rig.broken, [])
  late.look(1)
  late.look(60_000)
  assert.deepEqual(late.rig.broken, ['ERR_GW_REQUEST_TIMEOUT'])
  const whole = aRig()
  whole.rig.holds = true
  whole.send(aPlain('half', 8))
  whole.send('rest')
  whole.look(600_000)
  assert.deepEqual([whole.rig.broken, whole.socket.destroyed], [[], false])
})

for (const [event, what] of [
  ['end', 'ends'],
  ['error', 'fails'],
] as const) {
  test(`a client that ${what} in its body breaks it off`, () => {
    const { rig, socket, send } = aRig()
    send(aPlain('half', 8))
    socket.emit(event)
    assert.deepEqual(rig.broken, ['ERR_GW_INVALID_REQUEST'])
  })
}

test('a client that ends after its request gets no other answer', async () => {
  const { rig, socket, send } = aRig()
  rig.holds = true
  send(aPlain('one') + aPlain('two'))
  socket.emit('end')
  assert.deepEqual(socket.calls, ['end'])
  send(aPlain('three'))
  rig.exchanges[0]?.sendWhole(200, [], '1')
  await turn()
  assert.deepEqual(rig.bodies, ['one'])
})

test('a client that is gone ends its exchange, and its owner is notified', async () => {
  const { rig, socket, send, look } = aRig()
  let closed = 0
  rig.holds = true
  send(aPlain('one') + aPlain('two'))
  rig.exchanges[0]?.tell({
    closed: () => closed++,
    drained: () => undefined,
    turned: () => undefined,
  })
  socket.emit('close')
  assert.deepEqual([rig.gone, closed], [1, 1])
  await turn()
  look(600_000)
  assert.deepEqual([rig.bodies, rig.refused], [['one'], 0])
})

test('a stream is notified when its client reads again', () => {
  const { rig, socket, send } = aRig()
  let drained = 0
  rig.holds = true
  send(aPlain())
  rig.exchanges[0]?.tell({
    closed: () => undefined,
    drained: () => drained++,
    turned: () => undefined,
  })
  rig.exchanges[0]?.begin([])
  socket.emit('drain')
  assert.equal(drained, 1)
})
