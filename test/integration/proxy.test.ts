/**
 * Upstreams through an egress proxy: which use it, in which form, and which host gets the proxy's
 * credential.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { until } from '../helpers/until.ts'
import { CREDENTIAL } from './egress-gateway.ts'
import {
  direct,
  endless,
  endlessSecure,
  gateway,
  misnamedProxy,
  PROXY_USER,
  plain,
  proxies,
  proxy,
  secure,
  secureProxy,
  servers,
  stopAll,
  throughMisnamed,
  throughSecure,
  unreachable,
  wrongName,
} from './proxied-upstreams.ts'

after(stopAll)
beforeEach(() => {
  for (const one of proxies) {
    // Tunnels stay open for the next request; each test begins without one.
    one.hangUp()
    one.asked.length = 0
    one.refuse = undefined
  }
})

for (const [what, through, by] of [
  ['http', gateway, proxy],
  ['https', throughSecure, secureProxy],
] as const) {
  test(`${what} proxy: a plain upstream gets requests with their full URL, on loopback or not`, async () => {
    assert.equal((await through.ask('plain')).status, 200)
    const line = `POST http://localhost:${plain.port}/v1/chat/completions`
    assert.deepEqual(by.asked, [{ line, authorization: PROXY_USER }])
    assert.equal((await through.ask('plain_address')).status, 200)
    assert.equal(by.asked.length, 2)
  })

  test(`${what} proxy: the ids of a request reach the upstream`, async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const own = { 'x-request-id': `order-${what}`, traceparent, tracestate: 'a=b' }
    assert.equal((await through.ask('secure', {}, own)).status, 200)
    const received = secure.received()
    assert.match(received, new RegExp(`x-client-request-id: order-${what}\r\n`))
    assert.match(
      received.slice(received.indexOf(`order-${what}`)),
      /traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01\r\ntracestate: a=b\r\n/,
    )
  })

  test(`${what} proxy: a TLS upstream gets requests through a tunnel, which is reused`, async () => {
    assert.equal((await through.ask('secure')).status, 200)
    assert.equal((await through.ask('secure')).status, 200)
    const line = `CONNECT localhost:${secure.port}`
    assert.deepEqual(by.asked, [{ line, authorization: PROXY_USER }])
  })

  test(`${what} proxy: a certificate is also verified through the tunnel`, async () => {
    const answer = await through.ask('wrong_name')
    assert.equal(answer.code, 'ERR_GW_UPSTREAM_TLS_VERIFY')
    assert.match(await through.lastReason(), /ERR_TLS_CERT_ALTNAME_INVALID: .*other\.example/)
    assert.match(answer.message, /its certificate is for another name\.$/)
    assert.equal(wrongName.received(), '')
  })

  test(`${what} proxy: a stream cut by the upstream is cut for the client`, async () => {
    for (const name of ['endless', 'endless_secure']) {
      const { received } = name === 'endless' ? endless : endlessSecure
      const before = requestsIn(received())
      const asking = through.ask(name, { stream: true }).catch((error: unknown) => error)
      await until('the stream has begun', () => requestsIn(received()) > before)
      by.hangUp()
      const answer = await asking
      assert.ok(answer instanceof Error || /ERR_GW_/.test(JSON.stringify(answer)), String(answer))
    }
  })
}

test("the upstream never sees the proxy's credential, and a tunnelling proxy never sees the upstream's", () => {
  for (const server of servers) {
    assert.ok(!server.received().toLowerCase().includes('proxy-'), server.received())
  }
  assert.match(secure.received(), new RegExp(`Bearer ${CREDENTIAL}`))
})

for (const status of [407, 403, 502]) {
  test(`a tunnel refused with ${status} is a failed connection`, async () => {
    proxy.refuse = status
    const answer = await gateway.ask('secure')
    assert.equal(answer.code, 'ERR_GW_UPSTREAM_ERROR')
    assert.match(await gateway.lastReason(), new RegExp(`\\(${status}\\)`))
    assert.equal(await gateway.lastOutcome(), 'connect')
  })
}

test('a proxy that requires another credential is a failed connection for plain upstreams too', async () => {
  proxy.refuse = 407
  const answer = await gateway.ask('plain')
  assert.equal(answer.code, 'ERR_GW_UPSTREAM_ERROR')
  assert.match(await gateway.lastReason(), /\(407\)/)
  assert.equal(await gateway.lastOutcome(), 'connect')
})

test('a proxy that never answers is a timeout', async () => {
  proxy.refuse = 0
  const answer = await gateway.ask('hasty')
  assert.equal(answer.code, 'ERR_GW_PROXY_TIMEOUT')
  // The gateway gave up the tunnel, and not only the waiting request.
  assert.match(await gateway.lastReason(), /UND_ERR_HEADERS_TIMEOUT/)
})

test('an unreachable proxy is a failed connection', async () => {
  for (const name of ['plain', 'secure']) {
    const answer = await unreachable.ask(name)
    assert.equal(answer.code, 'ERR_GW_UPSTREAM_ERROR')
    assert.match(await unreachable.lastReason(), /ECONNREFUSED.*127\.0\.0\.1:9/)
    assert.equal(answer.message, `Upstream "${name}" could not be reached.`)
  }
})

test("a proxy with another proxy's certificate gets nothing", async () => {
  for (const name of ['plain', 'secure']) {
    const answer = await throughMisnamed.ask(name)
    assert.equal(answer.code, 'ERR_GW_UPSTREAM_TLS_VERIFY')
    assert.match(await throughMisnamed.lastReason(), /a\.example/)
    assert.doesNotMatch(answer.message, /a\.example/)
  }
  assert.deepEqual(misnamedProxy.asked, [])
})

test('the proxy resolves names', async () => {
  const answer = await gateway.ask('unknown')
  assert.deepEqual(
    proxy.asked.map(({ line }) => line),
    ['CONNECT no-such-name.invalid:443'],
  )
  assert.equal(answer.status, 502)
})

test('hosts in no_proxy are reached directly', async () => {
  for (const name of ['plain', 'plain_address', 'secure']) {
    const answer = await direct.ask(name)
    assert.equal(answer.status, 200, answer.message)
  }
  assert.deepEqual(proxy.asked, [])
})

function requestsIn(received: string): number {
  return received.split('POST ').length - 1
}
