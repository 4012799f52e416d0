/** A head is checked first; then the body is read within the bounds of process and tenant. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadlines } from '../../../../dataplane/base/clock.ts'
import { GatewayError } from '../../../../dataplane/base/errors.ts'
import { Bodies } from '../../../../dataplane/body/bodies.ts'
import type { BodyTaker } from '../../../../dataplane/call/call.ts'
import { judgeHead, receive } from '../../../../dataplane/request/stages/receive.ts'
import { aClock } from '../../../helpers/clock.ts'
import { type Headers, headed } from '../../headed.ts'

const JSON_HEADERS = { 'content-type': 'application/json' }
const BYTES_MAX = 1000

const REFUSED: readonly [string, Headers, string][] = [
  ['no media type', {}, 'ERR_GW_UNSUPPORTED_MEDIA_TYPE'],
  ['a form', { 'content-type': 'text/plain' }, 'ERR_GW_UNSUPPORTED_MEDIA_TYPE'],
  [
    'another encoding of characters',
    { 'content-type': 'application/json; charset=latin1' },
    'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
  ],
  [
    'a compressed body',
    { ...JSON_HEADERS, 'content-encoding': 'gzip' },
    'ERR_GW_UNSUPPORTED_MEDIA_TYPE',
  ],
  [
    'a length above the bound',
    { ...JSON_HEADERS, 'content-length': '1001' },
    'ERR_GW_REQUEST_TOO_LARGE',
  ],
]

for (const [what, headers, code] of REFUSED) {
  test(`a head with ${what} is refused before the body`, () => {
    assert.throws(() => judgeHead(headed(headers), BYTES_MAX), { code })
  })
}

test('a head with JSON in UTF-8 and a length within the bound passes', () => {
  for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;']) {
    const head = headed({ 'content-type': type, 'content-length': '1000' })
    assert.doesNotThrow(() => judgeHead(head, BYTES_MAX), type)
  }
})

/** A request whose body has come with its head, or arrives on the test's command. */
function aCall(whole?: Buffer, headers: Headers = JSON_HEADERS) {
  const asked: string[] = []
  let taker: BodyTaker | undefined
  const incoming = {
    ...headed(headers),
    takeWhole: () => whole,
    takeBody(one: BodyTaker) {
      taker = one
    },
    askForBody: () => void asked.push('continue'),
  }
  const body = () => taker ?? assert.fail('The body is not read.')
  return { call: { incoming, receivedAt: 1_000 }, asked, body }
}

/** Bounds with little room, and a tenant with other requests. */
function aRoom({ others = 0, concurrentRequests = 2, memory = 1_073_741_824 } = {}) {
  const bodies = new Bodies(memory)
  for (let other = 0; other < others; other++) bodies.enter('acme')
  const clock = aClock()
  const deadlines = new Deadlines(clock)
  const settings = { max_request_bytes: BYTES_MAX, request_timeout_seconds: 20 }
  const bounds = { settings, rules: { concurrentRequests } }
  return { bodies, clock, deadlines, bounds, held: bodies.enter('acme') }
}

async function refusalOf(received: Buffer | Promise<Buffer>): Promise<GatewayError> {
  const error = await Promise.resolve(received).then(() => assert.fail('It was received.'), same)
  assert.ok(error instanceof GatewayError)
  return error
}

const same = (error: unknown) => error

test('a body that came with its head is there at once, even while the tenant sends others', () => {
  const { held, bounds, deadlines } = aRoom({ others: 5 })
  const whole = Buffer.from('{}')
  assert.equal(receive(aCall(whole).call, held, bounds, { deadlines }), whole)
  assert.equal(deadlines.size, 0)
})

test('a body in chunks that came with its head has the same bound, because its head has no length', () => {
  const { held, bounds, deadlines } = aRoom()
  const received = (bytes: number) =>
    receive(aCall(Buffer.alloc(bytes)).call, held, bounds, { deadlines })
  assert.doesNotThrow(() => received(BYTES_MAX))
  assert.throws(() => received(BYTES_MAX + 1), { code: 'ERR_GW_REQUEST_TOO_LARGE' })
})

test('a body in pieces is gathered, and a waiting client is asked for it', async () => {
  const { held, bounds, deadlines } = aRoom()
  const { call, asked, body } = aCall(undefined, { ...JSON_HEADERS, expect: '100-continue' })
  const received = receive(call, held, bounds, { deadlines })
  assert.deepEqual(asked, ['continue'])
  for (const piece of ['{"a"', ':1}']) body().data(Buffer.from(piece))
  body().ended()
  assert.equal(String(await received), '{"a":1}')
  assert.equal(deadlines.size, 0)
})

test('a tenant with all its slots taken is refused before the body is read, and the refusal names the limit', () => {
  const { held, bounds, deadlines } = aRoom({ others: 2 })
  const { call, body } = aCall()
  try {
    receive(call, held, bounds, { deadlines })
    assert.fail('It was received.')
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    assert.equal(error.code, 'ERR_GW_RATE_LIMIT_LOCAL')
    assert.deepEqual(error.details.learnt, { limit: 'concurrency' })
    assert.deepEqual(error.details.facts, {
      reason: 'concurrency',
      limited_by: 'concurrent_requests',
      limit: 2,
      used: 2,
    })
    assert.equal(error.details.retryAfterSeconds, 1)
  }
  assert.throws(body, /not read/)
})

test('a body without room is refused: by the tenant if it holds half, else by the process', async () => {
  // The least room is that of four of the largest bodies.
  const { bodies, held, bounds, deadlines } = aRoom({ memory: 0, concurrentRequests: 9 })
  held.grow(2 * BYTES_MAX, BYTES_MAX)
  const { call } = aCall()
  assert.throws(() => receive(call, bodies.enter('acme'), bounds, { deadlines }), {
    code: 'ERR_GW_RATE_LIMIT_LOCAL',
  })
  bodies.enter('other').grow(2 * BYTES_MAX, BYTES_MAX)
  const third = bodies.enter('third')
  assert.throws(() => receive(call, third, bounds, { deadlines }), { code: 'ERR_GW_OVERLOADED' })
})

test('a body is refused while it arrives: too large, too late, or without room', async () => {
  const large = aRoom()
  const first = aCall()
  const tooLarge = receive(first.call, large.held, large.bounds, large)
  first.body().data(Buffer.alloc(1001))
  assert.equal((await refusalOf(tooLarge)).code, 'ERR_GW_REQUEST_TOO_LARGE')

  const late = aRoom()
  const tooLate = receive(aCall().call, late.held, late.bounds, late)
  late.clock.pass(20_000)
  late.deadlines.sweep()
  assert.equal((await refusalOf(tooLate)).code, 'ERR_GW_REQUEST_TIMEOUT')

  const full = aRoom({ memory: 0 })
  const third = aCall()
  const crowded = receive(third.call, full.held, full.bounds, full)
  full.bodies.enter('acme').grow(2 * BYTES_MAX, BYTES_MAX)
  third.body().data(Buffer.alloc(10))
  const refusal = await refusalOf(crowded)
  assert.equal(refusal.code, 'ERR_GW_RATE_LIMIT_LOCAL')
  assert.deepEqual(refusal.details.learnt, { limit: 'concurrency' })
})
