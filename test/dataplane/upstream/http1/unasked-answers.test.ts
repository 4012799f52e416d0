/** Unrequested answers are never taken for the answer to the next request, and a connection does not live forever. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { PoolHandler } from '../../../../dataplane/connection/http1/contract.ts'
import { Http1Pool } from '../../../../dataplane/connection/http1/pool.ts'
import { isStale } from '../../../../dataplane/connection/stale-connection.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const HINT = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'

/** A connection whose other end is the test. */
class Line extends Duplex {
  written = ''
  override _read(): void {}
  override _write(chunk: Buffer, _encoding: unknown, done: () => void): void {
    this.written += chunk.toString('latin1')
    done()
  }
  /** Like the system: at once, in the middle of a turn. */
  hear(text: string): void {
    this.emit('data', Buffer.from(text, 'latin1'))
  }
  unref(): this {
    return this
  }
}

function aPool(limits: { requestsMax?: number; ageMsMax?: number; random?: () => number } = {}) {
  const lines: Line[] = []
  const pool = new Http1Pool({
    connect(callback) {
      const line = new Line()
      lines.push(line)
      // The pool uses only these members of a socket.
      callback(null, line as unknown as Socket)
    },
    host: 'model.example',
    connections: Number.POSITIVE_INFINITY,
    idleMs: 60_000,
    idleMsMax: 60_000,
    requestsMax: limits.requestsMax ?? 1000,
    ageMsMax: limits.ageMsMax ?? 600_000,
    random: limits.random ?? (() => 0),
  })
  return { pool, lines }
}

interface Result {
  status: number
  body: string
  error: Error | undefined
  ended: boolean
}

function ask(pool: Http1Pool): Result {
  const result: Result = { status: 0, body: '', error: undefined, ended: false }
  const handler: PoolHandler = {
    isOver: false,
    onRequestStart: () => undefined,
    onResponseStart: (_, status) => {
      result.status = status
    },
    onResponseData: (_, chunk) => {
      result.body += chunk.toString('latin1')
    },
    onResponseEnd: () => {
      result.ended = true
    },
    onResponseError: (_, error) => {
      result.error = error
    },
  }
  const headers = ['content-type', 'application/json']
  pool.dispatch({ path: '/v1', headers, requestId: 'tag-1', body: Buffer.from('{}') }, handler)
  return result
}

async function answered(pool: Http1Pool, line: () => Line): Promise<Result> {
  const result = ask(pool)
  await turn()
  line().hear(OK)
  assert.equal(result.body, 'ok')
  return result
}

test('an answer before its request was written closes the connection, and the request may use another', async () => {
  const { pool, lines } = aPool()
  await answered(pool, () => lines[0] as Line)
  const before = lines[0]?.written
  const result = ask(pool)
  lines[0]?.hear(OK)
  await turn()
  assert.equal(result.status, 0)
  assert.ok(result.error !== undefined && isStale(result.error))
  assert.equal(lines[0]?.written, before)
  assert.equal(lines[0]?.destroyed, true)
  await answered(pool, () => lines[1] as Line)
})

test('bytes after an answer, at once or later, close the connection', async () => {
  for (const isLater of [false, true]) {
    const { pool, lines } = aPool()
    ask(pool)
    await turn()
    lines[0]?.hear(isLater ? OK : `${OK}H`)
    if (isLater) lines[0]?.hear('H')
    assert.equal(lines[0]?.destroyed, true)
    await answered(pool, () => lines[1] as Line)
  }
})

test('a connection carries a fixed number of answers at most, up to a fifth fewer, and no request sees it end', async () => {
  for (const [random, most] of [
    [0, 10],
    [0.99, 9],
  ] as const) {
    const { pool, lines } = aPool({ requestsMax: 10, random: () => random })
    for (let asked = 0; asked < most; asked++) await answered(pool, () => lines.at(-1) as Line)
    assert.equal(lines.length, 1)
    assert.equal(lines[0]?.destroyed, true)
    await answered(pool, () => lines.at(-1) as Line)
    assert.equal(lines.length, 2)
  }
})

test('a connection that is too old closes after its answer', async () => {
  const { pool, lines } = aPool({ ageMsMax: 0.001 })
  await answered(pool, () => lines[0] as Line)
  assert.equal(lines[0]?.destroyed, true)
  await answered(pool, () => lines[1] as Line)
})

test('a request that got a hint before its connection broke was read, and is not sent again', async () => {
  const { pool, lines } = aPool()
  await answered(pool, () => lines[0] as Line)
  const result = ask(pool)
  await turn()
  lines[0]?.hear(HINT)
  lines[0]?.destroy()
  await turn()
  assert.ok(result.error !== undefined)
  assert.equal(isStale(result.error), false)
})
