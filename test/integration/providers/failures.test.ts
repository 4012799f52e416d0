/** How every provider's failures reach clients: in one form, with the upstream's own id, and without the credential. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Json } from '../../../dataplane/json/values.ts'
import { PROVIDER_FACTS } from '../../../dataplane/providers/index.ts'
import { errorOf, type Heard, startFront, startUpstream } from '../../helpers/fake-upstream.ts'
import { type ErrorCase, readCases } from '../../helpers/providers/provider-fixtures.ts'
import { until } from '../../helpers/until.ts'

const SECRET = 'upstream-credential'
const NAMES = Object.keys(PROVIDER_FACTS)
/** The headers in which each API sends its request id and its limits. */
const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  openai: { 'x-request-id': 'id-1', 'x-ratelimit-remaining-requests': '0' },
  azure_openai: { 'apim-request-id': 'id-1', 'x-ratelimit-remaining-tokens': '-1' },
  anthropic: { 'request-id': 'id-1', 'anthropic-ratelimit-tokens-reset': '2026-01-02T03:04:05Z' },
  bedrock: { 'x-amzn-requestid': 'id-1' },
  mistral: { 'mistral-correlation-id': 'id-1', 'x-ratelimit-remaining-req-minute': '1' },
  cohere: { 'x-debug-trace-id': 'id-1', 'x-ratelimit-reset': '1767323045' },
}

const upstream = await startUpstream()
const front = await startFront({
  upstreams: NAMES.map((name) => ({
    name,
    provider: name,
    endpoint: upstream.url,
    health_check: { path: '/health' },
  })),
  routes: NAMES.map((name) => ({ name, strategy: 'single', primary: name })),
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

/** The same error, with the upstream's credential after each of its texts. */
function telling(body: unknown): unknown {
  if (typeof body === 'string') return body === '' ? '' : `${body} ${SECRET}`
  if (Array.isArray(body)) return body.map(telling)
  if (typeof body !== 'object' || body === null) return body
  const entries = Object.entries(body).map(([name, value]) => {
    const isText = ['message', 'Message', 'detail', 'error', 'msg'].includes(name)
    return [name, isText || typeof value === 'object' ? telling(value) : value]
  })
  return Object.fromEntries(entries)
}

async function answered(model: string, { status, headers = {}, body }: ErrorCase, more: Json = {}) {
  upstream.reply = (outgoing) => {
    const text = typeof body === 'string' ? String(telling(body)) : JSON.stringify(telling(body))
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers, ...more } as never)
    outgoing.end(text)
  }
  return await front.chat({ model })
}

function assertOneForm(heard: Heard, where: string): void {
  assert.ok(heard.status >= 400, where)
  const error = errorOf(heard)
  for (const member of ['message', 'type', 'param', 'code']) assert.ok(member in error, where)
  assert.equal(typeof error.message, 'string', where)
  for (const member of ['type', 'param', 'code'])
    assert.ok(error[member] === null || typeof error[member] === 'string', `${where}: ${member}`)
  assert.doesNotMatch(heard.text + JSON.stringify(heard.headers), new RegExp(SECRET), where)
}

for (const name of NAMES) {
  test(`${name}: every error has four members, without the credential`, async () => {
    const cases = readCases<ErrorCase[]>(name, 'errors.json').filter(({ status }) => status >= 400)
    assert.ok(cases.length > 0)
    for (const one of cases) {
      const heard = await answered(name, one)
      assertOneForm(heard, `${one.case} (${one.status}): ${heard.text}`)
    }
  })

  test(`${name}: its request id and limits are in trace and log, and the client gets the id`, async () => {
    const headers = HEADERS[name] ?? { 'x-request-id': 'id-1' }
    const failing = { case: '', status: 429, body: { message: 'slow' }, failure: {} }
    const heard = await answered(name, failing, { ...headers, 'retry-after': '3' })
    assert.equal(heard.headers['x-gw-upstream-request-id'], 'id-1')
    const limits = Object.entries(headers).filter(([header]) => header.includes('ratelimit'))
    const known = {
      upstream_request_id: 'id-1',
      upstream_limits: { ...Object.fromEntries(limits), 'retry-after': '3' },
    }
    const trace = await front.trace(heard)
    assert.partialDeepStrictEqual(trace.attempts[0], known)
    const line = () =>
      front.logged('request').find((one) => one.request_id === heard.headers['x-request-id'])
    await until('the line of the log', () => line() !== undefined)
    assert.partialDeepStrictEqual(line(), known)
  })
}

test('neither log nor traces contain the credential', async () => {
  assert.doesNotMatch(front.process.output(), new RegExp(SECRET))
  assert.doesNotMatch(JSON.stringify(await front.admin('/traces')), new RegExp(SECRET))
})
