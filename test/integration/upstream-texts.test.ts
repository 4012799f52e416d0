/**
 * Clients read the name of an unusable upstream and what happened, never an address or a code of
 * the runtime.
 */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { Certificates } from '../helpers/certificates.ts'
import { until } from '../helpers/until.ts'
import { startEgressGateway } from './egress-gateway.ts'
import { startTcpServer, startTlsServer } from './raw-server.ts'

const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
const STREAM =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const INTERNAL = 'connect ECONNREFUSED 10.0.3.4:8000; [fd00::1]:443 said UND_ERR_SOCKET'

const certificates = new Certificates()
const servers = {
  resets: await startTcpServer((socket) => socket.resetAndDestroy()),
  hangs_up: await startTcpServer((socket) => void socket.end()),
  silent: await startTcpServer(() => undefined),
  garbage: await startTcpServer((socket) => void socket.end('SSH-2.0-OpenSSH_9.9\r\n\r\n')),
  self_signed: await startTlsServer(certificates.make()),
  no_tls: await startTcpServer(),
  internal: await startTcpServer((socket) => {
    const body = JSON.stringify({ error: { message: INTERNAL } })
    socket.end(`HTTP/1.1 500 No\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  }),
  cut: await startTcpServer((socket) => {
    socket.end(`${STREAM}${chunk(EVENT)}`)
  }),
  breaks: await startTcpServer((socket: Socket) => {
    socket.end(`${STREAM}${chunk(EVENT)}zz\r\n`)
  }),
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`
}

const gone = await startTcpServer()
await gone.close()

const plain = (port: number) => ({ endpoint: `http://127.0.0.1:${port}` })
const gateway = await startEgressGateway({
  upstreams: {
    refuses: plain(gone.port),
    resets: plain(servers.resets.port),
    hangs_up: plain(servers.hangs_up.port),
    silent: { ...plain(servers.silent.port), timeout_seconds: 1, connect_timeout_seconds: 1 },
    garbage: plain(servers.garbage.port),
    self_signed: { endpoint: `https://127.0.0.1:${servers.self_signed.port}` },
    no_tls: { endpoint: `https://127.0.0.1:${servers.no_tls.port}` },
    unknown_name: { endpoint: 'http://no-such-name.invalid:8000' },
    internal: plain(servers.internal.port),
    cut: plain(servers.cut.port),
    breaks: plain(servers.breaks.port),
  },
})
after(async () => {
  await gateway.stop()
  await Promise.all(Object.values(servers).map((server) => server.close()))
  certificates.remove()
})

const ADDRESS_OR_CODE =
  /\d+\.\d+\.\d+\.\d+|:\d{2,5}\b|fd00::|\bE[A-Z]{4,}|UND_ERR|HPE_|ERR_(?!GW_)|[A-Z]{3,}_[A-Z]{3,}|no-such-name|other side/

const CLOSED = /^Upstream "\w+" closed the connection before its answer was complete\.$/

const FAILURES: readonly (readonly [name: string, code: string, said: RegExp, reason: RegExp])[] = [
  [
    'refuses',
    'ERR_GW_UPSTREAM_ERROR',
    /^Upstream "refuses" could not be reached\.$/,
    /ECONNREFUSED/,
  ],
  ['resets', 'ERR_GW_UPSTREAM_ERROR', CLOSED, /ECONNRESET/],
  ['hangs_up', 'ERR_GW_UPSTREAM_ERROR', CLOSED, /UND_ERR_SOCKET/],
  [
    'silent',
    'ERR_GW_PROXY_TIMEOUT',
    /^Upstream "silent": .* no answer within 1 s\.$/,
    /within 1 s/,
  ],
  [
    'garbage',
    'ERR_GW_UPSTREAM_ERROR',
    /^Upstream "garbage" sent an answer that is not valid HTTP/,
    /HPE_/,
  ],
  [
    'self_signed',
    'ERR_GW_UPSTREAM_TLS_VERIFY',
    /^Upstream "self_signed" could not be reached over TLS: its certificate is signed by itself/,
    /DEPTH_ZERO_SELF_SIGNED_CERT/,
  ],
  [
    'no_tls',
    'ERR_GW_UPSTREAM_TLS_VERIFY',
    /^Upstream "no_tls" could not be reached over TLS: it does not speak TLS/,
    /ERR_SSL/,
  ],
  [
    'unknown_name',
    'ERR_GW_UPSTREAM_ERROR',
    /^Upstream "unknown_name" could not be reached\.$/,
    /ENOTFOUND|EAI_AGAIN/,
  ],
  ['internal', 'ERR_GW_UPSTREAM_ERROR', /^Upstream "internal" failed: /, /10\.0\.3\.4:8000/],
]

for (const [name, code, said, reason] of FAILURES) {
  for (const stream of [false, true]) {
    test(`${name}${stream ? ', with a stream requested' : ''}: the client reads what happened, the trace why`, async () => {
      const answer = await gateway.ask(name, { stream })
      assert.equal(answer.code, code)
      assert.match(answer.message, said)
      assert.doesNotMatch(answer.message, ADDRESS_OR_CODE)
      assert.match(await gateway.lastReason(), reason)
      await isLogged(answer.text, reason)
    })
  }
}

/** The log line of the request has the detail, too. */
async function isLogged(text: string, reason: RegExp): Promise<void> {
  const { request_id: id } = JSON.parse(text.slice(text.lastIndexOf('{"error"'))).error
  const lines = () => gateway.output().split('\n')
  const find = () => lines().find((line) => line.includes(`"request_id":"${id}"`))
  await until('it is logged', async () => find() !== undefined)
  assert.match(JSON.parse(find() ?? '').reason, reason)
}

const CUT: readonly (readonly [name: string, said: RegExp, reason: RegExp])[] = [
  ['cut', /upstream "cut" closed the connection/, /UND_ERR_SOCKET/],
  ['breaks', /upstream "breaks" sent an answer that is not valid HTTP/, /HPE_/],
]

for (const [name, said, reason] of CUT) {
  test(`${name}, after the stream had begun: the event tells what happened, the trace why`, async () => {
    const text = await gateway.hear(name)
    assert.match(text, /"content":"a"/)
    const { error } = JSON.parse(text.slice(text.lastIndexOf('{"error"')).trim())
    assert.equal(error.code, 'ERR_GW_STREAM_ABORTED')
    assert.match(error.message, said)
    assert.doesNotMatch(error.message, ADDRESS_OR_CODE)
    assert.match(await gateway.lastMessage(), reason)
    await isLogged(text, reason)
  })
}
