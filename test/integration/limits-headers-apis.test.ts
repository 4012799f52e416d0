/**
 * Every answer of every API, even a refusal, has the limits and budgets of its tenant, with both
 * readers.
 */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, test } from 'node:test'
import { APIS } from '../../dataplane/apis/index.ts'
import { failing, startUpstream, streaming } from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { keysOf, PRICES, startLimited } from './limits/limited-gateway.ts'

const BODY_MAX = 2000
const FIVE = [
  'x-gw-budget-spend-remaining-usd',
  'x-gw-budget-tokens-remaining',
  'x-gw-ratelimit-limit',
  'x-gw-ratelimit-remaining',
  'x-gw-ratelimit-reset',
]
const upstream = await startUpstream()
upstream.vendor = { takesAll: 'One body has the members of all APIs.' }
const keys = keysOf(['acme', 'narrow', 'full', 'spent'], { narrow: ['other'] })
const plain = { name: 'up', endpoint: upstream.url }
const gateway = await startLimited(
  {
    gateway: { max_request_bytes: BODY_MAX },
    upstreams: [
      plain,
      { name: 'dead', endpoint: `http://127.0.0.1:${await freePort()}` },
      { name: 'out', endpoint: upstream.url, circuit_breaker: { failure_threshold: 1 } },
    ],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'up' },
      { name: 'other', strategy: 'single', primary: 'up' },
      { name: 'dead', strategy: 'single', primary: 'dead' },
      { name: 'out', strategy: 'single', primary: 'out' },
    ],
    rate_limits: {
      default: { requests_per_minute: 100_000, burst: 10_000, concurrent_requests: 100 },
      tenants: [{ tenant: 'full', requests_per_minute: 1, burst: 1, concurrent_requests: 1 }],
    },
    budgets: ['acme', 'narrow', 'full', 'spent'].map((tenant) => ({
      tenant,
      tokens_per_day: tenant === 'spent' ? 1 : 1_000_000,
      spend_per_month_usd: 100,
    })),
    pricing: PRICES,
  },
  keys,
)
after(() => Promise.all([gateway.stop(), upstream.close()]))

/** Enough for any JSON API to accept, or to refuse for another reason. */
const BODY = {
  ...{ model: 'chat', messages: [{ role: 'user', content: 'hi' }], max_tokens: 5 },
  ...{ input: 'hi', prompt: 'hi', query: 'q', documents: ['a'] },
}

interface Sent {
  readonly tenant?: string
  readonly body?: string
  readonly type?: string
}

interface Seen {
  readonly status: number
  readonly found: readonly string[]
}

/** Node reads requests with a header that is not ASCII. */
const READERS = {
  'our reader': {},
  "Node's reader": { 'x-note': Buffer.from('é').toString('latin1') },
}

function ask(method: string, path: string, sent: Sent, more: object): Promise<Seen> {
  const { tenant = 'acme', body = JSON.stringify(BODY), type = 'application/json' } = sent
  const { process, key } = gateway.as(tenant)
  const headers = { authorization: `Bearer ${key}`, 'content-type': type, ...more }
  return new Promise((resolve, reject) => {
    const asked = request(process.url + path, { method, headers, agent: false }, (answer) => {
      answer.resume()
      const found = FIVE.filter((name) => answer.headers[name] !== undefined)
      answer.on('close', () => resolve({ status: answer.statusCode ?? 0, found }))
    })
    asked.on('error', reject)
    asked.end(method === 'POST' ? body : undefined)
  })
}

const FORM = (model: string) =>
  `--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nsound\r\n--b--\r\n`

const withModel = (model: string) => JSON.stringify({ ...BODY, model })

const CASES: Readonly<Record<string, Sent>> = {
  'a good request': {},
  'broken JSON': { body: '{' },
  'a body that is too large': { body: JSON.stringify({ ...BODY, x: 'x'.repeat(BODY_MAX) }) },
  'a body of another type': { type: 'text/plain' },
  'an unknown model': { body: withModel('nowhere') },
  'a route that the key may not use': { tenant: 'narrow' },
  'a tenant without a place': { tenant: 'full' },
  'a tenant without budget': { tenant: 'spent' },
  'an upstream that is not there': { body: withModel('dead') },
  'an upstream that is out': { body: withModel('out') },
  'a form': { body: FORM('chat'), type: 'multipart/form-data; boundary=b' },
  'a form for an unknown model': { body: FORM('nowhere'), type: 'multipart/form-data; boundary=b' },
}

const asked = APIS.filter(({ quiet }) => quiet !== true)
for (const [reader, more] of Object.entries(READERS)) {
  for (const { method, path } of asked) {
    test(`all five headers are on every answer to ${method} ${path}, by ${reader}`, async () => {
      for (const [what, sent] of Object.entries(CASES)) {
        const { status, found } = await ask(method, path.replace('*', 'chat'), sent, more)
        assert.deepEqual(found, FIVE, `${status} for ${what}`)
      }
    })
  }
}

test('these answers include success, refusals and temporary errors', async () => {
  upstream.script.push(failing(503))
  const seen = new Set<number>()
  await ask('POST', '/v1/chat/completions', { body: withModel('out') }, {})
  for (const sent of Object.values(CASES)) {
    for (let time = 0; time < 2; time++)
      seen.add((await ask('POST', '/v1/chat/completions', sent, {})).status)
  }
  for (const status of [200, 400, 402, 403, 404, 413, 415, 429, 503])
    assert.ok(seen.has(status), `${status} is not among ${[...seen]}`)
})

test('all five headers are on streams, wrong methods and unknown paths', async () => {
  for (const more of Object.values(READERS)) {
    upstream.script.push(streaming())
    const stream = { body: JSON.stringify({ ...BODY, stream: true }) }
    for (const [method, path, sent] of [
      ['POST', '/v1/chat/completions', stream],
      ['GET', '/v1/chat/completions', {}],
      ['HEAD', '/v1/models', {}],
      ['GET', '/v1/nothing', {}],
      ['POST', '/', {}],
    ] as const) {
      const { status, found } = await ask(method, path, sent, more)
      assert.deepEqual(found, FIVE, `${status} for ${method} ${path}`)
    }
  }
})
