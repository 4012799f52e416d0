/** Requests of clients and of the gateway itself use proxies: plain ones are forwarded, with their whole URL. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { after, test } from 'node:test'
import { openPool, openRequestPool } from '../../../../dataplane/connection/client.ts'
import { Http1Pool } from '../../../../dataplane/connection/http1/pool.ts'

type PoolArguments = Parameters<typeof openRequestPool>

let answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const asked: string[] = []
const server = createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {})
  socket.on('data', (bytes) => {
    asked.push(bytes.toString('latin1'))
    socket.write(answer)
  })
}).listen(0, '127.0.0.1')
await once(server, 'listening')
// A server that listens on a port has an address of this type.
const { port } = server.address() as AddressInfo
after(() => server.close())

function given(origin: string, http_proxy?: string, no_proxy: readonly string[] = []) {
  const upstream = { origin, timeoutMs: 60_000, section: { connect_timeout_seconds: 60 } }
  const whole = { http_proxy, no_proxy }
  // Contains only what a pool needs.
  return [upstream, whole, 1] as unknown as PoolArguments
}

function aPool(...how: Parameters<typeof given>) {
  return openRequestPool(...given(...how))
}

/** The status of the answer, or the reason why no answer came. */
async function ask(pool: ReturnType<typeof aPool>): Promise<number | Error> {
  const body = Buffer.from('{}')
  const heard = await new Promise<number | Error>((resolve) => {
    let status = 0
    pool.dispatch(
      { path: '/v1/chat', headers: ['a', 'b'], requestId: 'r-1', body },
      {
        isOver: false,
        onRequestStart: () => undefined,
        onResponseStart: (_, one) => {
          status = one
        },
        onResponseData: () => undefined,
        onResponseEnd: () => resolve(status),
        onResponseError: (_, error) => resolve(error),
      },
    )
  })
  await pool.destroy()
  return heard
}

test('a plain upstream is called with its whole URL and the credential of the proxy', async () => {
  asked.length = 0
  const proxy = `http://user:p%40ss@127.0.0.1:${port}`
  assert.equal(await ask(aPool('http://model.example:8000', proxy)), 200)
  assert.deepEqual(asked, [
    'POST http://model.example:8000/v1/chat HTTP/1.1\r\nhost: model.example:8000\r\nconnection: keep-alive\r\na: b\r\n' +
      `proxy-authorization: ${btoa('user:p@ss').replace(/^/, 'Basic ')}\r\nx-request-id: r-1\r\ncontent-length: 2\r\n\r\n{}`,
  ])
})

test('a proxy that asks for a credential has refused, an upstream that does so has answered', async () => {
  answer = 'HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n'
  const refused = await ask(aPool('http://model.example', `http://127.0.0.1:${port}`))
  assert.match(String(refused), /refused the request \(407\)/)
  assert.equal(await ask(aPool(`http://127.0.0.1:${port}`)), 407)
  assert.equal(
    await ask(aPool(`http://127.0.0.1:${port}`, 'http://127.0.0.1:9', ['127.0.0.1'])),
    407,
  )
})

test("a probe uses a proxy in the same way, and the proxy's refusal is not an answer", async () => {
  answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  asked.length = 0
  const pool = openPool(...given('http://model.example', `http://user@127.0.0.1:${port}`))
  const probe = { path: '/health', method: 'GET', headers: { accept: '*/*' } } as const
  assert.equal((await pool.request(probe)).statusCode, 200)
  assert.match(
    asked[0] ?? '',
    /^GET http:\/\/model\.example\/health HTTP\/1\.1\r\nhost: model\.example\r\n/,
  )
  assert.match(asked[0] ?? '', /\r\naccept: \*\/\*\r\nproxy-authorization: Basic dXNlcjo=\r\n/)
  answer = 'HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n'
  await assert.rejects(pool.request(probe), /refused the request \(407\)/)
  await pool.destroy()
})

test('every connection uses the pool that paces its answers', async () => {
  for (const origin of ['http://model.example', 'https://model.example']) {
    const pool = aPool(origin, 'http://127.0.0.1:9')
    assert.ok(pool instanceof Http1Pool, origin)
    await pool.destroy()
  }
})
