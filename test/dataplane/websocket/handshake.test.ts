/** Handshakes of WebSockets: the answer of RFC 6455, and the faults of requests that are not valid. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  acceptance,
  asksForSocket,
  handshakeFault,
} from '../../../dataplane/websocket/handshake.ts'

const GOOD = {
  connection: 'keep-alive, Upgrade',
  upgrade: 'WebSocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

function asking(headers: Readonly<Record<string, string | undefined>>, httpVersion = '1.1') {
  const all: Readonly<Record<string, string | undefined>> = { ...GOOD, ...headers }
  return { httpVersion, header: (name: string) => all[name] }
}

test("the sample of RFC 6455 gets the RFC's answer", () => {
  assert.equal(handshakeFault(asking({})), undefined)
  assert.deepEqual(acceptance(asking({})).slice(-2), [
    'sec-websocket-accept',
    's3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
  ])
})

test('only an offer of a WebSocket is a handshake', () => {
  assert.ok(asksForSocket(asking({})))
  for (const upgrade of [undefined, 'h2c', 'websockets'])
    assert.ok(!asksForSocket(asking({ upgrade })), String(upgrade))
})

test('another version is 426, and everything else that is missing or wrong 400', () => {
  for (const version of [undefined, '8', '13, 8', ''])
    assert.equal(
      handshakeFault(asking({ 'sec-websocket-version': version }))?.status,
      426,
      String(version),
    )
  const rows = [
    asking({ connection: undefined }),
    asking({ connection: 'keep-alive' }),
    asking({ 'sec-websocket-key': undefined }),
    asking({ 'sec-websocket-key': 'short' }),
    asking({ 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ=' }),
    asking({}, '1.0'),
  ]
  for (const row of rows) assert.equal(handshakeFault(row)?.status, 400)
})
