/** Operators see limits and budgets: GET /limits/{tenant}, gauges, and the explanation of a file. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { after as afterwards, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'
import {
  keysOf,
  limitedDocument,
  PRICES,
  standing,
  startLimited,
  windowEnds,
} from './limits/limited-gateway.ts'

const upstream = await startUpstream()
const keys = keysOf(['acme', 'rated', 'own'])
const routes = [
  { name: 'chat', strategy: 'single', primary: 'up', max_tokens_default: 100 },
  { name: 'cheap', strategy: 'single', primary: 'up', max_tokens_default: 100 },
]
const upstreams = [{ name: 'up', endpoint: upstream.url, context_window: 8192 }]
const budgets = [
  {
    tenant: 'acme',
    tokens_per_day: 5000,
    spend_per_month_usd: 12.5,
    on_exceeded: 'downgrade',
    downgrade_route: 'cheap',
    alert_thresholds: [0.5, 0.8],
  },
]
const section = {
  upstreams,
  routes,
  rate_limits: {
    default: { requests_per_minute: 1, burst: 9, concurrent_requests: 4 },
    tenants: [{ tenant: 'own', requests_per_minute: 600, tokens_per_minute: 7000 }],
  },
  budgets,
  pricing: PRICES,
}
const gateway = await startLimited(section, keys)
after(() => Promise.all([gateway.stop(), upstream.close()]))

test('GET /limits/{tenant} shows each limit with its used, held and remaining amount, and its reset', async () => {
  const front = gateway.as('acme')
  assert.equal((await front.chat()).status, 200)
  const { promise: release, resolve } = Promise.withResolvers<void>()
  upstream.script.push(afterwards(release, whole()))
  const running = front.chat({ max_tokens: 100 })
  await until('it runs', async () => {
    return (await standing(front, 'acme')).concurrent_requests.used === 1
  })
  const { requests_per_minute: rate, ...others } = await standing(front, 'acme')
  const { resets_at, ...bucket } = rate
  assert.deepEqual(bucket, { window: 'minute', limit: 1, burst: 9, used: 2, remaining: 7 })
  const seconds = (Date.parse(resets_at) - Date.now()) / 1000
  assert.ok(seconds > 100 && seconds <= 120, `${seconds} s until the bucket is full`)
  const bytes = JSON.stringify({
    model: 'chat',
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 100,
  }).length
  const prompt = Math.ceil(bytes / 3)
  const ends = windowEnds()
  assert.deepEqual(others, {
    tenant: 'acme',
    concurrent_requests: { window: 'running', limit: 4, used: 1, remaining: 3, resets_at: null },
    tokens_per_day: {
      window: 'day',
      limit: 5000,
      used: 10,
      reserved: prompt + 100,
      remaining: 4990,
      resets_at: ends.day,
    },
    spend_per_month_usd: {
      window: 'month',
      limit: '12.5',
      used: '0.00013',
      reserved: String((prompt * 10 + 100 * 20) / 1e6),
      remaining: '12.49987',
      resets_at: ends.month,
    },
  })
  resolve()
  await running
  const series = await front.series()
  assert.equal(series.get('gw_budget_tokens_used{tenant="acme",window="day"}'), 20)
  assert.equal(series.get('gw_budget_spend_usd{tenant="acme",window="month"}'), 0.000_26)
  assert.equal(series.get('gw_budget_limit_tokens{tenant="acme",window="day"}'), 5000)
  assert.equal(series.get('gw_budget_limit_usd{tenant="acme",window="month"}'), 12.5)
  const [day, month] = [new Date(ends.day), new Date(ends.month)]
  const starts = {
    day: day.getTime() - 86_400_000,
    month: Date.UTC(month.getUTCFullYear(), month.getUTCMonth() - 1, 1),
  }
  for (const window of ['day', 'month'] as const) {
    const labels = `{tenant="acme",window="${window}"}`
    const at = (edge: string) => series.get(`gw_budget_window_${edge}_timestamp_seconds${labels}`)
    assert.equal(at('start'), starts[window] / 1000)
    assert.equal(at('end'), Date.parse(ends[window]) / 1000)
  }
  assert.ok(![...series.keys()].some((name) => /^gw_budget_.*tenant="rated"/.test(name)))
})

test('GET /limits/{tenant} omits limits that a tenant does not have', async () => {
  const front = gateway.as('rated')
  const names = ['tenant', 'requests_per_minute', 'concurrent_requests']
  const shown = await standing(front, 'rated')
  assert.deepEqual(Object.keys(shown).sort(), [...names].sort())
  assert.equal(shown.requests_per_minute.remaining, 9)
  const { resets_at, ...rate } = (await standing(front, 'own')).tokens_per_minute
  assert.deepEqual(rate, { window: 'minute', limit: 7000, used: 0, remaining: 7000 })
  assert.ok(Math.abs(Date.parse(resets_at) - Date.now()) < 60_000)
})

test('a tenant that no key, rule or budget names does not exist', async () => {
  for (const [path, said] of [
    ['/limits/acm', 'no such tenant "acm": no key, rule or budget names it; did you mean "acme"?'],
    ['/explain?model=chat&tenant=x', 'no such tenant "x": no key, rule or budget names it'],
  ] as const) {
    const answer = await gateway.as('acme').admin(path)
    assert.equal(answer.error.message, said)
  }
})

let folder: string
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-explain-'))
})
after(() => rm(folder, { recursive: true }))

async function explained(document: object): Promise<string> {
  const file = join(folder, 'gw.yaml')
  await writeFile(file, stringify(document))
  process.env.UPSTREAM_KEY = 'upstream-credential'
  const { code, stdout, stderr } = await gw('config', 'validate', '--file', file, '--explain')
  assert.equal(code, 0, stderr)
  return stdout
}

test("gw config validate --explain shows limits and budgets of a route's tenants", async () => {
  const text = await explained(limitedDocument(section, keys))
  for (const expected of [
    'tenant acme: 1 requests a minute, 9 at once, 4 simultaneous, in each replica; ' +
      '5000 tokens a UTC day and 12.5 USD a UTC month, then route cheap, alerts at 50 %, 80 %',
    'tenant rated: 1 requests a minute, 9 at once, 4 simultaneous',
    'tenant own: 600 requests a minute, 9 at once, 4 simultaneous, in each replica; 7000 tokens a minute',
  ]) {
    assert.ok(text.includes(expected), `${expected} is not in\n${text}`)
  }
})

test('--explain shows what is reserved and sent for a client without a limit', async () => {
  assert.match(
    await explained(limitedDocument(section, keys)),
    /a client without a token limit: max_tokens 100 is sent where a budget applies/,
  )
  const open = [{ name: 'cheap', strategy: 'single', primary: 'up' }]
  assert.match(
    await explained(limitedDocument({ ...section, routes: open }, keys)),
    /a client without a token limit: 4096 tokens are reserved for the answer, no limit is sent/,
  )
})

test('--explain shows the limits of a file that sets none', async () => {
  const { rate_limits: _limits, budgets: _budgets, ...others } = section
  const text = await explained(limitedDocument(others, keys))
  assert.match(text, /tenant rated: 120 requests a minute, 30 at once, 16 simultaneous/)
})

test('the explanation of a running gateway says the same as that of its file', async () => {
  const { text } = await gateway.as('acme').admin('/explain?model=chat')
  assert.match(text, /tenant acme: 1 requests a minute, 9 at once.*then route cheap/)
})
