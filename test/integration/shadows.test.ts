/** Copies of requests: what the shadow gets, who pays, and what clients notice of it: nothing. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  type Front,
  failing,
  after as later,
  type Reply,
  startFront,
  startUpstream,
  streaming,
  whole,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { startSidecar } from '../helpers/guardrail-sidecar.ts'
import { until } from '../helpers/until.ts'

const [up, fresh] = await Promise.all([startUpstream(), startUpstream()])
const sidecar = await startSidecar()
const answering: Reply = (outgoing, asked) =>
  (asked.body.stream === true ? streaming() : whole())(outgoing, asked)
const shadow = { upstream: 'new', percent: 100, tenant: 'shadow-eval' }
const single = (name: string, more: object) => ({
  name,
  strategy: 'single',
  primary: 'up',
  ...more,
})
const upstreams = [
  { name: 'up', endpoint: up.url, labels: { region: 'eu' } },
  { name: 'new', endpoint: fresh.url, model: 'gpt-4o' },
]
const front = await startFront({
  upstreams,
  routes: [
    single('chat', { shadow }),
    single('texts', { shadow: { ...shadow, keep_texts: true } }),
    single('limited', { shadow: { ...shadow, tenant: 'poor' } }),
    single('redacted', { shadow, guardrails: ['secrets'] }),
  ],
  guardrails: [{ name: 'secrets', stage: 'input', endpoint: sidecar.url, redact: true }],
  rate_limits: {
    default: PLENTY,
    tenants: [{ tenant: 'poor', requests_per_minute: 1, burst: 1 }],
  },
})
const placed = await startFront({
  upstreams,
  routes: [single('chat', { shadow })],
  tenants: [{ name: 'acme', requires: { region: 'eu' } }],
})
after(async () => {
  await Promise.all([front.process.stop(), placed.process.stop()])
  await Promise.all([up.close(), fresh.close(), sidecar.close()])
})

function begin(reply: Reply = answering): void {
  for (const upstream of [up, fresh]) {
    upstream.asked.length = 0
    upstream.reply = answering
  }
  fresh.reply = reply
}

const copies = (of: Front, route: string, result: string) =>
  of.value(`gw_shadow_requests_total{route="${route}",result="${result}"}`)

interface Shadow {
  readonly route: string
  readonly copies: Readonly<Record<string, number>>
  readonly differences: Readonly<Record<string, number>>
  readonly real: { readonly answers: number; readonly failed: number }
  readonly last: readonly {
    readonly differs: readonly string[]
    readonly real: { readonly text?: string }
    readonly shadow: { readonly text?: string }
  }[]
}

async function shadowOf(route: string): Promise<Shadow> {
  const { shadows }: { shadows: Shadow[] } = await front.admin('/shadows')
  const found = shadows.find((one) => one.route === route)
  assert.ok(found)
  return found
}

test('a request and a stream are copied behind their answers, and the tenant of the shadow pays', async () => {
  begin()
  const before = (await shadowOf('chat')).real.answers
  assert.equal((await front.chat()).status, 200)
  assert.equal((await front.stream()).status, 200)
  await until('both copies', async () => (await shadowOf('chat')).real.answers === before + 2)
  assert.deepEqual(fresh.asked.map(({ body }) => [body.model, body.stream === true]).toSorted(), [
    ['gpt-4o', false],
    ['gpt-4o', true],
  ])
  const { rows } = await front.admin('/usage?by=tenant,upstream')
  const billed = rows.map(({ by }: { by: { tenant: string; upstream: string } }) => [
    by.tenant,
    by.upstream,
  ])
  assert.deepEqual(billed.toSorted(), [
    ['acme', 'up'],
    ['shadow-eval', 'new'],
  ])
  // A busy machine may delay one of the answers.
  const { latency: _, ...others } = (await shadowOf('chat')).differences
  assert.deepEqual(others, {})
})

test('a shadow that fails or hangs changes neither an answer nor the state of the route', async () => {
  const { promise: hanging, resolve: end } = Promise.withResolvers<void>()
  for (const reply of [failing(500), later(hanging, answering)]) {
    begin(reply)
    for (let count = 0; count < 5; count++) assert.equal((await front.chat()).status, 200)
    await until('the copies', () => fresh.asked.length === 5)
  }
  end()
  assert.equal(await front.value('gw_upstream_breaker_state{upstream="up"}'), 0)
  assert.equal(await front.value('gw_requests_in_flight{route="chat"}'), 0)
  const { differences } = await shadowOf('chat')
  assert.equal(differences.status, 5)
})

test('copies beyond the bound are dropped, and no client waits', async () => {
  const { promise: hanging, resolve: end } = Promise.withResolvers<void>()
  begin(later(hanging, answering))
  const before = await copies(front, 'chat', 'ok')
  const asked = Array.from({ length: 60 }, () => front.chat())
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
  await until('a dropped copy', async () => (await copies(front, 'chat', 'busy')) > 0)
  assert.ok(fresh.asked.length <= 32)
  end()
  const sent = fresh.asked.length
  await until('the end', async () => (await copies(front, 'chat', 'ok')) >= before + sent)
})

test('copies that the limits of the shadow refuse are counted, and clients get their answers', async () => {
  begin()
  for (let count = 0; count < 3; count++)
    assert.equal((await front.chat({ model: 'limited' })).status, 200)
  await until('two refusals', async () => (await copies(front, 'limited', 'refused')) === 2)
  await until('the one copy', async () => (await copies(front, 'limited', 'ok')) === 1)
  assert.equal(fresh.asked.length, 1)
})

test('the shadow gets what guardrails have left of a request, and nothing of a blocked one', async () => {
  begin()
  const ask = (content: string) =>
    front.chat({ model: 'redacted', messages: [{ role: 'user', content }] })
  assert.equal((await ask('my secret-1')).status, 200)
  assert.equal((await ask('forbidden')).status, 400)
  assert.equal((await ask('hello')).status, 200)
  await until('two copies', async () => (await copies(front, 'redacted', 'ok')) === 2)
  assert.equal(fresh.asked.length, 2)
  for (const { text } of fresh.asked) assert.doesNotMatch(text, /secret-1|forbidden/)
})

test('a request of a tenant that requires labels is not copied to an upstream without them', async () => {
  begin()
  assert.equal((await placed.chat()).status, 200)
  await until('the count', async () => (await copies(placed, 'chat', 'not_placed')) === 1)
  assert.equal(fresh.asked.length, 0)
})

test('both texts of a difference are kept only with keep_texts', async () => {
  begin(whole('a quite different and much longer answer'.repeat(20)))
  for (const model of ['chat', 'texts']) {
    assert.equal((await front.chat({ model })).status, 200)
    await until(
      'the difference',
      async () => (await shadowOf(model)).last[0]?.differs[0] === 'length',
    )
  }
  const [kept] = (await shadowOf('texts')).last
  assert.match(kept?.real.text ?? '', /hello/)
  assert.match(kept?.shadow.text ?? '', /a quite different/)
  const [other] = (await shadowOf('chat')).last
  assert.deepEqual([other?.real.text, other?.shadow.text], [undefined, undefined])
})
