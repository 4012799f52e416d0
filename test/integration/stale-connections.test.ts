/**
 * If the upstream closes a kept connection just as a request is sent, the client still gets its
 * answer.
 */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { after, test } from 'node:test'
import { Certificates } from '../helpers/certificates.ts'
import { startProxy } from './connect-proxy.ts'
import { startEgressGateway } from './egress-gateway.ts'
import {
  type RawServer,
  type Reply,
  replyWell,
  startTcpServer,
  startTlsServer,
} from './raw-server.ts'

const certificates = new Certificates()
const pair = certificates.make()
const https = (reply: Reply) => startTlsServer(pair, reply)

/**
 * Answers all requests except the second one of the first connection, which gets this treatment.
 */
function givingUp(how: Reply): Reply {
  const answered = new Set<Socket>()
  let isDone = false
  return (socket) => {
    if (answered.has(socket) && !isDone) {
      isDone = true
      how(socket)
      return
    }
    answered.add(socket)
    replyWell(socket)
  }
}

/** The first request is answered; all others, on any connection, get this treatment. */
function oncePerServer(how: Reply): Reply {
  let isFirst = true
  return (socket) => {
    const reply = isFirst ? replyWell : how
    isFirst = false
    reply(socket)
  }
}

const close: Reply = (socket) => void socket.end()
const reset: Reply = (socket) => void socket.resetAndDestroy()
/** Closes without an answer, as a killed process does. */
const drop: Reply = (socket) => void socket.destroy()
const half: Reply = (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-')

const servers = {
  closes: await startTcpServer(givingUp(close)),
  resets: await startTcpServer(givingUp(reset)),
  closes_tls: await https(givingUp(close)),
  drops_tls: await https(givingUp(drop)),
  dead: await startTcpServer(oncePerServer(close)),
  halves: await startTcpServer(oncePerServer(half)),
  fresh: await startTcpServer(close),
  tunnelled_tls: await https(givingUp(drop)),
} satisfies Record<string, RawServer>
type Name = keyof typeof servers

function upstreamAt(name: Name) {
  const isSecure = name.endsWith('_tls')
  return {
    endpoint: `${isSecure ? 'https' : 'http'}://localhost:${servers[name].port}`,
    circuit_breaker: { failure_threshold: 1 },
    ...(isSecure && { tls: { ca_bundle_path: pair.certFile } }),
  }
}

// The keys of an object literal are its names.
const names = Object.keys(servers) as Name[]
const gateway = await startEgressGateway({
  upstreams: Object.fromEntries(names.map((name) => [name, upstreamAt(name)])),
})
after(async () => {
  await gateway.stop()
  await Promise.all(Object.values(servers).map((server) => server.close()))
  certificates.remove()
})

function requestsAt(name: Name): number {
  return servers[name].received().split('POST ').length - 1
}

async function breakerOf(name: Name): Promise<string> {
  const response = await fetch(`${gateway.adminUrl}/status`)
  const { upstreams } = JSON.parse(await response.text())
  return upstreams.find((one: { name: string }) => one.name === name).breaker
}

async function metrics(): Promise<string> {
  return await (await fetch(`${gateway.metricsUrl}/metrics`)).text()
}

for (const name of ['closes', 'resets', 'closes_tls', 'drops_tls'] as const) {
  test(`${name}: the request is sent again on a new connection, and no client notices`, async () => {
    assert.equal((await gateway.ask(name)).status, 200)
    assert.equal((await gateway.ask(name)).status, 200)
    assert.equal(requestsAt(name), 3)
    assert.equal(servers[name].connections(), 2)
    assert.equal(await breakerOf(name), 'closed')
    const text = await metrics()
    assert.match(text, new RegExp(`gw_upstream_attempts_total{upstream="${name}",outcome="ok"} 2`))
    assert.match(text, new RegExp(`gw_upstream_retries_total{upstream="${name}"} 0\n`))
    assert.match(text, new RegExp(`gw_upstream_resends_total{upstream="${name}"} 1`))
  })
}

test('the same holds in a tunnel of the egress proxy', async (t) => {
  const proxy = await startProxy()
  const through = await startEgressGateway({
    upstreams: { tunnelled_tls: upstreamAt('tunnelled_tls') },
    section: { http_proxy: `http://127.0.0.1:${proxy.port}` },
  })
  t.after(() => Promise.all([through.stop(), proxy.close()]))
  assert.equal((await through.ask('tunnelled_tls')).status, 200)
  assert.equal((await through.ask('tunnelled_tls')).status, 200)
  assert.equal(requestsAt('tunnelled_tls'), 3)
  assert.equal(proxy.asked.length, 2)
})

test('it is sent again only once: a second connection that closes is a failure', async () => {
  assert.equal((await gateway.ask('dead')).status, 200)
  assert.equal((await gateway.ask('dead')).status, 502)
  assert.equal(requestsAt('dead'), 3)
  assert.equal(await breakerOf('dead'), 'open')
})

test('after a byte of an answer, it is not sent again', async () => {
  assert.equal((await gateway.ask('halves')).status, 200)
  assert.equal((await gateway.ask('halves')).status, 502)
  assert.equal(requestsAt('halves'), 2)
  assert.equal(await breakerOf('halves'), 'open')
})

test('a new connection is never stale', async () => {
  assert.equal((await gateway.ask('fresh')).status, 502)
  assert.equal(requestsAt('fresh'), 1)
})
