/** An admitted request holds its share until it is settled; a refusal has the tenant's figures. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../../../dataplane/accounts/store.ts'
import { GatewayError } from '../../../../dataplane/base/errors.ts'
import type { Gateway } from '../../../../dataplane/gateway/gateway.ts'
import { chargeRefused, chargeRequest, refuseKnown } from '../../../../dataplane/limits/decision.ts'
import { type Admission, admit } from '../../../../dataplane/request/stages/admit.ts'
import { settle } from '../../../../dataplane/request/stages/settle.ts'
import { aRequest } from '../../../helpers/providers/a-request.ts'
import { assemble } from '../../assembled-gateway.ts'
import { KEY } from './keys.ts'

type Fields = Readonly<Record<string, unknown>>

const UPSTREAMS = ['large', 'small'].map((name) => ({
  name,
  provider: 'openai',
  endpoint: 'http://127.0.0.1:1',
  model: name,
  context_window: name === 'large' ? 1000 : 400,
}))
const ROUTES = [
  { name: 'chat', strategy: 'single', primary: 'large', timeout_seconds: 30 },
  { name: 'cheap', strategy: 'single', primary: 'small', max_tokens_default: 50 },
]
const RATE = { requests_per_minute: 60, burst: 2, concurrent_requests: 10 }

function assembled(limits: Fields = {}, wrap?: (store: Store) => Store) {
  const gw = { upstreams: UPSTREAMS, routes: ROUTES, rate_limits: { default: RATE }, ...limits }
  return assemble(gw, wrap)
}

/** The request of tenant `acme` with this id. */
function applicant(gateway: Gateway, id: string, members: Fields = {}, route = 'chat') {
  const { snapshot } = gateway.active
  const found = snapshot.routes.get(route) ?? assert.fail(route)
  return {
    call: { id, receivedAt: gateway.clock.now() },
    request: aRequest(members),
    caller: { key: KEY, tenant: 'acme' },
    route: found,
    rules: snapshot.limits.rules.of('acme'),
  }
}

function admitted(gateway: Gateway, id: string, members?: Fields, route?: string): Admission {
  const made = admit(applicant(gateway, id, members, route), gateway.active, gateway)
  assert.ok(!(made instanceof Promise), 'a store in this process answers at once')
  return made
}

function refusal(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return error
  }
  return assert.fail('It was admitted.')
}

const series = (gateway: Gateway, name: 'admitted' | 'inFlight' | 'downgrades' | 'tokens') =>
  [...gateway.metrics[name].entries()].map(([labels, { value }]) => ({ ...labels, value }))

test("an admission has its route, the tenant's figures, and the deadline of the request", () => {
  const { gateway, clock } = assembled()
  const admission = admitted(gateway, 'a')
  assert.equal(admission.route.name, 'chat')
  assert.equal(admission.lane, gateway.active.lanes.get('chat'))
  assert.equal(admission.totalAt, clock.now() + 30_000)
  assert.equal(admission.maxTokens, undefined)
  assert.equal(admission.yields, false)
  assert.deepEqual(admission.limitHeaders, {
    'X-Gw-RateLimit-Limit': '60',
    'X-Gw-RateLimit-Remaining': '1',
    'X-Gw-RateLimit-Reset': '1',
    'x-ratelimit-limit-requests': '60',
    'x-ratelimit-remaining-requests': '1',
    'x-ratelimit-reset-requests': '1s',
  })
  assert.deepEqual(series(gateway, 'admitted'), [{ tenant: 'acme', value: 1 }])
  assert.deepEqual(series(gateway, 'inFlight'), [{ route: 'chat', value: 1 }])
})

test('a tenant above its rate is refused with its figures, and the next time without the store', () => {
  let asked = 0
  const { gateway, clock } = assembled({}, (store) => {
    const { admit: decide } = store
    store.admit = (request) => {
      asked++
      return decide.call(store, request)
    }
    return store
  })
  admitted(gateway, 'a')
  admitted(gateway, 'b')
  const error = refusal(() => admitted(gateway, 'c'))
  assert.equal(error.code, 'ERR_GW_RATE_LIMIT_LOCAL')
  assert.equal(error.details.learnt?.limit, 'rpm')
  assert.equal(error.details.learnt?.limitHeaders?.['X-Gw-RateLimit-Remaining'], '0')
  assert.equal(asked, 3)

  const rules = gateway.active.snapshot.limits.rules.of('acme')
  const known = refusal(() => refuseKnown('acme', rules, gateway))
  assert.deepEqual(known.details.learnt, error.details.learnt)
  assert.equal(asked, 3)
  clock.pass(1000)
  refuseKnown('acme', rules, gateway)
  admitted(gateway, 'd')
})

test('a refused request is in no gauge and holds nothing', () => {
  const { gateway } = assembled({ rate_limits: { default: { ...RATE, concurrent_requests: 1 } } })
  const admission = admitted(gateway, 'a')
  assert.equal(refusal(() => admitted(gateway, 'b')).details.learnt?.limit, 'concurrency')
  assert.deepEqual(series(gateway, 'inFlight'), [{ route: 'chat', value: 1 }])
  settle(aRequest(), admission, gateway)
  admitted(gateway, 'c')
})

test('a prompt above the largest context window is refused before the store is asked', () => {
  const { gateway } = assembled()
  const messages = [{ role: 'user', content: 'many words '.repeat(1000) }]
  const error = refusal(() => admitted(gateway, 'a', { messages }))
  assert.equal(error.code, 'ERR_GW_CONTEXT_OVERFLOW')
  assert.equal(error.details.learnt, undefined)
  assert.deepEqual(series(gateway, 'admitted'), [])
})

const BUDGET = { tenant: 'acme', tokens_per_day: 1000 }

test('a spent budget is refused with its remainder, and no limit of the rate is named', () => {
  const { gateway } = assembled({ budgets: [BUDGET] })
  const admission = admitted(gateway, 'a')
  spend(admission, 1000)
  settle(aRequest(), admission, gateway)
  const error = refusal(() => admitted(gateway, 'b'))
  assert.equal(error.code, 'ERR_GW_BUDGET_EXCEEDED')
  const { limit, limitHeaders } = error.details.learnt ?? {}
  assert.equal(limit, undefined)
  assert.equal(limitHeaders?.['X-Gw-Budget-Tokens-Remaining'], '0')
})

test('a spent budget with a downgrade route is served there', () => {
  const budget = { ...BUDGET, on_exceeded: 'downgrade', downgrade_route: 'cheap' }
  const { gateway } = assembled({ budgets: [budget] })
  const admission = admitted(gateway, 'a')
  spend(admission, 1000)
  settle(aRequest(), admission, gateway)
  const downgraded = admitted(gateway, 'b')
  assert.equal(downgraded.route.name, 'cheap')
  assert.equal(downgraded.maxTokens, 50)
  assert.deepEqual(series(gateway, 'downgrades'), [{ tenant: 'acme', route: 'cheap', value: 1 }])
  const [target] = gateway.active.lanes.get('cheap')?.targets ?? []
  assert.equal(target && downgraded.fits(target), true)
})

test('the stage waits for a store that answers later, and an unavailable one is the refusal', async () => {
  const later = assembled({}, (store) => {
    const { admit: decide } = store
    store.admit = async (request) => decide.call(store, request)
    return store
  })
  const made = admit(applicant(later.gateway, 'a'), later.gateway.active, later.gateway)
  assert.ok(made instanceof Promise)
  assert.equal((await made).route.name, 'chat')

  const lost = new GatewayError('ERR_GW_LIMITER_UNAVAILABLE', 'away')
  const away = assembled({}, (store) => {
    store.admit = () => Promise.reject(lost)
    return store
  })
  const never = admit(applicant(away.gateway, 'a'), away.gateway.active, away.gateway)
  await assert.rejects(async () => never, lost)
  assert.deepEqual(series(away.gateway, 'inFlight'), [])
})

test('a large body that is refused costs its tenant one request of its rate', async () => {
  const { gateway } = assembled()
  const rules = gateway.active.snapshot.limits.rules.of('acme')
  for (const id of ['a', 'b']) await chargeRefused({ tenant: 'acme', id }, rules, gateway)
  refuseKnown('acme', rules, gateway)
  await chargeRefused({ tenant: 'acme', id: 'c' }, rules, gateway)
  assert.equal(refusal(() => refuseKnown('acme', rules, gateway)).details.learnt?.limit, 'rpm')
})

test('a charge of the rate needs no slot and no budget, and is refused by the rate alone', async () => {
  const rate = { requests_per_minute: 60, burst: 4, concurrent_requests: 2 }
  const budgets = [{ ...BUDGET, tokens_per_day: 1_000_000 }]
  const { gateway } = assembled({ rate_limits: { default: rate }, budgets })
  const rules = gateway.active.snapshot.limits.rules.of('acme')
  const charge = (id: string) => chargeRequest({ tenant: 'acme', id }, rules, gateway)
  const first = admitted(gateway, 'a')
  admitted(gateway, 'b')
  await charge('c')
  assert.equal(refusal(() => admitted(gateway, 'd')).details.learnt?.limit, 'concurrency')
  spend(first, 1_000_000)
  settle(aRequest(), first, gateway)
  assert.equal(refusal(() => admitted(gateway, 'e')).code, 'ERR_GW_BUDGET_EXCEEDED')
  refuseKnown('acme', rules, gateway, true)
  assert.equal(refusal(() => refuseKnown('acme', rules, gateway)).code, 'ERR_GW_BUDGET_EXCEEDED')
  await charge('f')
  await assert.rejects(charge('g'), { code: 'ERR_GW_RATE_LIMIT_LOCAL' })
  assert.throws(() => refuseKnown('acme', rules, gateway, true), {
    code: 'ERR_GW_RATE_LIMIT_LOCAL',
  })
})

test('settling returns the holds, counts the tokens of each attempt, and returns their sum', () => {
  const { gateway } = assembled({ budgets: [BUDGET] })
  const admission = admitted(gateway, 'a')
  spend(admission, 30)
  const second = admission.meter.begin('small', 'small')
  second.contentEvents = 5
  const [settled, seen] = settle(aRequest(), admission, gateway)
  const prompt = seen?.usage.promptTokens ?? 0
  assert.partialDeepStrictEqual(settled, {
    attempt: 0,
    usage: { promptTokens: 10, completionTokens: 20, estimated: false },
  })
  assert.partialDeepStrictEqual(seen, {
    attempt: 1,
    usage: { completionTokens: 5, estimated: true },
  })
  assert.ok(prompt > 0, 'the prompt of a stream without usage is estimated')
  assert.deepEqual(series(gateway, 'inFlight'), [{ route: 'chat', value: 0 }])
  assert.deepEqual(series(gateway, 'tokens'), [
    { route: 'chat', upstream: 'large', kind: 'prompt', value: 10 },
    { route: 'chat', upstream: 'large', kind: 'completion', value: 20 },
    { route: 'chat', upstream: 'small', kind: 'prompt', value: prompt },
    { route: 'chat', upstream: 'small', kind: 'completion', value: 5 },
  ])
  assert.equal(
    admitted(gateway, 'b').limitHeaders['X-Gw-Budget-Tokens-Remaining'],
    `${1000 - 35 - prompt}`,
  )
})

test('a request that no upstream took is settled without usage', () => {
  const { gateway } = assembled()
  const admission = admitted(gateway, 'a')
  admission.meter.begin('large', 'large')
  assert.deepEqual(settle(aRequest(), admission, gateway), [])
  assert.deepEqual(series(gateway, 'tokens'), [])
})

/** As an upstream would report it: ten tokens of the prompt, the rest of the answer. */
function spend({ meter }: Admission, tokens: number): void {
  meter.begin('large', 'large').usage = {
    promptTokens: 10,
    completionTokens: tokens - 10,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  }
}
