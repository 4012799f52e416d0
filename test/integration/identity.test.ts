/**
 * Tokens of an issuer at a gateway process: the official SDK calls it, and the issuer serves its
 * key set on a socket.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { errorOf, startFront, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { aSigningKey, aToken, ISSUER, keySetOf } from '../helpers/token-issuer.ts'

const first = await aSigningKey('first', 'RS256')
const second = await aSigningKey('second', 'EdDSA')
const issuer = { set: keySetOf(first), status: 200, fetches: 0 }
const server = createServer((_, outgoing) => {
  issuer.fetches++
  outgoing.writeHead(issuer.status).end(issuer.set)
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo

const upstream = await startUpstream(whole())
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: ['chat', 'batch'].map((name) => ({ name, strategy: 'single', primary: 'up' })),
  rate_limits: { tenants: [{ tenant: 'research', requests_per_minute: 1000 }] },
  limits: [{ name: 'people', for: { each: 'user' }, requests_per_minute: 1, burst: 1 }],
  budgets: ['client', 'company:client'].map((key) => ({ key, tokens_per_day: 1000 })),
  auth: {
    jwt: [
      {
        name: 'company',
        issuer: ISSUER,
        audiences: ['gw'],
        jwks: { url: `http://127.0.0.1:${port}/keys` },
        tenant: { claim: '/team' },
        end_user: { claim: '/person' },
        routes: ['chat'],
      },
    ],
  },
})
after(async () => {
  await front.process.stop()
  await upstream.close()
  server.close()
})

const tokenOf = (key = first, claims = {}) =>
  aToken(key, { team: 'research', ...claims }, Date.now())
const asking = async (token: string, fields = {}) =>
  await front.ask(fields, { authorization: `Bearer ${token}` }).over

test('an SDK sends a token instead of a key, and the trace names the caller', async () => {
  const apiKey = await tokenOf()
  const client = new OpenAI({ baseURL: `${front.process.url}/v1`, apiKey, maxRetries: 0 })
  const { data, response } = await client.chat.completions
    .create({ model: 'chat', messages: [{ role: 'user', content: 'hi' }] })
    .withResponse()
  assert.equal(data.choices[0]?.message.content, 'hello')
  const trace = await front.admin(`/traces/${response.headers.get('x-request-id')}`)
  assert.deepEqual([trace.tenant, trace.key], ['research', 'company:alice'])
  assert.equal(upstream.asked.at(-1)?.headers.authorization?.includes(apiKey), false)
  const models = await client.models.list()
  assert.deepEqual(
    models.data.map(({ id }) => id),
    ['chat'],
  )
})

test('a route that the issuer does not grant returns 403, and so does an unknown tenant', async () => {
  const route = await asking(await tokenOf(), { model: 'batch' })
  assert.deepEqual([route.status, errorOf(route).code], [403, 'ERR_GW_AUTH_SCOPE_DENIED'])
  const tenant = await asking(await tokenOf(first, { team: 'unheard-of' }))
  assert.deepEqual([tenant.status, errorOf(tenant).code], [403, 'ERR_GW_AUTH_SCOPE_DENIED'])
})

test('a token whose caller has the name of a key shares neither usage nor budget with the key', async () => {
  const tokensUsed = async (bearer: string) => {
    const answer = await fetch(`${front.process.url}/v1/usage`, {
      headers: { authorization: `Bearer ${bearer}` },
    })
    const { key, rows, limits } = (await answer.json()) as {
      readonly key: string
      readonly rows: readonly { readonly requests: number }[]
      readonly limits: {
        readonly budgets: readonly { readonly tokens_per_day: { readonly used: number } }[]
      }
    }
    const used = limits.budgets.map(({ tokens_per_day }) => tokens_per_day.used)
    return { key, requests: rows.map(({ requests }) => requests), used }
  }
  const token = await tokenOf(first, { sub: 'client', team: 'acme' })
  for (const bearer of [front.key, front.key, token])
    assert.equal((await asking(bearer)).status, 200)
  assert.deepEqual(await tokensUsed(front.key), { key: 'client', requests: [2], used: [20] })
  assert.deepEqual(await tokensUsed(token), { key: 'company:client', requests: [1], used: [10] })
})

test('a bad token and an unknown key get the same answer, without the reason', async () => {
  const key = await asking('gw_unknown')
  const token = await asking(await tokenOf(first, { aud: 'another' }))
  assert.deepEqual([key.status, token.status], [401, 401])
  const { message, code } = errorOf(token)
  assert.deepEqual([message, code], [errorOf(key).message, errorOf(key).code])
  assert.match((await front.trace(token)).message, /company: .*"aud"/)
})

test("the status shows the issuer's keys, and the metrics count the fetches", async () => {
  const { issuers } = await front.admin('/status')
  assert.deepEqual(
    issuers.map(({ name, keys }: Record<string, unknown>) => [name, keys]),
    [['company', 1]],
  )
  assert.equal(await front.value('gw_jwks_keys{issuer="company"}'), 1)
  const fetched = await front.value('gw_jwks_fetches_total{issuer="company",result="success"}')
  assert.equal(fetched, issuer.fetches)
})

test('after a refusal because of its key, no request causes a fetch for half a minute', async () => {
  issuer.set = keySetOf(first, second)
  const before = issuer.fetches
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => (await asking(await tokenOf(second))).status),
  )
  assert.deepEqual(new Set(answers), new Set([401]))
  assert.equal(issuer.fetches, before)
})

test('the end user of a limit comes from the declared claim, not from the body', async () => {
  const ann = await tokenOf(first, { person: 'ann' })
  assert.equal((await asking(ann)).status, 200)
  const refused = await asking(ann, { user: 'another' })
  assert.equal(refused.status, 429, refused.text)
  assert.equal(errorOf(refused).limit_holder, 'user "ann"')
  const bob = await tokenOf(first, { person: 'bob' })
  assert.equal((await asking(bob, { user: 'ann' })).status, 200)
})
