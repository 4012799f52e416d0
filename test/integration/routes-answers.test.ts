/** Refusals of an upstream: which move to the fallback, and what the client finally gets. */
import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import {
  errorOf,
  failing,
  type Reply,
  silent,
  startFront,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'

const [first, second] = await Promise.all([startUpstream(), startUpstream(whole('second'))])
const retries = [1, 2, 3].flatMap((max_attempts) => [
  {
    name: `alone-${max_attempts}`,
    strategy: 'single',
    primary: 'first',
    retry: { max_attempts, initial_delay_ms: 1 },
  },
  {
    name: `pair-${max_attempts}`,
    strategy: 'primary_with_fallback',
    primary: 'first',
    fallback: ['second'],
    retry: { max_attempts, initial_delay_ms: 1 },
  },
])
const front = await startFront({
  upstreams: [
    { name: 'first', endpoint: first.url, context_window: 1000 },
    { name: 'hasty', endpoint: first.url, context_window: 1000, timeout_seconds: 1 },
    { name: 'second', endpoint: second.url, context_window: 4000 },
  ],
  routes: [
    { name: 'chat', strategy: 'single', primary: 'first' },
    { name: 'pair', strategy: 'primary_with_fallback', primary: 'first', fallback: ['second'] },
    { name: 'hasty', strategy: 'single', primary: 'hasty' },
    {
      name: 'hasty-pair',
      strategy: 'primary_with_fallback',
      primary: 'hasty',
      fallback: ['second'],
    },
    ...retries,
  ],
})
after(() => Promise.all([front.process.stop(), first.close(), second.close()]))

beforeEach(() => {
  first.asked.length = 0
  second.asked.length = 0
  first.script.length = 0
  second.reply = whole('second')
})

interface Row {
  readonly says: Reply
  /** Sent by an upstream with a short timeout. */
  readonly hasty?: true
  /** Whether the fallback is tried. */
  readonly spills: boolean
  /** The client's answer without a fallback. */
  readonly status: number
  readonly error: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string | undefined>>
}

const own = { type: 'invalid_request_error', param: 'top_p', code: 'own_code' }
const table = (status: number, code: string) => ({
  code,
  type: status === 429 ? 'rate_limit_error' : 'api_error',
  param: null,
})

const REFUSALS: Readonly<Record<string, Row>> = {
  'a bad request': {
    says: failing(400, own),
    spills: false,
    status: 400,
    error: { message: 'Said 400.', ...own },
  },
  "a request that cannot be processed, in FastAPI's words": {
    says: (outgoing) => {
      const body = { detail: [{ loc: ['body', 'messages', 0], msg: 'is odd' }] }
      outgoing.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    },
    spills: false,
    status: 422,
    error: {
      message: 'messages.0: is odd',
      type: 'invalid_request_error',
      param: 'messages.0',
      code: null,
    },
  },
  'a body that is too large': {
    says: failing(413),
    spills: false,
    status: 413,
    error: { message: 'Said 413.', type: 'invalid_request_error', param: null, code: null },
  },
  'a missing model': {
    says: failing(404, { code: 'model_not_found' }),
    spills: true,
    status: 404,
    error: {
      message: 'Said 404.',
      type: 'invalid_request_error',
      param: null,
      code: 'model_not_found',
    },
  },
  'a timeout at the upstream': {
    says: failing(408),
    spills: true,
    status: 408,
    error: { message: 'Said 408.', type: 'invalid_request_error', param: null, code: null },
  },
  'our credential refused': {
    says: failing(401, { message: 'Incorrect API key: upstream-credential' }),
    spills: true,
    status: 502,
    error: { ...table(502, 'ERR_GW_UPSTREAM_ERROR'), upstream_status: 401 },
  },
  'our credential forbidden': {
    says: failing(403),
    spills: true,
    status: 502,
    error: { ...table(502, 'ERR_GW_UPSTREAM_ERROR'), upstream_status: 403 },
  },
  'a rate limit': {
    says: failing(429, {}, { 'retry-after': '2' }),
    spills: true,
    status: 429,
    error: { ...table(429, 'ERR_GW_UPSTREAM_RATE_LIMIT'), upstream_status: 429 },
    headers: { 'retry-after': '2', 'x-should-retry': undefined },
  },
  'a rate limit without a time': {
    says: failing(429),
    spills: true,
    status: 429,
    error: { ...table(429, 'ERR_GW_UPSTREAM_RATE_LIMIT'), upstream_status: 429 },
    headers: { 'retry-after': '1', 'x-should-retry': undefined },
  },
  'a spent quota': {
    says: failing(429, { code: 'insufficient_quota' }),
    spills: true,
    status: 429,
    error: { ...table(429, 'ERR_GW_UPSTREAM_RATE_LIMIT'), upstream_status: 429 },
    headers: { 'retry-after': undefined, 'x-should-retry': 'false' },
  },
  'a prompt that is too long': {
    says: failing(400, { code: 'context_length_exceeded', message: 'Too long by 3.' }),
    spills: true,
    status: 400,
    error: {
      message:
        "Too long by 3. The prompt is too long: this model's maximum context length is 1000 tokens. " +
        'Please reduce the length of the messages.',
      code: 'ERR_GW_CONTEXT_OVERFLOW',
      type: 'invalid_request_error',
      param: 'messages',
    },
  },
  'a failure': {
    says: failing(500),
    spills: true,
    status: 502,
    error: { ...table(502, 'ERR_GW_UPSTREAM_ERROR'), upstream_status: 500 },
  },
  'an overload with an HTML page': {
    says: (outgoing) => void outgoing.writeHead(503).end('<html><title>Sorry</title></html>'),
    spills: true,
    status: 502,
    error: { ...table(502, 'ERR_GW_UPSTREAM_ERROR'), upstream_status: 503 },
  },
  'an overload with the time that it lasts': {
    says: failing(529, {}, { 'retry-after': '2' }),
    spills: true,
    status: 502,
    error: { ...table(502, 'ERR_GW_UPSTREAM_ERROR'), upstream_status: 529 },
    headers: { 'retry-after': '2' },
  },
  'a gateway timeout at the upstream': {
    says: failing(504),
    spills: true,
    status: 502,
    error: { ...table(502, 'ERR_GW_UPSTREAM_ERROR'), upstream_status: 504 },
  },
  'an error under 200': {
    says: failing(200, { code: 500 }),
    spills: true,
    status: 502,
    error: table(502, 'ERR_GW_UPSTREAM_ERROR'),
  },
  'an answer that is not JSON': {
    says: (outgoing) =>
      void outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{"choi'),
    spills: true,
    status: 502,
    error: table(502, 'ERR_GW_UPSTREAM_ERROR'),
  },
  'a redirect': {
    says: (outgoing) => void outgoing.writeHead(307, { location: second.url }).end(),
    spills: true,
    status: 502,
    error: { ...table(502, 'ERR_GW_UPSTREAM_ERROR'), upstream_status: 307 },
  },
  'a reset in the middle': {
    says: (outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': '999' })
      outgoing.write('{"choices":', () => outgoing.destroy())
    },
    spills: true,
    status: 502,
    error: table(502, 'ERR_GW_UPSTREAM_ERROR'),
  },
  silence: {
    says: silent,
    hasty: true,
    spills: true,
    status: 504,
    error: table(504, 'ERR_GW_PROXY_TIMEOUT'),
  },
}

for (const [what, { says, hasty, spills, status, error, headers = {} }] of Object.entries(
  REFUSALS,
)) {
  test(`${what} without a fallback returns ${status}`, async () => {
    first.script.push(says)
    const heard = await front.chat({ model: hasty ? 'hasty' : 'chat' })
    assert.equal(heard.status, status, heard.text)
    const answered = errorOf(heard)
    assert.partialDeepStrictEqual(answered, error)
    for (const [name, value] of Object.entries(headers)) assert.equal(heard.headers[name], value)
    assert.doesNotMatch(heard.text, /upstream-credential/)
    assert.equal(heard.headers['x-gw-upstream'], hasty ? 'hasty' : 'first')
    // An upstream's error about a client's mistake has OpenAI's members; ours also has the
    // request's id.
    const members = ['code', 'message', 'param', 'type']
    const isOurs = String(answered.code).startsWith('ERR_GW_')
    if (isOurs) assert.equal(answered.request_id, heard.headers['x-request-id'])
    else assert.deepEqual(Object.keys(answered).toSorted(), members)
  })

  test(`${what} ${spills ? 'moves to' : 'does not reach'} the fallback`, async () => {
    first.script.push(says)
    const heard = await front.chat({ model: hasty ? 'hasty-pair' : 'pair' })
    assert.equal(heard.status, spills ? 200 : status)
    assert.equal(second.asked.length, spills ? 1 : 0)
  })
}

for (const [model, inPlace, elsewhere] of [
  ['alone-1', 1, 0],
  ['alone-2', 2, 0],
  ['alone-3', 3, 0],
  ['pair-1', 1, 0],
  ['pair-2', 1, 1],
  ['pair-3', 2, 1],
] as const) {
  test(`${model} sends ${inPlace} attempts to the same upstream and ${elsewhere} to others`, async () => {
    first.script.push(failing(500), failing(500), failing(500))
    second.reply = failing(500)
    const heard = await front.chat({ model })
    assert.equal(errorOf(heard).code, 'ERR_GW_UPSTREAM_ERROR')
    assert.deepEqual([first.asked.length, second.asked.length], [inPlace, elsewhere])
    assert.equal((await front.trace(heard)).attempts.length, inPlace + elsewhere)
  })
}
