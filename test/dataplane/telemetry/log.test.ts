/** Lines of the log: for programs, and for people at a terminal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logFormatFault, logFormatOf } from '../../../dataplane/telemetry/lines/log-format.ts'
import { createLog } from '../../../dataplane/telemetry/log.ts'
import { newTrace } from '../../../dataplane/telemetry/trace/code.ts'
import type { Trace } from '../../../dataplane/telemetry/trace/fields.ts'

const TIME = '2026-06-01T12:34:56.789Z'

function aLog(format: 'text' | 'json') {
  const lines: string[] = []
  const write = (line: string) => void lines.push(line)
  const log = createLog({ write, flush() {}, wallClock: () => Date.parse(TIME), format })
  return { log, lines }
}

function aTrace(fields: Partial<Trace> = {}): Trace {
  const trace = newTrace('r-1', TIME, 'POST', '/v1/chat/completions')
  return Object.assign(trace, { status: 200, route: 'chat', upstream: 'local', ...fields })
}

test('an event at a terminal is a sentence followed by its facts', () => {
  const { log, lines } = aLog('text')
  log.event('warn', 'breaker', 'The breaker opens.', {
    upstream: 'a',
    from: 'closed',
    n: 2,
    x: undefined,
  })
  log.event('info', 'drain', 'Draining.', { why: 'two words' })
  assert.deepEqual(lines, [
    '12:34:56 warn  The breaker opens. upstream=a from=closed n=2\n',
    '12:34:56 info  Draining. why="two words"\n',
  ])
})

test('the start at a terminal prints the addresses, once', () => {
  const { log, lines } = aLog('text')
  log.event('info', 'start', 'gw serves. Clients: http://127.0.0.1:8080/v1', { listen_port: 8080 })
  assert.deepEqual(lines, ['12:34:56 info  gw serves. Clients: http://127.0.0.1:8080/v1\n'])
})

test('a request at a terminal is one line', () => {
  const { log, lines } = aLog('text')
  log.request(aTrace({ tenant: 'acme', prompt_tokens: 3, completion_tokens: 4, duration_ms: 12.3 }))
  log.request(
    aTrace({ status: 404, route: 'none', upstream: 'none', code: 'ERR_GW_ROUTE_NOT_FOUND' }),
  )
  assert.deepEqual(lines, [
    '12:34:56 info  POST /v1/chat/completions 200 chat at local, acme, 3+4 tokens, 12 ms, r-1\n',
    '12:34:56 info  POST /v1/chat/completions 404 none, ERR_GW_ROUTE_NOT_FOUND, 0 ms, r-1\n',
  ])
})

test("a client's text cannot control the terminal", () => {
  const { log, lines } = aLog('text')
  log.request(aTrace({ path: '/v1/\u001b[2J\u009b\u202e\n' }))
  log.event('info', 'x', 'a\u001b]0;b\u0007', { model: '\u001b[31m' })
  assert.match(lines[0] ?? '', /^[ -~]+\n$/)
  assert.match(lines[1] ?? '', /^[ -~]+\n$/)
})

test('elsewhere both are objects of JSON', () => {
  const { log, lines } = aLog('json')
  log.event('info', 'x', 'A message.', { a: 1 })
  log.request(aTrace())
  assert.deepEqual(JSON.parse(lines[0] ?? ''), {
    time: TIME,
    level: 'info',
    event: 'x',
    message: 'A message.',
    a: 1,
  })
  assert.partialDeepStrictEqual(JSON.parse(lines[1] ?? ''), { event: 'request', status: 200 })
})

test('the line of a request is JSON with any text and number', () => {
  const { log, lines } = aLog('json')
  const odd = 'a"\\\n\u0000\u2028\u00e9\ud800-\u007f'
  const fields = { path: odd, tenant: odd, model: odd, stream: false, duration_ms: 12.34 }
  log.request(aTrace({ ...fields, prompt_tokens: 3, cache_saved_nano_usd: -1.5e-9 }))
  assert.deepEqual(JSON.parse(lines[0] ?? ''), {
    ...{ time: TIME, level: 'info', event: 'request', request_id: 'r-1', method: 'POST' },
    ...{ path: odd, tenant: odd, model: odd, route: 'chat', upstream: 'local', status: 200 },
    ...{ stream: false, attempts: 0, duration_ms: 12.3, prompt_tokens: 3, completion_tokens: 0 },
    cache_saved_nano_usd: -1.5e-9,
  })
})

test('a terminal gets text and a pipe gets JSON, unless an option says otherwise', () => {
  for (const said of [undefined, '', 'auto']) {
    assert.deepEqual([logFormatOf(said, true), logFormatOf(said, false)], ['text', 'json'])
  }
  assert.equal(logFormatOf('json', true), 'json')
  assert.equal(logFormatOf('text', false), 'text')
  assert.equal(logFormatFault('auto'), undefined)
  assert.match(logFormatFault('pretty') ?? '', /GW_LOG_FORMAT is "pretty"; it must be text, json/)
})
