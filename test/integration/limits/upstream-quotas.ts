/** Quotas of upstreams over gateways that share a store: the same tests for memory and for Redis. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { errorOf, Front, failing, startUpstream } from '../../helpers/fake-upstream.ts'
import { type GatewayProcess, PLENTY, startGateway } from '../../helpers/gateway-process.ts'
import { gw } from '../../helpers/gw-here.ts'
import { until } from '../../helpers/until.ts'
import { keysOf, limitedDocument, PRICES, untilStoreAnswers } from './limited-gateway.ts'

type Fields = Readonly<Record<string, unknown>>

/** Once a minute and one at once: the second attempt is passed over. */
const ONE = { requests_per_minute: 1, burst: 1 }

/** Each route has an upstream with a quota, whose name is that of the route, and `open`. */
const STRATEGIES: Readonly<Record<string, Fields>> = {
  single: {},
  turns: { strategy: 'round_robin' },
  weights: { strategy: 'weighted' },
  queues: { strategy: 'least_queue' },
  shedding: {
    strategy: 'primary_with_fallback',
    overflow: { on_queue_saturated: 'none', on_upstream_error: 'none', on_timeout: 'none' },
  },
  repeats: {
    strategy: 'primary_with_fallback',
    retry: { max_attempts: 3, initial_delay_ms: 1 },
  },
}

const QUOTAS: readonly Fields[] = [
  ...Object.keys(STRATEGIES).map((upstream) => ({
    name: `quota-${upstream}`,
    for: { upstream },
    ...ONE,
  })),
  { name: 'tokens', for: { upstream: 'tokens' }, tokens_per_minute: 15 },
  { name: 'slots', for: { upstream: 'slots' }, concurrent_requests: 1 },
  {
    name: 'spent',
    for: { upstream: 'spent' },
    budget: { usd: 0.0002, per: 'month', alerts: [0.5] },
  },
  { name: 'shares', for: { upstream: 'shares', each: 'tenant' }, ...ONE },
  { name: 'of-one', for: { upstream: 'of-one', tenant: 'a' }, ...ONE },
  { name: 'first', for: { upstream: 'first' }, requests_per_minute: 2, burst: 1 },
  { name: 'second', for: { upstream: 'second' }, ...ONE },
]

const OTHERS = ['tokens', 'slots', 'spent', 'shares', 'of-one']

function routeOf(name: string): Fields {
  const { strategy, ...others } = STRATEGIES[name] ?? { strategy: 'primary_with_fallback' }
  if (name === 'single') return { name, strategy: 'single', primary: name }
  if (strategy === 'primary_with_fallback')
    return { name, strategy, primary: name, fallback: ['open'], ...others }
  const weight = strategy === 'weighted' ? { weight: 1 } : {}
  const upstreams = [name, 'open'].map((one) => ({ name: one, ...weight }))
  return { name, strategy, upstreams, ...others }
}

/** `backend`: the section rate_limits without its default. Requests alternate between the gateways. */
export async function testUpstreamQuotas(backend: Fields, gateways: number): Promise<void> {
  const [upstream, receiver] = await Promise.all([startUpstream(), startUpstream()])
  const names = [...Object.keys(STRATEGIES), ...OTHERS]
  const keys = keysOf(['a', 'b'])
  const up = (name: string) => ({ name, model: 'served', endpoint: upstream.url })
  const config = limitedDocument(
    {
      upstreams: [...names, 'open', 'first', 'second'].map(up),
      routes: [
        ...names.map(routeOf),
        {
          name: 'both',
          strategy: 'primary_with_fallback',
          primary: 'first',
          fallback: ['second'],
        },
      ],
      rate_limits: { ...backend, default: PLENTY },
      limits: QUOTAS,
      pricing: PRICES,
      alerts: { webhook_url: `${receiver.url}/hook` },
    },
    keys,
  )
  const env = { UPSTREAM_KEY: 'upstream-credential' }
  const all: GatewayProcess[] = []
  for (let made = 0; made < gateways; made++) all.push(await startGateway({ config, env }))
  after(() => Promise.all([...all.map((one) => one.stop()), upstream.close(), receiver.close()]))
  for (const one of all) await untilStoreAnswers(new Front(one, ''))
  let turn = 0
  const as = (tenant = 'a') =>
    new Front(all[turn++ % all.length] as GatewayProcess, keys.byTenant.get(tenant) ?? '')
  /** The upstream that served. */
  const served = async (model: string, tenant = 'a') => {
    const heard = await as(tenant).chat({ model, max_tokens: 3 })
    assert.equal(heard.status, 200, heard.text)
    return heard.headers['x-gw-upstream']
  }
  const traceOf = async (id: unknown) => {
    let found: Fields | undefined
    await until('the trace is kept', async () => {
      const traces = await Promise.all(
        all.map((one) =>
          fetch(`${one.adminUrl}/traces/${id}`, { headers: one.adminHeaders }).then(
            async (answer) => (answer.ok ? ((await answer.json()) as Fields) : undefined),
          ),
        ),
      )
      found = traces.find((one) => one !== undefined)
      return found !== undefined
    })
    return found as Fields
  }

  test('a full quota passes its upstream over in every strategy', async () => {
    for (const route of ['turns', 'weights', 'queues', 'shedding']) {
      const answers: unknown[] = []
      for (let asked = 0; asked < 6; asked++) answers.push(await served(route))
      const full = answers.filter((one) => one === route)
      assert.ok(full.length <= 1, `${route}: ${answers.join()}`)
      // Chance need not have chosen it.
      if (route !== 'weights') assert.equal(full.length, 1, `${route}: ${answers.join()}`)
    }
  })

  test('a repeat takes a part of the quota, too, and goes to the fallback without', async () => {
    upstream.script.push(failing(500))
    const heard = await as().chat({ model: 'repeats' })
    assert.equal(heard.status, 200, heard.text)
    assert.equal(heard.headers['x-gw-upstream'], 'open')
    const { attempts, passed_over } = await traceOf(heard.headers['x-request-id'])
    assert.deepEqual(
      (attempts as readonly Fields[]).map((one) => one.upstream),
      ['repeats', 'open'],
    )
    assert.deepEqual(passed_over, [
      {
        upstream: 'repeats',
        why: 'Limit "quota-repeats" of upstream "repeats": The limit of 1 requests a minute, 1 at once, is reached',
      },
    ])
  })

  test('if no other upstream is left it is 503 until the quota has room', async () => {
    assert.equal(await served('single'), 'single')
    const heard = await as().chat({ model: 'single' })
    assert.equal(heard.status, 503, heard.text)
    const seconds = Number(heard.headers['retry-after'])
    assert.ok(seconds > 50 && seconds <= 60, String(seconds))
    const error = errorOf(heard)
    assert.deepEqual(
      [error.code, error.limit_name, error.limit_holder, error.limited_by, error.limit],
      ['ERR_GW_QUEUE_SATURATED', 'quota-single', 'upstream "single"', 'requests_per_minute', 1],
    )
    assert.ok(Date.parse(error.resets_at) > Date.now(), error.resets_at)
  })

  test('of several full quotas the first with room decides when to come again', async () => {
    assert.equal(await served('both'), 'first')
    assert.equal(await served('both'), 'second')
    const heard = await as().chat({ model: 'both' })
    assert.equal(heard.status, 503, heard.text)
    const seconds = Number(heard.headers['retry-after'])
    assert.ok(seconds > 20 && seconds <= 30, String(seconds))
    assert.equal(errorOf(heard).limit_name, 'first')
  })

  test('tokens are charged by what the attempt used', async () => {
    assert.equal(await served('tokens'), 'tokens')
    await until('the tokens are used', async () => (await served('tokens')) === 'open')
  })

  test('an attempt holds its slot until its answer ends', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const before = upstream.asked.length
    const { reply } = upstream
    upstream.script.push(async (outgoing, asked) => {
      await released
      await reply(outgoing, asked)
    })
    const first = as().ask({ model: 'slots' })
    await until('the upstream is asked', () => upstream.asked.length > before)
    assert.equal(await served('slots'), 'open')
    release()
    assert.equal((await first.over).headers['x-gw-upstream'], 'slots')
    await until('its slot is free', async () => (await served('slots')) === 'slots')
  })

  test('a failed attempt frees its slot before its fallback has answered', async () => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { reply } = upstream
    const before = upstream.asked.length
    upstream.script.push(failing(500), async (outgoing, asked) => {
      await released
      await reply(outgoing, asked)
    })
    const first = as().ask({ model: 'slots' })
    await until('the fallback is asked', () => upstream.asked.length > before + 1)
    await until('its slot is free', async () => (await served('slots')) === 'slots')
    release()
    assert.equal((await first.over).headers['x-gw-upstream'], 'open')
  })

  test('a budget of an upstream is spent by all tenants, and its alert names the upstream', async () => {
    assert.equal(await served('spent', 'a'), 'spent')
    await until('the budget is spent', async () => (await served('spent', 'b')) === 'open')
    await until('the alert arrives', () => receiver.asked.length > 0)
    const [alert] = receiver.asked.map(({ body }) => body)
    assert.deepEqual(
      [alert?.limit_name, alert?.limit_holder, alert?.tenant, alert?.window],
      ['spent', 'upstream "spent"', undefined, 'month'],
    )
  })

  test('each tenant has its own part of an upstream if the quota is written so', async () => {
    assert.equal(await served('shares', 'a'), 'shares')
    assert.equal(await served('shares', 'a'), 'open')
    assert.equal(await served('shares', 'b'), 'shares')
    assert.equal(await served('of-one', 'a'), 'of-one')
    assert.equal(await served('of-one', 'a'), 'open')
    assert.equal(await served('of-one', 'b'), 'of-one')
    assert.equal(await served('of-one', 'b'), 'of-one')
  })

  test('explain, the status, the list of counters and a metric show a full quota', async () => {
    const front = as()
    const { verdict } = await front.admin('/explain?model=single&tenant=a')
    assert.equal(verdict.status, 503)
    assert.match(verdict.message, /Limit "quota-single" of upstream "single"/)
    const { verdict: other } = await front.admin('/explain?model=shedding&tenant=a')
    assert.equal(other.message, 'by upstream open')
    const { text } = await front.admin('/explain?model=single')
    assert.match(
      text,
      /limit quota-single, one counter for attempts at upstream single: 1 requests a/,
    )
    const { upstreams } = await front.admin('/status')
    const shown = upstreams.find((one: Fields) => one.name === 'single')
    assert.equal(shown.eligible, false)
    assert.match(shown.why, /^Limit "quota-single" of upstream "single": .+ is reached$/)
    const { adminUrl } = front.process
    const { stdout } = await gw('status', '--admin', adminUrl)
    assert.match(stdout, /single .+ no .+Limit "quota-single"/)
    const counters = await front.admin('/limit-counters?limit=quota-single')
    const { limit, used } = counters['limit:quota-single (upstream "single") requests_per_minute']
    assert.deepEqual([limit, used], [1, 1])
    const texts = await Promise.all(
      all.map(async (one) => (await fetch(`${one.metricsUrl}/metrics`)).text()),
    )
    const row =
      'gw_upstream_quota_passed_over_total{upstream="single",limit="quota-single",reason="rpm"}'
    const counted = texts.flatMap((text) => text.split('\n')).filter((one) => one.startsWith(row))
    assert.ok(counted.length > 0)
    const spent = 'gw_limit_budget_spend_usd{limit="spent",counter="",window="month"} 0.00026'
    for (const text of texts) assert.ok(text.split('\n').includes(spent))
  })
}
