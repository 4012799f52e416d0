/** Slow clients: their connections end at their timeout, and other clients do not notice. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { setInterval as every } from 'node:timers/promises'
import { answers, until } from '../../helpers/until.ts'
import {
  CHAT_BODY,
  CHAT_HEADERS,
  CHAT_LINE,
  chatBytes,
  framedBytes,
  open,
  startFront,
} from './front.ts'
import type { RawSocket } from './raw-socket.ts'

/** The gateway's timeout for a head; it checks once a second. */
const HEAD_SECONDS = 10
/**
 * The gateway's 60 s for a whole request have no setting, so the test shortens Node's own timeout
 * in the process.
 */
const BODY_SECONDS = 3
const IMPATIENT = `import { Server } from 'node:http'
import net from 'node:net'
Server.prototype.listen = function (...where) {
  this.headersTimeout = this.requestTimeout = ${BODY_SECONDS * 1000}
  return net.Server.prototype.listen.apply(this, where)
}`
/** The allowed delay of a busy machine; a connection that is not closed stays open much longer. */
const LATE_SECONDS = 20
const CLIENTS = 200

const front = await startFront()
const impatient = await startFront({
  env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(IMPATIENT)}` },
})
after(() => Promise.all([front.stop(), impatient.stop()]))

/** Sends a byte a second until the peer closes; returns the seconds. */
async function drip(socket: RawSocket, bytes: string, secondsMax: number): Promise<number> {
  const start = performance.now()
  const passed = () => (performance.now() - start) / 1000
  let at = 0
  for await (const _ of every(1000)) {
    if (socket.end !== undefined || passed() > secondsMax) break
    if (socket.end === undefined) socket.send(bytes[at++ % bytes.length] ?? ' ')
  }
  return passed()
}

function within(seconds: number, limit: number): void {
  assert.ok(seconds >= limit - 1 && seconds <= limit + LATE_SECONDS, `closed after ${seconds} s`)
}

describe('slow clients', { concurrency: true }, () => {
  test(`${CLIENTS} clients that drip their heads are closed in time, and other clients are served`, async () => {
    const sockets = Array.from({ length: CLIENTS }, () => open(front, `${CHAT_LINE}\r\n`))
    const drips = sockets.map((socket) => drip(socket, 'X-Drip: drop\r\n', 100))
    await until('another client is served', () => answers(`${front.gateway.url}/healthz`))
    assert.ok(
      sockets.some(({ end }) => end === undefined),
      'while they drip',
    )
    for (const seconds of await Promise.all(drips)) within(seconds, HEAD_SECONDS)
    for (const socket of sockets) assert.equal(socket.answers[0]?.status ?? 408, 408)
    assert.ok(front.upstream.asked.length <= 1)
  })

  test('a client that sends nothing is closed too', async () => {
    const socket = open(front)
    assert.ok(await socket.closes(HEAD_SECONDS + LATE_SECONDS))
  })

  test('a client that stops in the middle of its second head is closed too', async () => {
    const socket = open(front, chatBytes())
    assert.ok(await socket.until(() => socket.answers.length === 1))
    socket.send(`${CHAT_LINE}\r\nHost: a`)
    assert.ok(await socket.closes(HEAD_SECONDS + LATE_SECONDS))
    assert.equal(front.upstream.asked.length, 1)
  })

  test('clients that drip their bodies are refused and closed in time', async () => {
    const expecting = [...CHAT_HEADERS, 'Content-Length: 50', 'Expect: 100-continue']
    const heads = {
      length: framedBytes(['Content-Length: 5000'], '{"model":"'),
      chunk: framedBytes(['Transfer-Encoding: chunked'], 'ffff\r\n{"model":"'),
      'chunks of a byte': framedBytes(['Transfer-Encoding: chunked'], ''),
      silence: framedBytes([`Content-Length: ${CHAT_BODY.length}`], CHAT_BODY.slice(0, -1)),
      expectation: chatBytes({ headers: expecting, body: '' }),
    }
    const rows = Object.entries(heads).map(async ([what, head]) => {
      const socket = open(impatient, head)
      const start = performance.now()
      if (what === 'silence' || what === 'expectation') await socket.closes(100)
      else await drip(socket, what === 'chunks of a byte' ? '1\r\nx\r\n' : 'x', 100)
      within((performance.now() - start) / 1000, BODY_SECONDS)
      const statuses = socket.answers.map(({ status }) => status).filter((status) => status >= 200)
      assert.deepEqual(statuses, [408], what)
    })
    await Promise.all(rows)
    assert.equal(impatient.upstream.asked.length, 0)
  })
})
