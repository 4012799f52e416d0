/** `gw limits show` and `gw explain` for a running gateway. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parse } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { refusingUrl, startUpstream } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { beginClearOf } from '../helpers/wall-clock.ts'
import { keysOf, PRICES, standing, startLimited } from './limits/limited-gateway.ts'

// The cost of the machines is that of the current hour.
beginClearOf(3_600_000)

const upstream = await startUpstream()
const keys = keysOf(['acme', 'plain'], { plain: ['other'] })
const revoked = aKey({ id: 'old', tenant: 'acme', revoked_at: '2026-01-01T00:00:00Z' })
const gateway = await startLimited(
  {
    api_keys: [...keys.records, revoked.record],
    upstreams: [{ name: 'up', endpoint: upstream.url }],
    routes: [
      { name: 'chat', strategy: 'single', primary: 'up' },
      { name: 'other', strategy: 'single', primary: 'up' },
    ],
    aliases: { 'gpt-4o': 'chat' },
    rate_limits: {
      default: { requests_per_minute: 1, burst: 9, concurrent_requests: 4 },
      tenants: [{ tenant: 'acme', tokens_per_minute: 1 }],
    },
    budgets: [{ tenant: 'acme', tokens_per_day: 5000, spend_per_month_usd: 12.5 }],
    pricing: { models: PRICES, infra_cost_per_hour_usd: 36_000 },
  },
  keys,
)
after(() => Promise.all([gateway.stop(), upstream.close()]))
const front = gateway.as('acme')
const { adminUrl } = front.process
const key = keys.byTenant.get('acme') ?? ''
assert.equal((await front.chat()).status, 200)

const limits = (...args: readonly string[]) => gw('limits', 'show', '--admin', adminUrl, ...args)
const explain = (...args: readonly string[]) => gw('explain', '--admin', adminUrl, ...args)

/** JSON output contains the time. */
const FROM_NOW = /^(?:in \d+ (?:s|min|h|d)|now|0 s ago)/

/** Rows of the table by their first cell. */
function rowsOf(text: string): Map<string, string[]> {
  const rows = text.split('\n').map((line) => line.split(/ {2,}/))
  return new Map(rows.map(([name = '', ...cells]) => [name, cells]))
}

test('gw limits show prints every figure with its window and its reset', async () => {
  const { code, stdout, stderr } = await limits('--tenant', 'acme')
  assert.deepEqual([code, stderr], [0, ''])
  const rows = rowsOf(stdout)
  const heads = ['WINDOW', 'MAX', 'USED', 'RESERVED', 'REMAINING', 'RESETS']
  assert.deepEqual(rows.get('LIMIT'), heads)
  const { tokens_per_minute } = await standing(front, 'acme')
  const [window, most, used, reserved, remaining, reset] = rows.get('requests_per_minute') ?? []
  assert.deepEqual(
    [window, most, used, reserved, remaining],
    ['minute', '1, 9 at once', '1', '-', '8'],
  )
  assert.match(reset ?? '', FROM_NOW)
  assert.equal(rows.get('tokens_per_minute')?.[1], '1')
  assert.ok(tokens_per_minute.used >= 0)
  assert.deepEqual(rows.get('concurrent_requests'), ['running', '4', '0', '-', '4', '-'])
  const day = rows.get('tokens_per_day') ?? []
  assert.deepEqual(day.slice(0, -1), ['day', '5,000', '10', '0', '4,990'])
  assert.match(day.at(-1) ?? '', FROM_NOW)
  const month = rows.get('spend_per_month_usd') ?? []
  assert.deepEqual(month.slice(0, -1), ['month', '12.50', '0.00013', '0.00', '12.4999'])
  assert.match(month.at(-1) ?? '', FROM_NOW)
  const [hour, , cost] = rows.get('infra_cost_usd') ?? []
  assert.equal(hour, 'hour')
  assert.ok(Number(cost) > 0, 'ten dollars a second, all used by this tenant')
})

test('gw limits show of an unknown tenant returns 1 and shows no limits', async () => {
  for (const output of ['table', 'json']) {
    const { code, stdout, stderr } = await limits('--tenant', 'typo', '-o', output)
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(stderr, 'error: no such tenant "typo": no key, rule or budget names it\n')
  }
})

test('gw limits show returns the same as JSON', async () => {
  const { code, stdout, stderr } = await limits('--tenant', 'plain', '-o', 'json')
  assert.equal(code, 0, stderr)
  const { requests_per_minute, ...others } = await standing(front, 'plain')
  const { resets_at, ...bucket } = JSON.parse(stdout).requests_per_minute
  assert.ok(Date.parse(resets_at) > 0)
  assert.deepEqual(bucket, { window: 'minute', limit: 1, burst: 9, used: 0, remaining: 9 })
  assert.equal(requests_per_minute.limit, 1)
  const {
    infra_cost_usd: _,
    requests_per_minute: __,
    ...rest
  } = parse((await limits('--tenant', 'plain', '-o', 'yaml')).stdout)
  const { infra_cost_usd: ___, ...expected } = others
  assert.deepEqual(rest, expected)
})

test('gw explain shows what a key may do, the limits of its tenant, and the state of the upstreams', async () => {
  const { code, stdout, stderr } = await explain('--route', 'gpt-4o', '--key', key)
  assert.deepEqual([code, stderr], [1, ''])
  assert.match(stdout, /\nnow: 429, ERR_GW_RATE_LIMIT_LOCAL: The limit of 1 tokens a minute/)
  assert.match(stdout, /^route chat\n {2}reached by model: chat, or by alias gpt-4o/)
  assert.match(stdout, /\nkey acme of tenant acme: 200, it may call\n/)
  const rows = rowsOf(stdout)
  assert.deepEqual(rows.get('up')?.slice(0, 4), ['yes', 'not probed', 'closed', '0'])
  assert.equal(rows.get('tokens_per_day')?.[2], '10')
  assert.ok(!stdout.includes(key))
})

const refused: Readonly<Record<string, readonly [given: string, said: RegExp]>> = {
  'a key on a route it may not use': [
    keys.byTenant.get('plain') ?? '',
    /key plain of tenant plain: 403, it may not use route "chat"/,
  ],
  'a revoked key': [revoked.key, /key old of tenant acme: 401, key old is revoked/],
  'an unknown key': ['gw_test_nobody_x', /key: 401, unknown key/],
}

for (const [what, [given, said]] of Object.entries(refused)) {
  test(`gw explain ends with 1 for ${what}`, async () => {
    const { code, stdout } = await explain('--route', 'chat', '--key', given)
    assert.equal(code, 1)
    assert.match(stdout, said)
  })
}

test("gw explain shows a tenant's limits, and reports an unknown route", async () => {
  const { stdout } = await explain('--route', 'chat', '--tenant', 'acme', '-o', 'json')
  const explanation = JSON.parse(stdout)
  assert.equal(explanation.limits.tokens_per_day.used, 10)
  assert.equal(explanation.key, undefined)
  const unknown = await explain('--route', 'nothing')
  assert.equal(unknown.code, 1)
  assert.equal(unknown.stderr, 'error: There is no route or alias "nothing".\n')
})

test('an unreachable gateway returns 2, an invalid URL 64', async () => {
  const unanswered = await gw('limits', 'show', '--tenant', 'a', '--admin', await refusingUrl())
  assert.equal(unanswered.code, 2)
  assert.match(unanswered.stderr, /^error: No gateway answers at .*ECONNREFUSED.*--admin URL/)
  const other = await gw('limits', 'show', '--tenant', 'a', '--admin', upstream.url)
  assert.equal(other.code, 2)
  assert.match(other.stderr, /is not a gateway/)
  const clients = await gw('limits', 'show', '--tenant', 'a', '--admin', front.process.url)
  assert.equal(clients.code, 2)
  assert.match(clients.stderr, /is the address for clients; the admin API has another address/)
  const wrong = await gw('limits', 'show', '--tenant', 'a', '--admin', 'localhost')
  assert.equal(wrong.code, 64)
  assert.match(wrong.stderr, /Give a URL such as http:\/\/127\.0\.0\.1:9091/)
})
