/** A header is the same with both readers of a head: the gateway's own, and Node's. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Incoming } from '../../../dataplane/call/call.ts'
import { PlainExchange } from '../../../dataplane/listener/http1/exchange.ts'
import { recognise } from '../../../dataplane/listener/http1/plain-head.ts'
import { NodeExchange } from '../../../dataplane/listener/node-exchange.ts'
import { correlate } from '../../../dataplane/telemetry/correlation.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import { MemorySocket } from '../fuzz/memory-socket.ts'

const METHOD = 'GET'
const PATH = '/v1/models'
const LINE = `${METHOD} ${PATH} HTTP/1.1\r\n`
const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
/** No request has these; a table of names could. */
const ABSENT = ['constructor', '__proto__', 'toString', 'absent']

type Asked = Pick<Incoming, 'header' | 'rawHeaders'>
type Ids = readonly (string | undefined)[]

function idsOf(incoming: Asked): Ids {
  const trace = newTrace('tag-1', '', METHOD, PATH)
  correlate(incoming, trace)
  return [trace.client_request_id, trace.trace_id, trace.traceparent, trace.tracestate]
}

/** undefined if the gateway leaves the request to Node. */
function byGateway(bytes: string): Asked | undefined {
  const head = recognise(Buffer.from(bytes, 'latin1'), [{ text: LINE, hasBody: false }])
  // A connection is needed only for an answer.
  const none = {} as ConstructorParameters<typeof PlainExchange>[0]
  return head && new PlainExchange(none, { method: METHOD, path: PATH }, head)
}

interface NodeAsked {
  readonly incoming: Asked
  /** As Node itself reads them. */
  readonly headers: Readonly<Record<string, unknown>>
}

/** A string where Node refuses the request. */
function byNode(bytes: string): Promise<NodeAsked | string> {
  return new Promise((resolve) => {
    const server = createServer({ requireHostHeader: false })
    server.on('clientError', (error) => resolve(error.message))
    server.on('request', (incoming, outgoing) =>
      resolve({ incoming: new NodeExchange(incoming, outgoing), headers: incoming.headers }),
    )
    const socket = new MemorySocket(Buffer.from(bytes, 'latin1'))
    socket.on('close', () => resolve('closed'))
    server.emit('connection', socket)
  })
}

async function readByNode(bytes: string): Promise<NodeAsked> {
  const read = await byNode(bytes)
  assert.ok(typeof read !== 'string', `${read}: ${JSON.stringify(bytes)}`)
  return read
}

function request(lines: readonly string[]): string {
  return `${LINE}${['Host: a', ...lines].map((line) => `${line}\r\n`).join('')}\r\n`
}

const ROWS: readonly (readonly [lines: readonly string[], ids: Ids])[] = [
  [[], [undefined, undefined, undefined, undefined]],
  [['X-Request-Id:  a-1  '], ['a-1', undefined, undefined, undefined]],
  [
    ['x-request-ID:a-1', `TraceParent: ${PARENT}`, 'TRACESTATE: a=b , c=d'],
    ['a-1', PARENT.slice(3, 35), PARENT, 'a=b , c=d'],
  ],
  [['X-Request-Id:'], [undefined, undefined, undefined, undefined]],
  [['tracestate: a=b'], [undefined, undefined, undefined, undefined]],
]

for (const [lines, ids] of ROWS) {
  test(`both read the ids of ${JSON.stringify(lines)}`, async () => {
    const own = byGateway(request(lines))
    assert.deepEqual(own && idsOf(own), ids)
    assert.deepEqual(idsOf((await readByNode(request(lines))).incoming), ids)
  })
}

test('an id that is sent twice is left to Node', () => {
  for (const line of ['X-Request-Id: a', `traceparent: ${PARENT}`, 'tracestate: a=b']) {
    assert.equal(byGateway(request([line, line])), undefined)
  }
})

test('a header that is sent twice is joined, or its first value counts', async () => {
  const bytes = request(['Accept: a', 'Cookie: a=b', 'USER-AGENT: a', 'accept:b', 'cookie: c=d'])
  for (const incoming of [byGateway(bytes), (await readByNode(bytes)).incoming]) {
    assert.equal(incoming?.header('accept'), 'a, b')
    assert.equal(incoming?.header('cookie'), 'a=b; c=d')
    assert.equal(incoming?.header('user-agent'), 'a')
    assert.equal(incoming?.header('host'), 'a')
    for (const name of ABSENT) assert.equal(incoming?.header(name), undefined, name)
  }
})

/** Header lines of any kind: those that the gateway knows, those that Node treats specially, and any other. */
function headerLine(): fc.Arbitrary<string> {
  const known = fc.constantFrom(
    ...['Host', 'x-request-id', 'X-Request-Id', 'traceparent', 'TraceParent', 'tracestate'],
    ...['Authorization', 'x-api-key', 'Content-Type', 'origin', 'Connection', 'content-length'],
    ...['Age', 'ETag', 'Expires', 'From', 'If-Modified-Since', 'If-Unmodified-Since', 'Referer'],
    ...['Last-Modified', 'Location', 'Max-Forwards', 'Proxy-Authorization', 'Retry-After'],
    ...['Server', 'User-Agent', 'Set-Cookie', 'cookie', 'Accept', 'X-Forwarded-For', 'baggage'],
    ...['anthropic-version', 'constructor', '__proto__', 'toString'],
  )
  const name = fc.oneof(known, fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}$/))
  const space = fc.constantFrom('', ' ', '  ', '\t')
  const value = fc.oneof(
    fc.constantFrom(PARENT, `${PARENT}-x`, 'a=b', 'a=b,c=d', 'id', '', 'a b', 'keep-alive', '0'),
    fc.string({ maxLength: 140 }),
    fc.string({ unit: fc.constantFrom('a', '=', ',', '-', '0', '\xe9', '\x7f', '\r', '\n') }),
  )
  return fc
    .tuple(name, space, value, space)
    .map(([one, before, text, behind]) => `${one}:${before}${text}${behind}`)
}

test('both read every header of a random head the same way, and join it like Node', async () => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(fc.array(headerLine(), { maxLength: 8 }), async (lines) => {
      const bytes = request(lines)
      const own = byGateway(bytes)
      if (own === undefined) return
      compared++
      const { incoming, headers } = await readByNode(bytes)
      assert.deepEqual(own.rawHeaders, incoming.rawHeaders)
      assert.deepEqual(idsOf(own), idsOf(incoming))
      const names = own.rawHeaders.filter((_, index) => index % 2 === 0)
      for (const name of [...names.map((one) => one.toLowerCase()), ...ABSENT]) {
        assert.equal(own.header(name), incoming.header(name), name)
        const joined = Object.hasOwn(headers, name) ? headers[name] : undefined
        // Node keeps this one as a list, and omits that one.
        if (name === '__proto__') continue
        assert.equal(own.header(name), Array.isArray(joined) ? joined.join(', ') : joined, name)
      }
    }),
    { numRuns: 2000 },
  )
  assert.ok(compared > 100, String(compared))
})
