/**
 * GET /v1/usage: the holder of a key sees the key's usage and limits, and nothing about other keys.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { startUpstream } from '../helpers/fake-upstream.ts'
import { keysOf, startLimited } from './limits/limited-gateway.ts'

const upstream = await startUpstream()
const keys = keysOf(['acme', 'globex', 'strict'])
const second = aKey({ id: 'second', tenant: 'acme', routes: ['*'] })
const revoked = aKey({
  id: 'revoked',
  tenant: 'acme',
  routes: ['*'],
  revoked_at: '2026-01-01T00:00:00Z',
})
const all = { ...keys, records: [...keys.records, second.record, revoked.record] }
const front = await startLimited(
  {
    upstreams: [{ name: 'one', endpoint: upstream.url, model: 'dear' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
    pricing: [{ model: 'dear', input: 10, output: 20 }],
    budgets: [
      { tenant: 'acme', tokens_per_day: 1000, spend_per_month_usd: 5 },
      { key: 'second', tokens_per_day: 500 },
    ],
    rate_limits: {
      default: { requests_per_minute: 100_000, burst: 1000, concurrent_requests: 100 },
      tenants: [{ tenant: 'strict', requests_per_minute: 1, burst: 2, concurrent_requests: 1 }],
    },
    usage: { tags: ['team'] },
  },
  all,
)
after(async () => {
  await front.stop()
  await upstream.close()
})

interface Body {
  readonly object: string
  readonly tenant: string
  readonly key: string
  readonly rows: readonly { readonly requests: number }[]
  readonly limits: {
    readonly requests_per_minute: { readonly remaining: number }
    readonly budgets: readonly {
      readonly of: string
      readonly tokens_per_day: { readonly used: number; readonly limit: number }
    }[]
  }
  readonly error: { readonly message: string }
}

async function usage(key: string, query = '') {
  const url = `${front.as('acme').process.url}/v1/usage${query}`
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
  // Each test states its expectation in it.
  return { status: answer.status, body: (await answer.json()) as Body }
}

const keyOf = (tenant: string) => keys.byTenant.get(tenant) ?? ''

test('a key sees its rows, limits and budgets, and nothing about another key', async () => {
  const acme = front.as('acme')
  for (let request = 0; request < 3; request++)
    await acme.ask({}, { 'x-gw-tags': 'team=blue' }).over
  await acme.ask({}, { authorization: `Bearer ${second.key}` }).over
  await front.as('globex').chat()
  const { status, body } = await usage(keyOf('acme'), '?by=model,tag:team')
  assert.equal(status, 200)
  assert.deepEqual([body.object, body.tenant, body.key], ['usage', 'acme', 'acme'])
  assert.equal(body.rows.length, 1)
  assert.partialDeepStrictEqual(body.rows[0], {
    by: { model: 'dear', 'tag:team': 'blue' },
    requests: 3,
    input_tokens: 21,
    output_tokens: 9,
  })
  // The budget is the tenant's: both of its keys have used it.
  const [budget] = body.limits.budgets
  assert.deepEqual(
    [budget?.of, budget?.tokens_per_day.used, budget?.tokens_per_day.limit],
    ['tenant', 40, 1000],
  )
  assert.ok(body.limits.requests_per_minute.remaining > 0)
  const text = JSON.stringify(body)
  for (const other of ['globex', 'second', 'strict']) assert.ok(!text.includes(other), other)
})

test("a key's budget is shown with that of its tenant", async () => {
  const { body } = await usage(second.key)
  assert.deepEqual(
    body.limits.budgets.map(({ of, tokens_per_day }) => [of, tokens_per_day.used]),
    [
      ['tenant', 40],
      ['key', 10],
    ],
  )
  assert.equal(body.rows[0]?.requests, 1)
})

test('it counts towards the rate, and towards no budget', async () => {
  const before = (await usage(keyOf('acme'))).body.limits.budgets
  assert.deepEqual((await usage(keyOf('acme'))).body.limits.budgets, before)
  const statuses = []
  for (let asked = 0; asked < 3; asked++) statuses.push((await usage(keyOf('strict'))).status)
  assert.deepEqual(statuses, [200, 200, 429])
})

test('a revoked key and a missing key get 401', async () => {
  assert.equal((await usage(revoked.key)).status, 401)
  assert.equal((await usage('gw_unknown')).status, 401)
})

test('parameters that the holder of a key may not use, and invalid ones, get 400 with the reason', async () => {
  for (const [query, says] of [
    ['?by=tenant', /Group by route, upstream, model/],
    ['?by=key', /Group by route, upstream, model/],
    ['?tenant=globex', /The query has no "tenant"/],
    ['?hours=0', /Give a number of hours/],
    ['?by=day&tz=Asia/Kolkata', /no offset of whole hours/],
    ['?by=tag:taem', /does not declare "taem"/],
  ] as const) {
    const { status, body } = await usage(keyOf('acme'), query)
    assert.equal(status, 400, query)
    assert.match(body.error.message, says)
  }
})
