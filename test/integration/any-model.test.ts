/** Upstreams that get the model that the client names: where the name goes, and what governs it. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { failing, startFront, startUpstream } from '../helpers/fake-upstream.ts'

const upstream = await startUpstream()
upstream.models = {
  object: 'list',
  data: [
    { id: 'vendor/small', context_length: 4096 },
    { id: 'gpt-4o' },
    { id: 'bad name' },
    { id: 'o3' },
  ],
}
const all = aKey({ id: 'all' })
const narrow = aKey({ id: 'narrow', tenant: 'narrow', routes: ['open/vendor/*'] })
const spender = aKey({ id: 'spender', tenant: 'spender' })
const front = await startFront({
  upstreams: [
    { name: 'open', model: '*', endpoint: upstream.url, list_models: true },
    {
      name: 'some',
      model: ['gpt-*', 'o3'],
      endpoint: upstream.url,
      context_windows: { 'gpt-short*': 10 },
    },
    { name: 'fixed', model: 'fixed-model', endpoint: upstream.url },
  ],
  routes: [
    { name: 'open', strategy: 'single', primary: 'open' },
    { name: 'some', strategy: 'single', primary: 'some' },
    { name: 'safe', strategy: 'primary_with_fallback', primary: 'some', fallback: ['fixed'] },
    { name: 'mixed', strategy: 'primary_with_fallback', primary: 'fixed', fallback: ['some'] },
    { name: 'group', strategy: 'single', upstreams: ['fixed'], fallback: [{ route: 'some' }] },
  ],
  aliases: {
    'open/*': 'open',
    'gpt-*': 'some',
    'safe/*': 'safe',
    o3: 'some',
    mix: 'mixed',
  },
  pricing: [
    { model: 'vendor/*', input: 1, output: 1 },
    { model: 'vendor/dear*', input: 1000, output: 1000 },
    { model: 'fixed-model', input: 1, output: 1 },
  ],
  budgets: [{ tenant: 'spender', spend_per_month_usd: 1_000 }],
  api_keys: [all.record, narrow.record, spender.record],
})
after(() => Promise.all([front.process.stop(), upstream.close()]))

const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }

async function ask(model: string, key = all.key, api: keyof typeof PATHS = 'chat') {
  const said = [{ role: 'user', content: 'hi' }]
  const answer = await fetch(front.process.url + PATHS[api], {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      ...(api === 'responses' ? { input: 'hi' } : { messages: said }),
      ...(api === 'messages' && { max_tokens: 9 }),
    }),
  })
  const { error } = JSON.parse(await answer.text())
  const id = answer.headers.get('x-request-id')
  return { status: answer.status, error, trace: () => front.admin(`/traces/${id}`) }
}

async function list(key: string): Promise<{ id: string; context_length?: number }[]> {
  const answer = await fetch(`${front.process.url}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  })
  return JSON.parse(await answer.text()).data
}

const lastModel = () => upstream.asked.at(-1)?.body.model

test('the name after the prefix of an alias goes upstream, in every API', async () => {
  for (const api of ['chat', 'responses', 'messages'] as const) {
    const { status } = await ask('open/vendor/small', all.key, api)
    assert.deepEqual([api, status, lastModel()], [api, 200, 'vendor/small'])
  }
})

test('a prefix that is a part of the name stays, and an exact alias is the name', async () => {
  for (const name of ['gpt-4o', 'o3']) {
    const { status } = await ask(name)
    assert.deepEqual([status, lastModel()], [200, name])
  }
})

test('a model that no upstream takes, and a text that is no name, are not found and not sent', async () => {
  const before = upstream.asked.length
  for (const name of [
    'safe/claude',
    'open/../admin',
    'open/a b',
    'open/',
    `open/${'x'.repeat(300)}`,
  ]) {
    const { status, error } = await ask(name)
    assert.deepEqual([name, status, error.code], [name, 404, 'ERR_GW_ROUTE_NOT_FOUND'])
  }
  assert.equal(upstream.asked.length, before)
  const { error } = await ask('open/a b')
  assert.match(error.message, /no name of a model: it may have at most 255 letters, digits and/)
})

test('a route with a fixed model serves its own name and aliases, regardless of the models of its fallbacks', async () => {
  for (const name of ['mixed', 'mix', 'group']) {
    const { status } = await ask(name)
    assert.deepEqual([name, status, lastModel()], [name, 200, 'fixed-model'])
  }
  // No request begins at a fallback.
  assert.equal((await ask('safe')).status, 404)
})

test('a fallback that has a fixed model gets that model', async () => {
  upstream.script.push(failing(500))
  const { status, trace } = await ask('safe/gpt-4o')
  const { attempts } = await trace()
  assert.deepEqual([status, lastModel()], [200, 'fixed-model'])
  assert.deepEqual(
    attempts.map(({ upstream: name, model }: { upstream: string; model?: string }) => [
      name,
      model,
    ]),
    [
      ['some', 'gpt-4o'],
      ['fixed', undefined],
    ],
  )
})

test('the price is that of the longest pattern, and usage has the model', async () => {
  const { trace } = await ask('open/vendor/dear-1')
  const { attempts } = await trace()
  assert.equal(attempts[0].usage.cost_nano_usd, 10_000_000)
  const { rows } = await front.admin('/usage?by=model')
  assert.ok(rows.some(({ by }: { by: { model: string } }) => by.model === 'vendor/dear-1'))
})

test('a model without a price is refused where a budget in money applies, and served elsewhere', async () => {
  const { status, error } = await ask('open/other/model', spender.key)
  assert.deepEqual([status, error.code, error.param], [400, 'ERR_GW_INVALID_REQUEST', 'model'])
  assert.match(error.message, /"other\/model" has no price/)
  assert.equal((await ask('open/vendor/small', spender.key)).status, 200)
  assert.equal((await ask('open/other/model')).status, 200)
})

test('the context window is that of the pattern', async () => {
  const { status, error } = await ask('gpt-short-1')
  assert.deepEqual([status, error?.code], [200, undefined])
  const long = await fetch(front.process.url + PATHS.chat, {
    method: 'POST',
    headers: { authorization: `Bearer ${all.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-short-1',
      max_tokens: 11,
      messages: [{ role: 'user', content: 'hi' }],
    }),
  })
  assert.equal(JSON.parse(await long.text()).error.code, 'ERR_GW_CONTEXT_OVERFLOW')
})

test('a key with a pattern may use the models that fit it, and no other', async () => {
  assert.equal((await ask('open/vendor/small', narrow.key)).status, 200)
  const { status, error } = await ask('open/gpt-4o', narrow.key)
  assert.deepEqual([status, error.code], [403, 'ERR_GW_AUTH_SCOPE_DENIED'])
  assert.match(error.message, /This key may use: open\/vendor\/\*/)
})

test('the models of the upstream are listed under the names that clients send, once read', async () => {
  const models = await list(all.key)
  assert.deepEqual(models.map(({ id }) => id).sort(), [
    'group',
    'mix',
    'mixed',
    'o3',
    'open/gpt-4o',
    'open/o3',
    'open/vendor/small',
  ])
  assert.equal(models.find(({ id }) => id === 'open/vendor/small')?.context_length, 4096)
  assert.deepEqual(
    (await list(narrow.key)).map(({ id }) => id),
    ['open/vendor/small'],
  )
  assert.equal(upstream.listings, 1)
})

test('explain and the console name the model that goes upstream', async () => {
  const { route, verdict } = await front.admin('/explain?model=open/vendor/small')
  assert.deepEqual([route, verdict.status], ['open', 200])
})
