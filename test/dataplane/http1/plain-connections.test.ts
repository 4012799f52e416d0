/**
 * Connections in front of a real HTTP server: plain requests are answered here, and the server answers all others, each
 * once and in order.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { openAiChat } from '../../../dataplane/apis/openai-chat/api.ts'
import { Deadlines } from '../../../dataplane/base/clock.ts'
import { GatewayError } from '../../../dataplane/base/errors.ts'
import type { BodyTaker } from '../../../dataplane/call/call.ts'
import type { PlainExchange } from '../../../dataplane/listener/http1/exchange.ts'
import { PlainConnections } from '../../../dataplane/listener/http1/plain-connections.ts'
import { servedBy } from '../../../dataplane/listener/table.ts'
import { until } from '../../helpers/until.ts'

const BODY = 'a body'
const PLAIN = `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`
const OTHER = 'GET /else HTTP/1.1\r\nHost: a\r\n\r\n'

let now = 0
const clock = { now: () => now, wall: () => Date.UTC(2026, 10, 21) + now }
const deadlines = new Deadlines(clock)
const server = createServer((incoming, outgoing) => {
  asked.push(`node ${incoming.url}`)
  outgoing.writeHead(200, { 'content-length': 4 }).end('node')
})
/** The requests, in order, with the answers so far. */
const asked: string[] = []
const broken: string[] = []
/** Heads that have arrived. */
let begun = 0
/** Exchanges that the test answers. */
const held: PlainExchange[] = []
let holds = false
const clients: Socket[] = []

const door = new PlainConnections(server, {
  clock,
  deadlines,
  random: Math.random,
  ageMs: 0,
  served: [servedBy(openAiChat)],
  answer(exchange) {
    begun++
    const chunks: Buffer[] = []
    const whole = exchange.takeWhole()
    if (whole !== undefined) {
      chunks.push(whole)
      got()
      return
    }
    const taker: BodyTaker = {
      sated: false,
      data: (chunk) => void chunks.push(chunk),
      ended: got,
      broken: ({ code }) => void broken.push(code),
    }
    exchange.takeBody(taker)
    function got(): void {
      asked.push(`own ${Buffer.concat(chunks)}`)
      if (holds) held.push(exchange)
      else exchange.sendWhole(200, ['x-by', 'own'], 'own')
    }
  },
  refuseLate: (socket) => socket.end('late'),
  brokenBody: (isLate) =>
    new GatewayError(isLate ? 'ERR_GW_REQUEST_TIMEOUT' : 'ERR_GW_INVALID_REQUEST', 'broken'),
})

before(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
})
after(() => {
  for (const client of clients) client.destroy()
  door.close(true)
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  asked.length = 0
  broken.length = 0
  begun = 0
  held.length = 0
  holds = false
})

interface Client {
  readonly socket: Socket
  readonly heard: () => string
  readonly isOver: () => boolean
}

function dial(): Client {
  // A server that listens on a port has an address of this type.
  const { port } = server.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port, noDelay: true }).on('error', () => undefined)
  let heard = ''
  let isOver = false
  socket.on('data', (chunk) => {
    heard += chunk
  })
  socket.on('close', () => {
    isOver = true
  })
  clients.push(socket)
  return { socket, heard: () => heard, isOver: () => isOver }
}

function answersIn(heard: string): string[] {
  return [...heard.matchAll(/\r\n\r\n(own|node)/g)].map(([, by = '']) => by)
}

async function hears({ heard }: Client, expected: readonly string[]): Promise<void> {
  await until(`the answers ${expected}`, () => answersIn(heard()).length >= expected.length)
  assert.deepEqual(answersIn(heard()), expected)
}

async function accepted(count: number): Promise<void> {
  await until(`${count} asked`, () => asked.length + broken.length === count)
}

describe('an own connection', () => {
  test('answers as Node would: status line, headers, date, keep-alive', async () => {
    const client = dial()
    client.socket.write(PLAIN)
    await hears(client, ['own'])
    assert.equal(
      client.heard(),
      'HTTP/1.1 200 OK\r\nx-by: own\r\ncontent-length: 3\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\n' +
        'Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\nown',
    )
  })

  test('serves one request after the other, then hands over, and never takes the connection back', async () => {
    const client = dial()
    for (const [bytes, expected] of [
      [PLAIN, ['own']],
      [PLAIN, ['own', 'own']],
      [OTHER, ['own', 'own', 'node']],
      [PLAIN, ['own', 'own', 'node', 'node']],
    ] as const) {
      client.socket.write(bytes)
      await hears(client, expected)
    }
    assert.equal(asked.at(-1), 'node /v1/chat/completions')
  })

  test('answers pipelined requests in order, each once, by either reader', async () => {
    const client = dial()
    client.socket.write(PLAIN + PLAIN + OTHER + OTHER + PLAIN)
    await hears(client, ['own', 'own', 'node', 'node', 'node'])
    assert.equal(asked.length, 5)
  })

  test('gives the same answers wherever the bytes of two requests are cut', async () => {
    for (let at = 1; at < PLAIN.length; at += 3) {
      asked.length = 0
      const client = dial()
      await once(client.socket, 'connect')
      client.socket.write((PLAIN + PLAIN).slice(0, at))
      // The other side reads in a separate turn.
      await new Promise((resolve) => setImmediate(resolve))
      client.socket.write((PLAIN + PLAIN).slice(at))
      await until(`answers, cut at ${at}`, () => answersIn(client.heard()).length === 2)
      assert.equal(asked.length, 2, `cut at ${at}`)
      client.socket.destroy()
    }
  })

  test('keeps bytes after a request until it is answered', async () => {
    holds = true
    const client = dial()
    client.socket.write(PLAIN + PLAIN)
    await accepted(1)
    client.socket.write(OTHER)
    holds = false
    held[0]?.sendWhole(200, [], 'own')
    await hears(client, ['own', 'own', 'node'])
  })

  test('streams in chunks, one for each piece, the head with the first', async () => {
    holds = true
    const client = dial()
    client.socket.write(PLAIN)
    await accepted(1)
    held[0]?.begin(['x-by', 'own'])
    held[0]?.write('data: 1\n\n')
    held[0]?.write(Buffer.from('x'.repeat(20_000)))
    held[0]?.write('')
    held[0]?.end()
    await until('the end', () => client.heard().endsWith('\r\n0\r\n\r\n'))
    assert.equal(
      client.heard(),
      'HTTP/1.1 200 OK\r\nx-by: own\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\nConnection: keep-alive\r\n' +
        `Keep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n4e20\r\n${'x'.repeat(20_000)}\r\n0\r\n\r\n`,
    )
  })

  test('an answer to a slow reader is complete before the next one begins, and its end is reported', async () => {
    holds = true
    const calls: string[] = []
    const client = dial()
    client.socket.pause()
    client.socket.write(PLAIN + PLAIN)
    await accepted(1)
    held[0]?.tell({
      closed: () => void calls.push('closed'),
      drained: () => void calls.push('drained'),
      turned: () => undefined,
    })
    held[0]?.sendWhole(200, [], 'x'.repeat(16_000_000))
    assert.ok((held[0]?.unwritten ?? 0) > 0)
    assert.ok((held[0]?.untaken ?? 0) > 0)
    holds = false
    assert.equal(asked.length, 1)
    assert.deepEqual(calls, [])
    client.socket.resume()
    await until('both answers', () => client.heard().endsWith('own'))
    assert.deepEqual(calls, ['closed'])
    const begins = client.heard().indexOf('xHTTP')
    assert.equal(client.heard().indexOf('x') + 16_000_000, begins + 1)
  })

  test('a stream that is not read reports it, and reports when it continues', async () => {
    holds = true
    const client = dial()
    client.socket.pause()
    client.socket.write(PLAIN)
    await accepted(1)
    let drained = 0
    held[0]?.tell({ closed: () => undefined, drained: () => drained++, turned: () => undefined })
    held[0]?.begin([])
    const piece = Buffer.alloc(1_000_000, 'x')
    while (held[0]?.write(piece) === true);
    assert.equal(held[0]?.needsDrain, true)
    assert.equal(drained, 0)
    client.socket.resume()
    await until('the drain', () => drained === 1)
    assert.equal(held[0]?.write(Buffer.from('last')), true)
    held[0]?.end()
    await until('the end', () => client.heard().endsWith('4\r\nlast\r\n0\r\n\r\n'))
  })

  test('writes text other than ASCII as UTF-8, with its length in bytes', async () => {
    holds = true
    const client = dial()
    client.socket.setEncoding('utf8').write(PLAIN)
    await accepted(1)
    held[0]?.sendWhole(200, [], 'ä→')
    await until('the answer', () => client.heard().endsWith('\r\n\r\nä→'))
    assert.match(client.heard(), /content-length: 5\r\n/)
  })

  test('a header value that would end its line is never written', async () => {
    holds = true
    const client = dial()
    client.socket.write(PLAIN)
    await accepted(1)
    for (const value of ['a\r\nb: c', 'a\n', '\0', '→']) {
      assert.throws(() => held[0]?.sendWhole(200, ['x-by', value], ''), TypeError)
      assert.throws(() => held[0]?.begin(['x-by', value]), TypeError)
    }
    assert.equal(client.heard(), '')
  })

  test('is closed after an answer that says so', async () => {
    holds = true
    const client = dial()
    client.socket.write(PLAIN + PLAIN)
    await accepted(1)
    held[0]?.sendWhole(200, ['connection', 'close'], 'own')
    await until('the close', client.isOver)
    assert.equal(asked.length, 1)
    assert.doesNotMatch(client.heard(), /keep-alive/i)
  })

  test('a stream that is cut has no last chunk', async () => {
    holds = true
    const client = dial()
    client.socket.write(PLAIN)
    await accepted(1)
    held[0]?.begin([])
    held[0]?.write('data: 1\n\n')
    held[0]?.cut()
    await until('the close', client.isOver)
    assert.ok(client.heard().endsWith('data: 1\n\n\r\n'), client.heard())
  })
})

describe('the deadlines of an own connection', () => {
  function pass(ms: number): void {
    now += ms
    deadlines.sweep()
    now += 500
    deadlines.sweep()
  }

  test('a silent connection learns that it is late', async () => {
    const client = dial()
    await until('the connection', () => deadlines.size > 0)
    await once(client.socket, 'connect')
    await until('the refusal', () => {
      pass(server.headersTimeout)
      return client.heard() === 'late'
    })
  })

  test('a used connection is closed a second after the announced time, and no sooner', async () => {
    const client = dial()
    client.socket.write(PLAIN)
    await hears(client, ['own'])
    pass(server.keepAliveTimeout)
    client.socket.write(PLAIN)
    await hears(client, ['own', 'own'])
    pass(server.keepAliveTimeout + 1000)
    await until('the close', client.isOver)
  })

  test('a body that does not arrive is broken off, once', async () => {
    const client = dial()
    client.socket.write(PLAIN.slice(0, -1))
    await until('the head', () => begun === 1)
    await until('the break', () => {
      pass(server.requestTimeout)
      return broken.length > 0
    })
    pass(server.requestTimeout)
    assert.deepEqual(broken, ['ERR_GW_REQUEST_TIMEOUT'])
  })

  test('a client that ends in its body breaks it, and one that leaves has left', async () => {
    const ends = dial()
    ends.socket.end(PLAIN.slice(0, -1))
    await accepted(1)
    const leaves = dial()
    leaves.socket.write(PLAIN.slice(0, -1), () => leaves.socket.destroy())
    await accepted(2)
    assert.deepEqual(broken, ['ERR_GW_INVALID_REQUEST', 'ERR_GW_INVALID_REQUEST'])
  })

  test('idle ones are closed first, busy ones last', async () => {
    const idle = dial()
    idle.socket.write(PLAIN)
    await hears(idle, ['own'])
    holds = true
    const busy = dial()
    busy.socket.write(PLAIN)
    await accepted(2)
    door.close(false)
    await until('the close', idle.isOver)
    held[0]?.sendWhole(200, [], 'own')
    await hears(busy, ['own'])
    door.close(true)
    await until('the other close', busy.isOver)
  })
})
