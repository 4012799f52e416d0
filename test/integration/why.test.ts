/** Incidents planted in a running gateway: the first sentence of `gw why` names the cause. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import {
  type FakeUpstream,
  failing,
  refusingUrl,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { type GatewayProcess, PLENTY, startGateway } from '../helpers/gateway-process.ts'
import { gw } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'

const BAD_KEY = failing(401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' })
const NO_QUOTA = failing(429, {
  message: 'You exceeded your current quota.',
  type: 'insufficient_quota',
  code: 'insufficient_quota',
})

const acme = aKey({ id: 'acme-1' })
const capped = aKey({ id: 'capped-1', tenant: 'capped' })
const rated = aKey({ id: 'rated-1', tenant: 'rated' })
const expired = aKey({ id: 'laptop', expires_at: '2026-01-01T00:00:00Z' })

const upstreams = new Map<string, FakeUpstream>()
let gateway: GatewayProcess

const NAMES = ['good', 'badkey', 'noquota', 'broken'] as const

async function configured(more: object = {}) {
  const fakes = NAMES.map((name) => ({
    name,
    provider: 'openai',
    endpoint: upstreams.get(name)?.url,
    model: 'm',
    context_window: 4096,
  }))
  const dead = { name: 'dead', provider: 'openai', endpoint: await refusingUrl(), model: 'm' }
  const all = [...fakes, dead]
  const names = { tenant: 'capped', tokens_per_day: 5, on_exceeded: 'reject' }
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      upstreams: all,
      routes: all.map(({ name }) => ({
        name: `to-${name}`,
        strategy: 'single',
        primary: name,
        retry: { max_attempts: 1 },
      })),
      api_keys: [acme, capped, rated, expired].map(({ record }) => record),
      budgets: [names],
      rate_limits: {
        backend: 'memory',
        default: PLENTY,
        tenants: [{ tenant: 'rated', requests_per_minute: 1, burst: 1 }],
      },
      ...more,
    },
  }
}

before(async () => {
  const replies = { good: whole(), badkey: BAD_KEY, noquota: NO_QUOTA, broken: failing(500) }
  for (const name of NAMES) upstreams.set(name, await startUpstream(replies[name]))
  gateway = await startGateway({ config: await configured() })
})
after(async () => {
  for (const upstream of upstreams.values()) await upstream.close()
  await gateway.stop()
})

async function ask(model: string, { key } = acme, content = 'hi'): Promise<number> {
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  })
  await answer.text()
  return answer.status
}

async function firstSentence(...args: readonly string[]) {
  const { stdout, stderr, code } = await gw('why', '--admin', gateway.adminUrl, ...args)
  assert.equal(stderr, '')
  return { sentence: stdout.split('\n')[0] ?? '', code }
}

async function named(args: readonly string[], cause: RegExp): Promise<void> {
  const { sentence, code } = await firstSentence(...args)
  assert.match(sentence, cause)
  assert.equal(code, 1, 'requests failed')
}

test('nothing failed, says the gateway that has served well', async () => {
  await ask('to-good')
  const { sentence, code } = await firstSentence('--route', 'to-good')
  assert.match(sentence, /^No request of to-good failed since .*; nothing was edited for 2 hours/)
  assert.equal(code, 0)
})

for (const [what, route, cause] of [
  [
    'a wrong key of a provider',
    'to-badkey',
    /upstream badkey refuses the gateway's credential \(401 Incorrect API key provided/,
  ],
  [
    'the quota of a provider',
    'to-noquota',
    /the quota of upstream noquota is used up \(429 You exceeded your current quota/,
  ],
  [
    'an upstream that answers with errors',
    'to-broken',
    /upstream broken answers with errors \(500/,
  ],
  ['an upstream that refuses connections', 'to-dead', /upstream dead cannot be reached/],
] as const) {
  test(`the first sentence names ${what}, also after its breaker has opened`, async () => {
    for (let count = 0; count < 12; count++) await ask(route)
    await named(['--route', route], cause)
  })
}

test('the first sentence names the budget of a tenant', async () => {
  await until('the budget is spent', async () => (await ask('to-good', capped)) === 402)
  await named(['--tenant', 'capped'], /402 .*a budget of tenant capped is used up \(/)
})

test('the first sentence names the limit of a tenant', async () => {
  await until('the limit is reached', async () => (await ask('to-good', rated)) === 429)
  await named(['--tenant', 'rated'], /tenant rated is above a limit \(/)
})

test('the first sentence names an expired key', async () => {
  assert.equal(await ask('to-good', expired), 401)
  await named(['--route', 'none'], /key laptop has expired/)
})

test('the first sentence names prompts that are too long', async () => {
  assert.equal(await ask('to-good', acme, 'word '.repeat(8000)), 400)
  await named(
    ['--route', 'to-good', '--tenant', 'acme'],
    /the prompts are longer than the context window \(/,
  )
})

test('one request is explained by its id', async () => {
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${acme.key}` },
    body: JSON.stringify({ model: 'nothing', messages: [] }),
  })
  await answer.text()
  const id = answer.headers.get('x-request-id') ?? ''
  await named(
    ['--request', id],
    /^Request \S+ of tenant acme got 404 ERR_GW_ROUTE_NOT_FOUND at .* asks for a name that leads nowhere/,
  )
})

test('the first sentence names an alias that now takes a name, and the edit is on the line of time', async () => {
  const file = `${gateway.configFile}.why.yaml`
  const place = ['--admin', gateway.adminUrl, '--yes'] as const
  const apply = async (route: string) => {
    await writeFile(file, stringify(await configured({ aliases: { 'gpt-4o': route } })))
    const applied = await gw('apply', '-f', file, ...place)
    assert.equal(applied.code, 0, applied.stderr)
  }
  await apply('to-good')
  assert.equal(await ask('gpt-4o'), 200)
  await apply('to-broken')
  await ask('gpt-4o')
  await named(
    ['--route', 'to-broken'],
    /the name gpt-4o is an alias of route to-broken now, and led to route to-good before/,
  )
  const shown = await gw('why', '--admin', gateway.adminUrl)
  assert.match(shown.stdout, /config_reload +The configuration was taken/)
})

test('the first sentence names a configuration that was refused', async () => {
  await writeFile(gateway.configFile, 'gw: {routes: 3}\n')
  await until('it is refused', () => gateway.output().includes('the old one stays'))
  const { sentence } = await firstSentence('--route', 'to-nowhere')
  assert.match(
    sentence,
    /the newest configuration was refused \([^)]*apiVersion: required field is missing\), and the one before is in force/,
  )
})
