/** Connections are kept, shared, and closed if the next answer could be misread. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import type {
  PoolController,
  PoolHandler,
  PoolRequest,
} from '../../../../dataplane/connection/http1/contract.ts'
import { Http1Pool } from '../../../../dataplane/connection/http1/pool.ts'
import { SharedReads } from '../../../../dataplane/connection/http1/shared-reads.ts'
import { isStale } from '../../../../dataplane/connection/stale-connection.ts'
import { until } from '../../../helpers/until.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const HEADERS = ['content-type', 'application/json']
const servers: { close(): void }[] = []

after(() => {
  for (const server of servers) server.close()
})

interface Heard {
  readonly socket: Socket
  /** Which connection of the server, and which request on it. */
  readonly connection: number
  readonly turn: number
  readonly text: string
}

/** A server that passes each request to `answer`, once its head and the announced body are there. */
async function serve(answer: (heard: Heard) => void, isWhole = bodyIsWhole) {
  let connections = 0
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = connections++
    let turn = 0
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!isWhole(text)) return
      const heard = { socket, connection, turn: turn++, text }
      text = ''
      answer(heard)
    })
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function bodyIsWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  const length = Number(/content-length: (\d+)/.exec(text)?.[1])
  return end !== -1 && text.length >= end + 4 + length
}

interface More {
  readonly connections?: number
  readonly idleMs?: number
  readonly requestsMax?: number
  readonly ageMsMax?: number
}

function aPool(port: number, more: More = {}) {
  const pool = new Http1Pool({
    connect(callback) {
      // Made like connections to upstreams without TLS.
      const reads = new SharedReads()
      const socket = connect({ port, host: '127.0.0.1', onread: reads.onread })
      socket.once('connect', () => callback(null, socket, reads))
      socket.once('error', (error) => callback(error, null))
    },
    host: 'model.example:8000',
    connections: more.connections ?? Number.POSITIVE_INFINITY,
    idleMs: more.idleMs ?? 60_000,
    idleMsMax: 60_000,
    requestsMax: more.requestsMax ?? 1000,
    ageMsMax: more.ageMsMax ?? 600_000,
    random: () => 0,
  })
  servers.push({ close: () => void pool.destroy() })
  return pool
}

function aRequest(body: Buffer = Buffer.from('{}')): PoolRequest {
  return { path: '/v1/chat', headers: HEADERS, requestId: 'id-1', body }
}

/** The result of one request. */
class Result implements PoolHandler {
  isOver = false
  status = 0
  body = ''
  error: (Error & { code?: string }) | undefined
  controller: PoolController | undefined
  readonly over: Promise<this>
  readonly begun: Promise<void>
  onChunk: (controller: PoolController) => void = () => {}
  #over: (result: this) => void = () => {}
  #begun: () => void = () => {}

  constructor() {
    this.over = new Promise((resolve) => {
      this.#over = resolve
    })
    this.begun = new Promise((resolve) => {
      this.#begun = resolve
    })
  }

  onRequestStart(controller: PoolController): void {
    this.controller = controller
    this.#begun()
  }

  onResponseStart(_: PoolController, status: number): void {
    this.status = status
  }

  onResponseData(controller: PoolController, chunk: Buffer): void {
    this.body += chunk.toString('latin1')
    this.onChunk(controller)
  }

  onResponseEnd(): void {
    this.#over(this)
  }

  onResponseError(_: PoolController | undefined, error: Error): void {
    this.error = error
    this.#over(this)
  }
}

function ask(pool: Http1Pool, request = aRequest()): Promise<Result> {
  const result = new Result()
  pool.dispatch(request, result)
  return result.over
}

test('a request is written correctly, and its connection used again', async () => {
  const heard: Heard[] = []
  const pool = aPool(
    await serve((one) => {
      heard.push(one)
      one.socket.write(OK)
    }),
  )
  assert.equal((await ask(pool)).body, 'ok')
  const large = Buffer.alloc(100_000, 'é')
  assert.equal((await ask(pool, aRequest(large))).body, 'ok')
  assert.deepEqual(
    heard.map(({ connection, turn }) => [connection, turn]),
    [
      [0, 0],
      [0, 1],
    ],
  )
  const head = (length: number) =>
    `POST /v1/chat HTTP/1.1\r\nhost: model.example:8000\r\nconnection: keep-alive\r\ncontent-type: application/json\r\nx-request-id: id-1\r\ncontent-length: ${length}\r\n\r\n`
  assert.equal(heard[0]?.text, `${head(2)}{}`)
  assert.equal(heard[1]?.text, head(100_000) + large.toString('latin1'))
})

const SINGLE_USE: Readonly<Record<string, (socket: Socket) => void>> = {
  'that says so': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'),
  'with bytes behind it': (socket) => socket.write(`${OK}HTTP/1.1 200 OK\r\n`),
  'whose upstream keeps connections too briefly': (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok'),
  'that ends with its connection': (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nok'),
}

for (const [name, answer] of Object.entries(SINGLE_USE)) {
  test(`after an answer ${name} a connection is not used again`, async () => {
    const used: number[] = []
    const pool = aPool(
      await serve(({ socket, connection }) => {
        used.push(connection)
        if (connection === 0) answer(socket)
        else socket.write(OK)
      }),
    )
    assert.equal((await ask(pool)).body, 'ok')
    const second = await ask(pool)
    assert.equal(second.error, undefined)
    assert.equal(second.body, 'ok')
    assert.deepEqual(used, [0, 1])
  })
}

test('an answer before its request is written is accepted, and its connection closed', async () => {
  const connections = new Set<number>()
  const port = await serve(
    ({ socket, connection, turn }) => {
      if (turn > 0) return
      connections.add(connection)
      // The rest of the request is not read.
      if (connection === 0) socket.pause()
      socket.write(OK)
    },
    (text) => text.includes('\r\n\r\n'),
  )
  const pool = aPool(port)
  const early = await ask(pool, aRequest(Buffer.alloc(30_000_000)))
  assert.equal(early.body, 'ok')
  assert.equal((await ask(pool)).body, 'ok')
  assert.deepEqual([...connections], [0, 1])
})

test('a connection that is too old is not used', async () => {
  const pool = aPool(
    await serve(({ socket, connection }) =>
      socket.write(`HTTP/1.1 200 OK\r\nx: ${connection}\r\ncontent-length: 1\r\n\r\n${connection}`),
    ),
    { idleMs: 0.000_1 },
  )
  assert.equal((await ask(pool)).body, '0')
  assert.equal((await ask(pool)).body, '1')
})

test('no more connections are opened than allowed; waiting requests are served in turn', async () => {
  const waiting: Heard[] = []
  const port = await serve((heard) => waiting.push(heard))
  const pool = aPool(port, { connections: 2 })
  const asked = Array.from({ length: 6 }, () => ask(pool))
  const seen = new Set<number>()
  for (let answered = 0; answered < 6; ) {
    await new Promise((resolve) => setImmediate(resolve))
    for (const { socket, connection } of waiting.splice(0)) {
      seen.add(connection)
      answered++
      socket.write(OK)
    }
  }
  for (const one of asked) assert.equal((await one).body, 'ok')
  assert.deepEqual([...seen].sort(), [0, 1])
})

test('a waiting request is served when the connection before it breaks, or cannot be made', async () => {
  const pool = aPool(
    await serve(({ socket, connection }) => {
      if (connection === 0) socket.destroy()
      else socket.write(OK)
    }),
    { connections: 1 },
  )
  const [first, second] = await Promise.all([ask(pool), ask(pool)])
  assert.equal(first.error?.code, 'UND_ERR_SOCKET')
  assert.equal(second.body, 'ok')
  const refused = aPool(1, { connections: 1 })
  for (const one of await Promise.all([ask(refused), ask(refused)])) {
    assert.equal(one.error?.code, 'ECONNREFUSED')
  }
})

test('only a kept connection that breaks without a byte of an answer was stale', async () => {
  const port = await serve(({ socket, text }) => {
    if (text.includes('half')) socket.end('HTTP/1.1 200 OK\r\ncontent-le')
    else if (text.includes('none')) socket.end()
    else socket.write(OK)
  })
  const outcome = async (body: string, isKept: boolean) => {
    const pool = aPool(port)
    if (isKept) await ask(pool)
    const { error } = await ask(pool, aRequest(Buffer.from(body)))
    assert.equal(error?.code, 'UND_ERR_SOCKET')
    return isStale(error)
  }
  assert.equal(await outcome('none', true), true)
  assert.equal(await outcome('none', false), false)
  assert.equal(await outcome('half', true), false)
})

test('an abandoned request in the queue is not sent, and its connection serves the next', async () => {
  const heard: Heard[] = []
  const port = await serve((one) => {
    heard.push(one)
    if (heard.length > 1) one.socket.write(OK)
  })
  const pool = aPool(port, { connections: 1 })
  const first = ask(pool)
  while (heard.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const leaves = new Result()
  pool.dispatch({ ...aRequest(), requestId: 'leaves' }, leaves)
  const last = ask(pool, { ...aRequest(), requestId: 'last' })
  leaves.isOver = true
  heard[0]?.socket.write(OK)
  for (const one of [first, last]) assert.equal((await one).body, 'ok')
  assert.equal(leaves.controller, undefined)
  assert.deepEqual(
    heard.map(({ connection, text }) => [connection, /x-request-id: (.*)/.exec(text)?.[1]]),
    [
      [0, 'id-1'],
      [0, 'last'],
    ],
  )
})

test('a request that is abandoned while its connection is made leaves it to the next', async () => {
  const heard: Heard[] = []
  const pool = aPool(
    await serve((one) => {
      heard.push(one)
      one.socket.write(OK)
    }),
    { connections: 1 },
  )
  const leaves = new Result()
  pool.dispatch({ ...aRequest(), requestId: 'leaves' }, leaves)
  leaves.isOver = true
  assert.equal((await ask(pool)).body, 'ok')
  assert.deepEqual(
    heard.map(({ connection, text }) => [connection, /x-request-id: (.*)/.exec(text)?.[1]]),
    [[0, 'id-1']],
  )
})

test('the queue of requests has a bound', async () => {
  const pool = aPool(await serve(() => {}), { connections: 1 })
  const waiting = Array.from({ length: 5000 }, () => new Result())
  for (const one of waiting) pool.dispatch(aRequest(), one)
  const refused = waiting.filter(({ error }) => error !== undefined)
  assert.ok(refused.length > 0)
  assert.equal(refused[0]?.error?.code, 'ERR_GW_NO_CONNECTION')
  // Abandoned ones make room.
  for (const one of waiting) one.isOver = true
  const next = new Result()
  pool.dispatch(aRequest(), next)
  assert.equal(next.error, undefined)
})

test('bytes other than HTTP are a failure, and not one of a connection', async () => {
  const pool = aPool(
    await serve(({ socket, connection }) => socket.write(connection === 0 ? 'what?\r\n\r\n' : OK)),
  )
  const first = await ask(pool)
  assert.equal(first.error?.code, 'HPE_INVALID_RESPONSE')
  assert.equal((await ask(pool)).body, 'ok')
})

test('a pause holds back the bytes and the end, until it continues', async () => {
  // Small chunks of one read are passed on as one.
  const [a, b, c] = [...'abc'].map((letter) => letter.repeat(4096))
  const pool = aPool(
    await serve(({ socket }) => {
      socket.write(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1000\r\n${a}\r\n1000\r\n${b}\r\n1000\r\n${c}\r\n0\r\n\r\n`,
      )
    }),
  )
  const result = new Result()
  const seen: string[] = []
  result.onChunk = (controller) => {
    controller.pause()
    seen.push(result.body)
    setImmediate(() => {
      seen.push(result.body)
      controller.resume()
    })
  }
  pool.dispatch(aRequest(), result)
  assert.equal((await result.over).body, `${a}${b}${c}`)
  const once = [`${a}`, `${a}${b}`, `${a}${b}${c}`]
  assert.deepEqual(
    seen,
    once.flatMap((text) => [text, text]),
  )
})

test('an upstream whose reader pauses is not read', async () => {
  let sent = 0
  const port = await serve(({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 40000000\r\n\r\n')
    const flood = () => {
      while (sent < 40_000_000) {
        sent += 100_000
        if (!socket.write(Buffer.alloc(100_000))) break
      }
    }
    socket.on('drain', flood)
    flood()
  })
  const pool = aPool(port)
  const result = new Result()
  let chunks = 0
  result.onResponseData = (controller) => {
    if (++chunks === 1) controller.pause()
  }
  pool.dispatch(aRequest(), result)
  await result.begun
  // The buffers of the system fill, and then nothing moves: for many checks, because the machine may be slow.
  let [looks, before] = [0, -1]
  await until('nothing moves any more', () => {
    looks = sent === before ? looks + 1 : 0
    before = sent
    return looks === 25 || sent >= 40_000_000
  })
  assert.ok(chunks <= 1)
  assert.ok(sent < 25_000_000, `${sent} bytes were taken`)
  result.controller?.resume()
  await result.over
  assert.equal(result.error, undefined)
})

test('an abort ends the connection, and a destroyed pool everything', async () => {
  const heard: Heard[] = []
  const port = await serve((one) => heard.push(one))
  const pool = aPool(port)
  const result = new Result()
  pool.dispatch(aRequest(), result)
  await result.begun
  result.controller?.abort(new Error('enough'))
  assert.equal((await result.over).error?.message, 'enough')
  const other = ask(pool)
  const waiting = aPool(port, { connections: 1 })
  const both = [ask(waiting), ask(waiting)]
  await pool.destroy()
  await waiting.destroy()
  for (const one of [other, ...both]) assert.equal((await one).error?.code, 'UND_ERR_DESTROYED')
  assert.equal((await ask(pool)).error?.code, 'UND_ERR_DESTROYED')
})

test('a request that is aborted before it is written is not written', async () => {
  const heard: string[] = []
  const pool = aPool(
    await serve(({ socket, text }) => {
      heard.push(text)
      socket.write(OK)
    }),
  )
  const result = new Result()
  result.onRequestStart = (controller) => controller.abort(new Error('too late'))
  pool.dispatch(aRequest(), result)
  assert.equal((await result.over).error?.message, 'too late')
  await ask(pool)
  assert.equal(heard.length, 1)
})

const INJECTIONS: readonly Partial<PoolRequest>[] = [
  { headers: ['x-a', 'b\r\nx-evil: 1'] },
  { headers: ['x-a', 'b\n'] },
  { headers: ['x-a: 1\r\nx-evil', 'b'] },
  { headers: ['x a', 'b'] },
  { headers: ['', 'b'] },
  { headers: ['x-a', 'd\u0100'] },
  { headers: ['Content-Length', '3'] },
  { headers: ['transfer-encoding', 'chunked'] },
  { headers: ['connection', 'upgrade'] },
  { requestId: 'a\r\nx-evil: 1' },
  { ownHeaders: ['traceparent', 'a\r\nx-evil: 1'] },
  { ownHeaders: ['trace parent', 'a'] },
  { path: '/a b' },
  { path: '/a\r\nx-evil: 1' },
  { path: 'evil' },
]

for (const injection of INJECTIONS) {
  test(`${JSON.stringify(injection)} is not sent`, async () => {
    const heard: string[] = []
    const pool = aPool(
      await serve(({ socket, text }) => {
        heard.push(text)
        socket.write(OK)
      }),
    )
    const result = await ask(pool, { ...aRequest(), ...injection })
    assert.equal(result.error?.code, 'UND_ERR_INVALID_ARG')
    assert.equal((await ask(pool)).body, 'ok')
    assert.equal(heard.length, 1)
  })
}
