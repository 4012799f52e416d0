/**
 * Entries of `limits[]` over gateways that share a store: the same tests for memory and for Redis.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../../helpers/a-key.ts'
import { Front, type Heard, startUpstream } from '../../helpers/fake-upstream.ts'
import { type GatewayProcess, PLENTY, startGateway } from '../../helpers/gateway-process.ts'
import { gw } from '../../helpers/gw-here.ts'
import { until } from '../../helpers/until.ts'
import {
  ANSWER_TOKENS,
  ANSWER_USD,
  assertLimited,
  assertSpent,
  limitedDocument,
  limitHeaders,
  PRICES,
  untilStoreAnswers,
  windowEnds,
} from './limited-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

const PAIRS = [
  'alone-1 alone',
  'pair-1 first',
  'pair-2 second',
  'keys-1 keys',
  'keys-2 keys',
  'route-1 router',
  'route-2 other',
  'model-1 modeller',
  'ops-1 operator',
  'ops-2 other-operator',
  'tag-1 tagger',
  'each-tag-1 projects',
  'each-1 each',
  'each-2 each-too',
  'slots-1 slots',
  'rated-1 rated',
  'day-1 daily',
  'month-1 monthly',
  'cheap-1 downgraded',
  'many-1 many',
  'alert-1 alerted',
  'input-1 prompts',
  'users-1 chatbot',
  'users-2 chatbot',
  'users-3 other-bot',
  'output-1 answers',
  'hour-1 hourly',
  'week-1 weekly',
  'long-1 long',
  'total-1 total',
  'zone-1 zoned',
  'raise-1 raised',
]

/** Once a minute and one at once: the second request is refused. */
const ONE = { requests_per_minute: 1, burst: 1 }

const LIMITS: readonly Fields[] = [
  { name: 'of-tenant', for: { tenant: 'alone' }, ...ONE },
  { name: 'premium', for: { tenants: ['first', 'second'] }, requests_per_minute: 1, burst: 2 },
  { name: 'each-key', for: { each: 'key', tenant: 'keys' }, ...ONE },
  { name: 'of-route', for: { route: 'limited' }, ...ONE },
  { name: 'big-model', for: { tenant: 'modeller', model: 'big-*' }, ...ONE },
  { name: 'of-chat', for: { tenant: 'operator', operation: 'chat' }, ...ONE },
  { name: 'of-vectors', for: { tenant: 'other-operator', operation: 'embeddings' }, ...ONE },
  { name: 'of-team', for: { tenant: 'tagger', tag: { team: 'blue' } }, ...ONE },
  { name: 'project', for: { tenant: 'projects', each: 'tag/project' }, ...ONE },
  { name: 'each-tenant', for: { tenants: ['each', 'each-too'], each: 'tenant' }, ...ONE },
  { name: 'slots', for: { key: 'slots-1' }, concurrent_requests: 1 },
  { name: 'rate', for: { tenant: 'rated' }, tokens_per_minute: 12 },
  { name: 'daily', for: { tenant: 'daily' }, budget: { tokens: 2 * ANSWER_TOKENS, per: 'day' } },
  {
    name: 'monthly',
    for: { each: 'key', tenant: 'monthly' },
    budget: { usd: 2 * ANSWER_USD, per: 'month' },
  },
  {
    name: 'cheaper',
    for: { tenant: 'downgraded' },
    budget: {
      usd: ANSWER_USD,
      per: 'day',
      on_exceeded: 'downgrade',
      downgrade_route: 'cheap',
    },
  },
  {
    name: 'alerting',
    for: { each: 'tenant', tenant: 'alerted' },
    budget: { tokens: 2 * ANSWER_TOKENS, per: 'month', alerts: [0.5] },
  },
  { name: 'end-users', for: { each: 'user', tenants: ['chatbot', 'other-bot'] }, ...ONE },
  { name: 'prompts', for: { tenant: 'prompts' }, input_tokens_per_minute: 6 },
  { name: 'answers', for: { tenant: 'answers' }, output_tokens_per_minute: 4 },
  { name: 'hourly', for: { tenant: 'hourly' }, budget: { tokens: 20, per: 'hour' } },
  { name: 'weekly', for: { tenant: 'weekly' }, budget: { tokens: 20, per: 'week' } },
  { name: 'long', for: { tenant: 'long' }, budget: { usd: 2 * ANSWER_USD, per: '30d' } },
  { name: 'total', for: { tenant: 'total' }, budget: { tokens: 20, per: 'total' } },
  {
    name: 'zoned',
    for: { tenant: 'zoned' },
    budget: { tokens: 20, per: 'day', time_zone: 'Asia/Kolkata' },
  },
  {
    name: 'raised',
    for: { tenant: 'raised' },
    budget: {
      tokens: ANSWER_TOKENS,
      per: 'day',
      raise: { tokens: ANSWER_TOKENS, until: '2999-01-01T00:00:00Z', by: 'ops' },
    },
  },
  { name: 'wide', for: { tenant: 'many' }, requests_per_minute: 50, burst: 40 },
  { name: 'narrow', for: { tenant: 'many', model: 'chat' }, requests_per_minute: 30, burst: 20 },
]

const ROUTES = ['chat', 'limited', 'big-route', 'small-route', 'vectors', 'cheap']

/**
 * `backend`: the section rate_limits without its default. Requests alternate between the gateways.
 */
export async function testFurtherLimits(backend: Fields, gateways: number): Promise<void> {
  const [upstream, receiver] = await Promise.all([startUpstream(), startUpstream()])
  const keys = PAIRS.map((pair) => {
    const [id = '', tenant = ''] = pair.split(' ')
    return { id, ...aKey({ id, tenant, routes: ['*'] }) }
  })
  const up = (name: string, model = 'served') => ({ name, model, endpoint: upstream.url })
  const config = limitedDocument(
    {
      upstreams: [up('up'), up('big', 'big-one'), up('small', 'small')],
      routes: ROUTES.map((name) => ({
        name,
        strategy: 'single',
        primary: name === 'big-route' ? 'big' : name === 'cheap' ? 'small' : 'up',
        max_tokens_default: 3,
      })),
      aliases: { 'big-alias': 'small-route' },
      rate_limits: { ...backend, default: PLENTY },
      limits: LIMITS,
      usage: { tags: ['team', 'project'], end_user_header: 'X-End-User' },
      pricing: [
        ...PRICES,
        { model: 'small', input: 1, output: 2 },
        { model: 'big-one', input: 1, output: 2 },
      ],
      alerts: { webhook_url: `${receiver.url}/hook` },
    },
    { records: keys.map(({ record }) => record), byTenant: new Map() },
  )
  const env = { UPSTREAM_KEY: 'upstream-credential' }
  const all: GatewayProcess[] = []
  for (let made = 0; made < gateways; made++) all.push(await startGateway({ config, env }))
  after(() => Promise.all([...all.map((one) => one.stop()), upstream.close(), receiver.close()]))
  for (const one of all) await untilStoreAnswers(new Front(one, ''))
  let turn = 0
  const as = (id: string) => {
    const gateway = all[turn++ % all.length] as GatewayProcess
    return new Front(gateway, keys.find((one) => one.id === id)?.key ?? 'unknown')
  }
  const refused = async (id: string, fields: Fields = {}, headers = {}) => {
    const heard = await as(id).ask(fields, headers).over
    return assertLimited(heard, 'rpm')
  }
  const served = async (id: string, fields: Fields = {}, headers = {}) => {
    const heard = await as(id).ask(fields, headers).over
    assert.equal(heard.status, 200, heard.text)
    return heard
  }

  /**
   * Sends requests until the budget is spent; an answer may be settled a moment after it was read.
   */
  const spend = async (id: string, reason: string) => {
    const answers: Heard[] = []
    let last: Heard | undefined
    await until('the budget is spent', async () => {
      last = await as(id).chat({ max_tokens: 3 })
      if (last.status === 200) answers.push(last)
      else if (last.status === 429) assertLimited(last, 'budget_reserved')
      return last.status === 402
    })
    return { answers, error: assertSpent(last as Heard, reason) }
  }

  test("a tenant's limit refuses with its name, its holder and its end", async () => {
    await served('alone-1')
    const error = await refused('alone-1')
    assert.match(
      error.message,
      /^Limit "of-tenant" of tenant "alone": The limit of 1 requests a minute, 1 at once, is reached\. Try again in \d+ s, or have requests_per_minute raised\.$/,
    )
    assert.deepEqual(
      [error.limit_name, error.limit_holder, error.limited_by, error.limit],
      ['of-tenant', 'tenant "alone"', 'requests_per_minute', 1],
    )
    const left = Date.parse(error.resets_at) - Date.now()
    assert.ok(left > 0 && left <= 60_000, error.resets_at)
  })

  test('tenants share the counter of a list, and no refusal names another tenant', async () => {
    await served('pair-1')
    await served('pair-2')
    const error = await refused('pair-1')
    assert.equal(error.limit_holder, 'several tenants together')
    assert.doesNotMatch(JSON.stringify(error), /second/)
    await refused('pair-2')
  })

  test('each key of a tenant has a counter', async () => {
    await served('keys-1')
    const error = await refused('keys-1')
    assert.equal(error.limit_holder, 'key "keys-1"')
    await served('keys-2')
  })

  test("a route's limit counts all of its callers, and no other route", async () => {
    await served('route-1', { model: 'limited' })
    await refused('route-2', { model: 'limited' })
    await served('route-2', { model: 'chat' })
  })

  test("a limit of a model matches the alias and the upstream's model, by a pattern", async () => {
    await served('model-1', { model: 'big-route' })
    await refused('model-1', { model: 'big-route' })
    await refused('model-1', { model: 'big-alias' })
    await served('model-1', { model: 'small-route' })
    await served('model-1', { model: 'chat' })
  })

  test('a limit of an operation does not affect other operations', async () => {
    await served('ops-1')
    await refused('ops-1')
    await served('ops-2')
    await served('ops-2')
  })

  test('a limit of a tag counts only requests with the tag', async () => {
    const blue = { 'x-gw-tags': 'team=blue' }
    await served('tag-1', {}, blue)
    await refused('tag-1', {}, blue)
    await refused('tag-1', { metadata: { team: 'blue' } })
    await served('tag-1', {}, { 'x-gw-tags': 'team=red' })
    await served('tag-1')
  })

  test('each value of a tag has a counter', async () => {
    const of = (project: string) => ({ 'x-gw-tags': `project=${project}` })
    await served('each-tag-1', {}, of('a'))
    const error = await refused('each-tag-1', {}, of('a'))
    assert.equal(error.limit_holder, 'tag project=a')
    await served('each-tag-1', {}, of('b'))
    await served('each-tag-1')
    await served('each-tag-1')
  })

  test('each end user of a tenant has a counter, identified by the body or the declared header', async () => {
    await served('users-1', { user: 'alice' })
    const error = await refused('users-2', { user: 'alice' })
    assert.equal(error.limit_holder, 'user "alice"')
    await refused('users-1', { metadata: { user_id: 'alice' } })
    await refused('users-1', { user: 'carol' }, { 'x-end-user': 'alice' })
    await served('users-1', { user: 'bob' })
    await served('users-3', { user: 'alice' })
    await served('users-1')
    await served('users-1')
  })

  test('each tenant of a list has a counter', async () => {
    await served('each-1')
    await refused('each-1')
    await served('each-2')
    const error = await refused('each-2')
    assert.equal(error.limit_holder, 'tenant "each-too"')
  })

  test('a limit of concurrent requests counts running requests', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const before = upstream.asked.length
    const { reply } = upstream
    upstream.script.push(async (outgoing, asked) => {
      await released
      await reply(outgoing, asked)
    })
    const first = as('slots-1').ask()
    await until('the upstream has the request', () => upstream.asked.length > before)
    const error = assertLimited(await as('slots-1').chat(), 'concurrency')
    assert.deepEqual([error.limit_name, error.limit_holder], ['slots', 'key "slots-1"'])
    release()
    assert.equal((await first.over).status, 200)
    await until('its slot is free', async () => (await as('slots-1').chat()).status === 200)
  })

  test('a limit of tokens a minute charges actual usage', async () => {
    const first = await served('rated-1', { max_tokens: 3 })
    assert.equal(first.headers['x-ratelimit-limit-tokens'], '12')
    let error: Record<string, unknown> = {}
    await until('the tokens are used', async () => {
      const heard = await as('rated-1').chat({ max_tokens: 3 })
      if (heard.status === 200) return false
      error = assertLimited(heard, 'tpm')
      return true
    })
    assert.deepEqual(
      [error.limit_name, error.limited_by, error.limit],
      ['rate', 'tokens_per_minute', 12],
    )
  })

  test('tokens of prompts and of answers have separate limits', async () => {
    for (const [id, limitedBy, limit] of [
      ['input-1', 'input_tokens_per_minute', 6],
      ['output-1', 'output_tokens_per_minute', 4],
    ] as const) {
      await served(id, { max_tokens: 3 })
      let error: Record<string, unknown> = {}
      await until('the tokens are used', async () => {
        const heard = await as(id).chat({ max_tokens: 3 })
        if (heard.status === 200) return false
        error = assertLimited(heard, 'tpm')
        return true
      })
      assert.deepEqual([error.limited_by, error.limit], [limitedBy, limit])
    }
  })

  test('a budget uses its configured window', async () => {
    const HOUR_MS = 3_600_000
    const cases = [
      ['hour-1', 'budget_tokens', 'of this hour are used', HOUR_MS],
      ['week-1', 'budget_tokens', 'of this week are used', 7 * 24 * HOUR_MS],
      ['long-1', 'budget_spend', 'of these 30 days are spent', 30 * 24 * HOUR_MS],
    ] as const
    for (const [id, reason, words, length] of cases) {
      const { answers, error } = await spend(id, reason)
      assert.equal(answers.length, 2, id)
      assert.ok(error.message.includes(words), error.message)
      const left = Date.parse(error.resets_at) - Date.now()
      assert.ok(left > 0 && left <= length, error.resets_at)
    }
  })

  test('a budget in total does not reset', async () => {
    const { error } = await spend('total-1', 'budget_tokens')
    assert.match(
      error.message,
      /The 20 tokens in total are used\. It does not reset; have budget raised\.$/,
    )
    assert.equal(error.resets_at, null)
  })

  test('a day begins in the configured time zone', async () => {
    const { error } = await spend('zone-1', 'budget_tokens')
    assert.match(error.resets_at, /T18:30:00\.000Z$/)
  })

  test('a raised budget is larger while the raise lasts', async () => {
    const { answers, error } = await spend('raise-1', 'budget_tokens')
    assert.equal(answers.length, 2)
    assert.equal(error.limit, 2 * ANSWER_TOKENS)
  })

  test('all gateways together spend a daily token budget', async () => {
    const { answers, error } = await spend('day-1', 'budget_tokens')
    const left = answers.map((one) => limitHeaders(one)['budget-tokens-remaining'])
    assert.deepEqual(left, [String(2 * ANSWER_TOKENS), String(ANSWER_TOKENS)])
    assert.match(
      error.message,
      /^Limit "daily" of tenant "daily": The 20 tokens of this day are used\./,
    )
    assert.deepEqual(
      [error.limited_by, error.limit, error.used, error.resets_at],
      ['budget', 20, 20, windowEnds().day],
    )
  })

  test('each key spends a monthly money budget', async () => {
    const { answers, error } = await spend('month-1', 'budget_spend')
    assert.equal(answers.length, 2)
    assert.match(error.message, /USD of this month are spent/)
    assert.equal(error.resets_at, windowEnds().month)
    assert.equal(error.limit_holder, 'key "month-1"')
  })

  test('a spent budget of a limit downgrades', async () => {
    assert.equal((await served('cheap-1')).headers['x-gw-route'], 'chat')
    await until('it is spent', async () => {
      const { status, headers } = await as('cheap-1').chat()
      return status === 200 && headers['x-gw-route'] === 'cheap'
    })
  })

  test('headers show the tightest of all limits', async () => {
    const heard = limitHeaders(await served('many-1'))
    assert.deepEqual([heard['ratelimit-limit'], heard['ratelimit-remaining']], ['30', '19'])
    const other = limitHeaders(await served('many-1', { model: 'cheap' }))
    assert.deepEqual([other['ratelimit-limit'], other['ratelimit-remaining']], ['50', '38'])
  })

  test('counters can be read by tenant, key, end user and limit', async () => {
    await served('slots-1')
    const front = as('slots-1')
    const counters = async (query: string) => await front.admin(`/limit-counters?${query}`)
    const ofTenant = await front.admin('/limits/slots')
    assert.equal(ofTenant['limit:slots (key "slots-1") concurrent_requests'].limit, 1)
    const name = 'limit:each-key (key "keys-1") requests_per_minute'
    const ofKey = await counters('key=keys-1')
    assert.deepEqual(Object.keys(ofKey), [
      name,
      'limit:of-route (all callers of route "limited") requests_per_minute',
    ])
    const { limit, burst, used } = ofKey[name]
    assert.deepEqual([limit, burst, used], [1, 1, 1])
    const user = 'limit:end-users (user "alice") requests_per_minute'
    const ofUser = await counters('user=alice&tenant=chatbot')
    assert.deepEqual([Object.keys(ofUser), ofUser[user].used], [[user], 1])
    const ofLimit = await counters('limit=each-tenant')
    assert.deepEqual(Object.keys(ofLimit).toSorted(), [
      'limit:each-tenant (tenant "each") requests_per_minute',
      'limit:each-tenant (tenant "each-too") requests_per_minute',
    ])
    await until('the budget is settled', async () => {
      const { 'limit:daily (tenant "daily") budget tokens': budget } = await counters('limit=daily')
      const { window, used, remaining, resets_at } = budget
      return window === 'day' && used === 20 && remaining === 0 && resets_at === windowEnds().day
    })
    const { adminUrl, adminHeaders: headers } = front.process
    const { code, stdout } = await gw(
      'limits',
      'show',
      '--admin',
      adminUrl,
      '--limit',
      'each-tenant',
    )
    assert.equal(code, 0)
    assert.match(stdout, /^limit each-tenant\n/)
    assert.match(
      stdout,
      /limit:each-tenant \(tenant "each"\) requests_per_minute +minute +1, 1 at once/,
    )
    for (const query of ['limit=unknown', 'key=unknown', 'tenant=unknown'])
      assert.equal((await fetch(`${adminUrl}/limit-counters?${query}`, { headers })).status, 404)
  })

  test('a metric counts the refusals of each limit', async () => {
    const texts = await Promise.all(all.map((one) => fetch(`${one.metricsUrl}/metrics`)))
    const lines = (await Promise.all(texts.map((one) => one.text()))).join('\n').split('\n')
    const counted = lines.filter((line) =>
      line.startsWith('gw_limit_refused_total{limit="each-key"'),
    )
    const sum = counted.reduce((total, line) => total + Number(line.split(' ').at(-1)), 0)
    assert.equal(sum, 1, counted.join('\n'))
  })

  test('budgets are shown as gauges, by their limit and the counter that the configuration names', async () => {
    const rows = [
      'gw_limit_budget_tokens_used{limit="daily",counter="",window="day"} 20',
      'gw_limit_budget_used_ratio{limit="daily",counter="",window="day"} 1',
      'gw_limit_budget_used_ratio{limit="raised",counter="",window="day"} 1',
      `gw_limit_budget_spend_usd{limit="monthly",counter="month-1",window="month"} ${2 * ANSWER_USD}`,
      'gw_scoped_budget_alerts_total{budget="limit:alerting",window="month",threshold="0.5"} 0',
    ]
    await until('every gateway shows them', async () => {
      const texts = await Promise.all(all.map((one) => fetch(`${one.metricsUrl}/metrics`)))
      const lines = (await Promise.all(texts.map((one) => one.text()))).map((text) =>
        text.split('\n'),
      )
      return lines.every((shown) => rows.every((row) => shown.includes(row)))
    })
  })

  test('an alert names the limit and its holder, once', async () => {
    await served('alert-1')
    await until('the alert arrives', () => receiver.asked.length > 0)
    const [alert] = receiver.asked.map(({ body }) => body)
    assert.deepEqual(
      [alert?.limit_name, alert?.limit_holder, alert?.window, alert?.kind, alert?.threshold],
      ['alerting', 'tenant "alerted"', 'month', 'tokens', 0.5],
    )
    assert.equal(receiver.asked.length, 1)
  })
}
