/**
 * Hostile bytes sent to the real gateway's client port: it sends one honest answer or none, and
 * never an upstream request.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../helpers/until.ts'
import { CHUNK_ROWS } from './hostile/chunk-rows.ts'
import { FRAMING_ROWS } from './hostile/framing-rows.ts'
import {
  CHAT_BODY,
  chatBytes,
  chunk,
  framedBytes,
  open,
  startFront,
  withKey,
} from './hostile/front.ts'
import { HEADER_ROWS } from './hostile/header-rows.ts'
import type { RawSocket } from './hostile/raw-socket.ts'
import type { Row } from './hostile/rows.ts'
import { TARGET_ROWS } from './hostile/target-rows.ts'

const TABLES = {
  'request lines and targets': TARGET_ROWS,
  headers: HEADER_ROWS,
  lengths: FRAMING_ROWS,
  chunks: CHUNK_ROWS,
}
const PROBE = 'GET /healthz HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n\r\n'

/** Path names written with percent-encodings. */
const ALIASES = { 'team/chat': 'chat', 'team:chat %\u00e9': 'chat' }

const front = await startFront({ sections: { aliases: ALIASES } })
after(() => front.stop())

for (const [what, rows] of Object.entries(TABLES)) {
  test(`hostile ${what}: ${rows.length} rows`, async (context) => {
    for (const row of rows) await context.test(row.name, () => holds(row))
    await stillServes()
  })
}

async function holds(row: Row): Promise<void> {
  const socket = await connected(row)
  const before = front.upstream.asked.length
  const earlier = finals(socket)
  socket.send(withKey(front, row.bytes))
  if (row.ends) socket.sendEnd()
  const count = earlier.length + row.answers.length
  await socket.until(() => finals(socket).length >= count || socket.end !== undefined)
  if (row.afterwards === 'serves') {
    assert.equal(socket.end, undefined, `closed after ${JSON.stringify(socket.heard)}`)
    socket.send(PROBE)
  }
  assert.ok(await socket.closes(), `neither answer nor end: ${JSON.stringify(socket.heard)}`)
  const answers = [...earlier, ...row.answers, ...(row.afterwards === 'serves' ? [200] : [])]
  assert.deepEqual(finals(socket), answers, socket.heard)
  assert.equal(socket.remainder, '')
  for (const { status, headers, body } of socket.answers) {
    if (status < 400) continue
    assert.equal(JSON.parse(body).error.request_id, headers['x-request-id'], socket.heard)
  }
  assert.equal(front.upstream.asked.length - before, row.asked, 'requests at the upstream')
}

async function connected({ first }: Row): Promise<RawSocket> {
  const socket = open(front, first)
  if (first !== undefined) assert.ok(await socket.until(() => socket.answers.length === 1))
  return socket
}

function finals(socket: RawSocket): number[] {
  return socket.answers.map(({ status }) => status).filter((status) => status >= 200)
}

/** A good request gets its answer, and nothing sent earlier is still arriving. */
async function stillServes(): Promise<void> {
  const before = front.upstream.asked.length
  const socket = open(front, chatBytes({ more: ['Connection: close'] }))
  assert.ok(await socket.closes())
  assert.deepEqual(finals(socket), [200])
  assert.equal(front.upstream.asked.length, before + 1)
}

const WHOLE = {
  'a body with a length': chatBytes(),
  'a chunked body': framedBytes(
    ['Transfer-Encoding: chunked'],
    `${chunk(CHAT_BODY.slice(0, 20))}${chunk(CHAT_BODY.slice(20))}0\r\nX-Trailer: a\r\n\r\n`,
  ),
  'an expectation': chatBytes({ more: ['Expect: 100-continue'] }),
}

for (const [what, bytes] of Object.entries(WHOLE)) {
  for (const way of ['leave', 'reset', 'sendEnd'] as const) {
    test(`${what} that ends (${way}) after any of its bytes reaches no upstream`, async () => {
      const before = front.upstream.asked.length
      // No request is complete without its last byte.
      for (let length = 0; length < bytes.length; length += 16) {
        const cuts = Array.from({ length: 16 }, (_, index) => length + index)
        await Promise.all(
          cuts.filter((cut) => cut < bytes.length).map((cut) => breakOff(bytes.slice(0, cut), way)),
        )
      }
      await stillServes()
      assert.equal(front.upstream.asked.length, before + 1)
    })
  }
}

async function breakOff(bytes: string, way: 'leave' | 'reset' | 'sendEnd'): Promise<void> {
  const socket = open(front, bytes)
  await socket.until(() => socket.drained, 0.02)
  socket[way]()
  assert.ok(await socket.closes(), `open behind ${JSON.stringify(bytes.slice(-20))}`)
  assert.ok(finals(socket).every((status) => status < 500))
  assert.ok(finals(socket).length <= 1)
}

test('the gateway handled all of it without an internal error', async () => {
  await until('nothing is in flight', async () => (await inFlight()) === 0)
  assert.doesNotMatch(front.gateway.output(), /internal_error|Unhandled|Uncaught|MaxListeners/)
  await stillServes()
})

async function inFlight(): Promise<number> {
  const status = await (await fetch(`${front.gateway.adminUrl}/status`)).json()
  // The type of the admin API is not exported.
  return (status as { requests_in_flight: number }).requests_in_flight
}
