/**
 * Ids that link the records of client, gateway and upstream: the same for both readers of requests.
 */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { until } from '../helpers/until.ts'
import { answerWhole } from './hostile/fake-upstream.ts'
import { CHAT_BODY, chatBytes, open, startFront, withKey } from './hostile/front.ts'
import { sendTo } from './hostile/send.ts'

const front = await startFront({
  upstream: { headers: { traceparent: 'static', 'x-client-request-id': 'static' } },
})
after(() => front.stop())

beforeEach(() => {
  front.upstream.asked.length = 0
  front.upstream.reply = answerWhole
})

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736'
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`
const TRACESTATE = 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'

/** Paths that select the gateway's own reader or Node's. */
const READERS = { 'its own reader': '/v1/chat/completions', Node: '/v1/chat/completions?node' }

for (const [reader, path] of Object.entries(READERS)) {
  test(`read by ${reader}: ids reach the upstream, the log and the trace, and the upstream's id is returned`, async () => {
    front.upstream.reply = (asked, outgoing) => {
      outgoing.setHeader('x-request-id', 'req-of-the-upstream')
      answerWhole(asked, outgoing)
    }
    const headers = {
      'x-request-id': 'order-17/"a"',
      traceparent: TRACEPARENT,
      tracestate: TRACESTATE,
    }
    const answer = await sendTo(front, { path, headers })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers['x-gw-upstream-request-id'], 'req-of-the-upstream')
    const id = String(answer.headers['x-request-id'])
    assert.notEqual(id, 'order-17/"a"')
    const sent = front.upstream.asked[0]?.headers
    assert.equal(sent?.['x-request-id'], id)
    assert.equal(sent?.['x-client-request-id'], 'order-17/"a"')
    assert.match(String(sent?.traceparent), new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`))
    assert.notEqual(sent?.traceparent, TRACEPARENT)
    assert.equal(sent?.tracestate, TRACESTATE)
    const given = {
      client_request_id: 'order-17/"a"',
      trace_id: TRACE_ID,
      traceparent: TRACEPARENT,
      tracestate: TRACESTATE,
    }
    const upstream_request_id = 'req-of-the-upstream'
    assert.partialDeepStrictEqual(await lineOf(id), { ...given, upstream_request_id })
    assert.partialDeepStrictEqual(await traceOf(id), {
      ...given,
      attempts: [{ upstream_request_id }],
    })
  })

  test(`read by ${reader}: without ids, or with malformed ones, no id is forwarded`, async () => {
    const odd = { 'x-request-id': 'a b', traceparent: `${TRACEPARENT}-`, tracestate: 'a=b' }
    for (const headers of [{}, odd, { tracestate: TRACESTATE }]) {
      front.upstream.asked.length = 0
      const answer = await sendTo(front, { path, headers })
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.headers['x-gw-upstream-request-id'], undefined)
      const names = Object.keys(front.upstream.asked[0]?.headers ?? {})
      assert.deepEqual(
        names.filter((name) => /client-request|^trace/.test(name)),
        [],
      )
      const line = await lineOf(String(answer.headers['x-request-id']))
      assert.deepEqual(
        Object.keys(line).filter((name) => /client_request|^trace|upstream_request/.test(name)),
        [],
      )
    }
  })
}

for (const name of [
  'x-request-id',
  'request-id',
  'x-ms-request-id',
  'apim-request-id',
  'x-amzn-requestid',
]) {
  test(`an upstream's ${name} reaches the client, also for failures and streams`, async () => {
    for (const [status, stream] of [
      [200, false],
      [200, true],
      [400, false],
      [500, true],
    ] as const) {
      front.upstream.reply = (_asked, outgoing) => {
        outgoing.writeHead(status, {
          [name]: 'req_1',
          'content-type': stream ? 'text/event-stream' : 'application/json',
        })
        if (stream) outgoing.end(EVENTS)
        else outgoing.end(status === 200 ? WHOLE : '{"error":{"message":"no"}}')
      }
      const body = stream ? CHAT_BODY.replace('{', '{"stream":true,') : CHAT_BODY
      const answer = await sendTo(front, { body })
      assert.equal(answer.headers['x-gw-upstream-request-id'], 'req_1', answer.text)
    }
  })
}

const WHOLE =
  '{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}'
const EVENTS =
  'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

test("an upstream's id that is long, odd, a key or a secret sent to it is not forwarded", async () => {
  for (const value of [
    'id-upstream-credential',
    'a b',
    'x'.repeat(129),
    '\xe9',
    'sk-abcdefghijkl',
    '',
  ]) {
    front.upstream.reply = (asked, outgoing) => {
      outgoing.setHeader('x-request-id', value)
      answerWhole(asked, outgoing)
    }
    const answer = await sendTo(front)
    assert.equal(answer.headers['x-gw-upstream-request-id'], undefined, value)
  }
})

test('ids of a request that is refused are logged', async () => {
  const headers = { authorization: 'Bearer x', 'x-request-id': 'mine', traceparent: TRACEPARENT }
  const answer = await sendTo(front, { headers })
  assert.equal(answer.status, 401)
  assert.partialDeepStrictEqual(await lineOf(String(answer.headers['x-request-id'])), {
    client_request_id: 'mine',
    trace_id: TRACE_ID,
  })
})

test("an id that appears twice is ignored, on a connection that began with the gateway's own reader", async () => {
  const socket = open(front, chatBytes())
  assert.ok(await socket.until(() => socket.answers.length === 1))
  front.upstream.asked.length = 0
  const more = ['X-Request-Id: a', 'X-Request-Id: b', 'Connection: close']
  socket.send(withKey(front, chatBytes({ more })))
  assert.ok(await socket.closes())
  assert.equal(front.upstream.asked.length, 1, socket.heard)
  assert.equal(front.upstream.asked[0]?.headers['x-client-request-id'], undefined)
})

async function lineOf(id: string): Promise<Readonly<Record<string, unknown>>> {
  const find = () =>
    front.gateway
      .output()
      .split('\n')
      .find((line) => line.includes(`"request_id":"${id}"`))
  await until('it is logged', async () => find() !== undefined)
  return JSON.parse(find() ?? '')
}

async function traceOf(id: string): Promise<object> {
  const { adminUrl, adminHeaders: headers } = front.gateway
  return (await (await fetch(`${adminUrl}/traces/${id}`, { headers })).json()) as object
}

test("an upstream's rate limits appear in log and trace, and not in answers to clients", async () => {
  const limits = { 'x-ratelimit-remaining-requests': '41', 'x-ratelimit-reset-tokens': '6m0s' }
  const key = 'sk-0123456789abcdefghij'
  const hostile = { 'x-ratelimit-note': key, 'x-ratelimit-long': 'x'.repeat(65) }
  for (const status of [200, 429]) {
    const given = status === 200 ? limits : { ...limits, 'retry-after': '7' }
    front.upstream.reply = (_asked, outgoing) => {
      const headers = { 'content-type': 'application/json', ...given, ...hostile }
      outgoing.writeHead(status, headers)
      outgoing.end(status === 200 ? WHOLE : '{"error":{"message":"no"}}')
    }
    const answer = await sendTo(front, {})
    assert.equal(answer.status, status)
    assert.doesNotMatch(JSON.stringify(answer.headers), /6m0s|"41"/)
    const id = String(answer.headers['x-request-id'])
    assert.deepEqual(Object(await lineOf(id)).upstream_limits, given)
    assert.partialDeepStrictEqual(await traceOf(id), { attempts: [{ upstream_limits: given }] })
  }
})
