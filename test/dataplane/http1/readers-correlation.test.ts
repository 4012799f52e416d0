/** The ids that a request carries are the same whichever reader reads its head: the gateway's own, or Node's. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import fc from 'fast-check'
import { recognise } from '../../../dataplane/listener/http1/plain-head.ts'
import { correlate } from '../../../dataplane/telemetry/correlation.ts'
import { Trace } from '../../../dataplane/telemetry/traces.ts'
import { MemorySocket } from '../fuzz/memory-socket.ts'

const LINE = 'GET /v1/models HTTP/1.1\r\n'
const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

type Ids = readonly (string | undefined)[]

function idsOf(headers: Parameters<typeof correlate>[0]): Ids {
  const trace = new Trace('tag-1', '', 'GET', '/')
  correlate(headers, trace)
  return [trace.client_request_id, trace.trace_id, trace.traceparent, trace.tracestate]
}

/** undefined where the gateway leaves the request to Node. */
function byGateway(bytes: string): Ids | undefined {
  const head = recognise(Buffer.from(bytes, 'latin1'), [{ text: LINE, hasBody: false }])
  return head === undefined ? undefined : idsOf(head.headers)
}

/** A string where Node refuses the request. */
function byNode(bytes: string): Promise<Ids | string> {
  return new Promise((resolve) => {
    const server = createServer({ requireHostHeader: false })
    server.on('clientError', (error) => resolve(error.message))
    server.on('request', ({ headers }) => resolve(idsOf(headers)))
    const socket = new MemorySocket(Buffer.from(bytes, 'latin1'))
    socket.on('close', () => resolve('closed'))
    server.emit('connection', socket)
  })
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
  test(`both read ${JSON.stringify(lines)}`, async () => {
    assert.deepEqual(byGateway(request(lines)), ids)
    assert.deepEqual(await byNode(request(lines)), ids)
  })
}

test('what stands twice is left to Node', () => {
  for (const line of ['X-Request-Id: a', `traceparent: ${PARENT}`, 'tracestate: a=b']) {
    assert.equal(byGateway(request([line, line])), undefined)
  }
})

test('whatever the gateway reads by itself, Node reads alike', async () => {
  const name = fc.constantFrom(
    'x-request-id',
    'X-Request-Id',
    'traceparent',
    'TraceParent',
    'tracestate',
    'other',
  )
  const space = fc.constantFrom('', ' ', '  ', '\t')
  const value = fc.oneof(
    fc.constantFrom(PARENT, `${PARENT}-x`, 'a=b', 'a=b,c=d', 'id', '', 'a b'),
    fc.string({ maxLength: 140 }),
    fc.string({ unit: fc.constantFrom('a', '=', ',', '-', '0', '\xe9', '\x7f', '\r', '\n') }),
  )
  const line = fc
    .tuple(name, space, value, space)
    .map(([one, before, text, behind]) => `${one}:${before}${text}${behind}`)
  let compared = 0
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 4 }), async (lines) => {
      const own = byGateway(request(lines))
      if (own === undefined) return
      compared++
      assert.deepEqual(await byNode(request(lines)), own)
    }),
    { numRuns: 1000 },
  )
  assert.ok(compared > 100, String(compared))
})
