/**
 * The webhook's server: its answers, its bounds, and the replacement of its certificate while it
 * runs.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { renewed } from '../../operator/admission/certificates.ts'
import { createReviewServer, type ReviewServerOptions } from '../../operator/admission/server.ts'
import { until } from '../helpers/until.ts'

const OPERATOR = join(import.meta.dirname, '../../operator/main.ts')

function someCertificates() {
  return renewed(undefined, { hosts: ['127.0.0.1'], now: Date.now(), isTrusted: () => true })
}

async function aServer(options: Partial<ReviewServerOptions> = {}) {
  const certificates = someCertificates()
  const answered: number[] = []
  const reviews = createReviewServer({
    answer: (body) => ({ status: 200, body: { echo: body } }),
    onAnswer: (status) => answered.push(status),
    ...options,
  })
  const { server } = reviews
  reviews.show(certificates.leaf)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // A server that listens on an address and port has both.
  const { port } = server.address() as AddressInfo
  return {
    reviews,
    port,
    ca: [...certificates.authorities],
    answered,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

interface Asked {
  readonly port: number
  readonly ca: string[]
  readonly agent?: Agent
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

async function ask({ body = '{}', path = '/validate', method = 'POST', ...rest }: Asked) {
  const headers = { 'content-type': 'application/json', ...rest.headers }
  const asked = request({ host: '127.0.0.1', agent: false, ...rest, path, method, headers })
  // The unread rest may be cut off; the answer has arrived anyway.
  asked.on('error', () => undefined)
  asked.end(body)
  const [answer]: readonly IncomingMessage[] = await once(asked, 'response')
  assert.ok(answer)
  const text: string[] = await Array.fromAsync(answer.setEncoding('utf8'))
  return { status: answer.statusCode, headers: answer.headers, text: text.join('') }
}

test('a review gets an answer, and everything else an error message', async () => {
  const server = await aServer()
  const cases: readonly (readonly [Partial<Asked>, number, RegExp])[] = [
    [{ body: '{"a":1}', path: '/validate?timeout=5s' }, 200, /\{"echo":\{"a":1\}\}/],
    [{ path: '/' }, 404, /\/validate/],
    [{ path: '/validate/more' }, 404, /\/validate/],
    [{ method: 'PUT' }, 405, /POST/],
    [{ headers: { 'content-type': 'text/plain' } }, 415, /application\/json/],
    [{ body: '{"a":' }, 400, /not JSON/],
    [{ body: '' }, 400, /not JSON/],
    [{ body: Buffer.alloc(7 * 1024 * 1024 + 1, 0x20) }, 413, /at most/],
    [
      { headers: { 'transfer-encoding': 'chunked' }, body: Buffer.alloc(8 << 20, 0x20) },
      413,
      /at most/,
    ],
  ]
  try {
    for (const [asked, status, says] of cases) {
      const { status: got, text, headers } = await ask({ ...server, ...asked })
      assert.equal(got, status, JSON.stringify(asked.path ?? asked.method))
      assert.match(text, says)
      if (status === 405) assert.equal(headers.allow, 'POST')
    }
    await until('all are counted', () => server.answered.length === cases.length)
    assert.deepEqual(
      server.answered,
      cases.map(([, status]) => status),
    )
  } finally {
    server.stop()
  }
})

test('a slow sender is cut off, and other clients get answers meanwhile', async () => {
  const server = await aServer({ timings: { headersMs: 400, requestMs: 400 } })
  const { port, ca } = server
  const start = 'POST /validate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
  const openSlow = async (text: string) => {
    const socket = connect({ host: '127.0.0.1', port, ca })
    await once(socket, 'secureConnect')
    socket.on('error', () => undefined)
    socket.resume().write(text)
    return socket
  }
  try {
    // More than the server reads at once.
    const slow: TLSSocket[] = []
    for (let count = 0; count < 20; count++) {
      slow.push(await openSlow(count < 10 ? start : `${start}content-length: 9\r\n\r\n{`))
    }
    assert.equal((await ask({ ...server, path: '/' })).status, 404)
    let status: number | undefined
    void ask(server).then((answer) => {
      status = answer.status
    })
    await until('a client that sends the whole review gets an answer', () => status === 200)
    await until('the slow clients are cut off', () => slow.every(({ closed }) => closed))
  } finally {
    server.stop()
  }
})

test('new connections get another certificate, and open connections continue', async () => {
  const server = await aServer()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const first = { ...server, agent }
  try {
    assert.equal((await ask(first)).status, 200)
    const next = someCertificates()
    server.reviews.show(next.leaf)
    // On the open connection; a new one would not be trusted.
    assert.equal((await ask(first)).status, 200)
    await assert.rejects(
      ask(server).then(() => undefined),
      /./,
    )
    assert.equal((await ask({ ...server, ca: [...next.authorities] })).status, 200)
  } finally {
    agent.destroy()
    server.stop()
  }
})

test('a server that shuts down answers, and closes its connections, so that clients use another server next time', async () => {
  const server = await aServer()
  const agent = new Agent({ keepAlive: true })
  try {
    assert.equal((await ask({ ...server, agent })).headers.connection, 'keep-alive')
    server.reviews.leave()
    const { status, headers } = await ask({ ...server, agent })
    assert.deepEqual([status, headers.connection], [200, 'close'])
  } finally {
    agent.destroy()
    server.stop()
  }
})

test('a client without TLS, or with an unknown authority, does not stop the server', async () => {
  const server = await aServer()
  try {
    const plain = await fetch(`http://127.0.0.1:${server.port}/validate`).catch(() => undefined)
    assert.equal(plain, undefined)
    assert.equal((await ask(server)).status, 200)
  } finally {
    server.stop()
  }
})

test('an incomplete webhook is refused at the start: its arguments belong together', () => {
  const run = (...args: readonly string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [OPERATOR, ...args], {
      encoding: 'utf8',
    })
    return `${status} ${stderr}`
  }
  const whole = ['--webhook-port=9443', '--webhook-host=a.b.svc', '--webhook-configuration=c']
  const half = /^64 error: --webhook-port, --webhook-host and .* go together/
  assert.match(run(...whole.slice(1)), half)
  assert.match(
    run(...whole, '--webhook-host=a.b.svc:443'),
    /^64 error: --webhook-host has "a\.b\.svc:443"/,
  )
})
