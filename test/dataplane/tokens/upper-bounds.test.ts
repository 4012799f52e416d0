/** A prompt that fits by its upper bound is not counted; if the bound does not fit, counts decide. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GatewayError } from '../../../dataplane/base/errors.ts'
import type { Admission } from '../../../dataplane/request/stages/admit.ts'
import { countLate, settle } from '../../../dataplane/request/stages/settle.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'
import { aCountedGateway, aCounter } from './counted-routes.ts'

/** More bytes than the windows of these tests have tokens. */
const LONG = { messages: [{ role: 'user', content: 'many words '.repeat(200) }] }
const LIMITED = { ...LONG, max_tokens: 10 }

async function refusal(run: () => unknown): Promise<GatewayError> {
  let made: unknown
  try {
    made = await run()
  } catch (error) {
    return error as GatewayError
  }
  return assert.fail(`It was admitted: ${made}`)
}

function finish(admission: Admission, usage?: { prompt: number; completion: number }): number {
  const attempt = admission.meter.begin('chat-0', 'm')
  attempt.contentEvents = 5
  if (usage !== undefined)
    attempt.usage = {
      promptTokens: usage.prompt,
      completionTokens: usage.completion,
      cachedTokens: 0,
      reasoningTokens: 0,
      estimated: false,
    }
  return admission.lease.used().tokens
}

test('a prompt that fits budget and windows by its upper bound is not counted, and is admitted at once', () => {
  const counter = aCounter(40, true, 90)
  const { admit } = aCountedGateway({ chat: [{ window: 100, counter }] }, { budgeted: true })
  const admission = admit(LIMITED)
  assert.ok(!(admission instanceof Promise), 'it waits for no count')
  assert.deepEqual([counter.asked, admission.lease.held.tokens], [0, 90 + 10])
  assert.deepEqual([admission.counted, admission.countedBy], [90, 'upper bound'])
  assert.equal(admission.lane.targets.every(admission.fits), true)
})

test('a prompt is counted if its upper bound does not fit a window, and otherwise not', async () => {
  const counter = aCounter(40, true, 91)
  const other = aCounter(40, true, 90)
  const upstreams = [
    { window: 100, counter },
    { window: 100, counter: other },
  ]
  for (const budgeted of [false, true]) {
    const { admit } = aCountedGateway({ chat: upstreams }, { budgeted })
    const { countedBy, fits, lane } = await admit(LIMITED)
    assert.deepEqual([countedBy, lane.targets.every(fits)], ['exact', true])
  }
  assert.equal(counter.asked, 2)
  const alone = aCounter(40, true, 90)
  const { admit } = aCountedGateway({ chat: [{ window: 100, counter: alone }] })
  assert.equal(admit(LIMITED) instanceof Promise, false)
  assert.equal(alone.asked, 0)
})

test('a limit of the route that does not fit the upper bound is sent as the count allows', async () => {
  for (const [most, asked] of [
    [60, 0],
    [80, 1],
  ] as const) {
    const counter = aCounter(50, true, most)
    const { admit } = aCountedGateway(
      { chat: [{ window: 100, counter }] },
      { budgeted: true, written: 40 },
    )
    const { maxTokens } = await admit(LONG)
    assert.deepEqual([maxTokens, counter.asked], [40, asked])
  }
})

test('a prompt above every window is refused by its count, as if no bound were known', async () => {
  const counter = aCounter(95, true, 2000)
  const { admit } = aCountedGateway({ chat: [{ window: 100, counter }] }, { budgeted: true })
  const { code, details } = await refusal(() => admit(LIMITED))
  assert.deepEqual([code, details.facts?.prompt_tokens], ['ERR_GW_CONTEXT_OVERFLOW', 95])
  assert.deepEqual(details.counted, { tokens: 95, exact: true })
})

test('a budget that only upper bounds fill is counted again, and admits', async () => {
  const counter = aCounter(40, true, 900)
  const { admit, gateway } = aCountedGateway({ chat: [{ window: 10_000, counter }] }, { cap: 1000 })
  const first = await admit(LIMITED)
  const second = await admit({ ...LIMITED, max_tokens: 91 })
  assert.equal(counter.asked, 0, 'the first leaves 90 tokens')
  assert.deepEqual([first.lease.held.tokens, second.lease.held.tokens], [910, 991])
  const third = await admit(LIMITED)
  assert.equal(counter.asked, 2, 'those that run')
  assert.deepEqual([first.lease.held.tokens, second.lease.held.tokens], [50, 131])
  const rules = gateway.active.snapshot.limits.rules.of('acme')
  const { tokens } = await gateway.store.read('acme', rules)
  assert.equal(tokens?.reserved, 50 + 131 + third.lease.held.tokens)
})

test('a full budget is refused with the holds of its requests by their counts', async () => {
  const counter = aCounter(40, true, 900)
  const { admit } = aCountedGateway({ chat: [{ window: 10_000, counter }] }, { cap: 1000 })
  await admit({ ...LIMITED, max_tokens: 500 })
  const { code, details } = await refusal(async () => {
    await admit({ ...LIMITED, max_tokens: 500 })
    return admit(LIMITED)
  })
  assert.equal(code, 'ERR_GW_RATE_LIMIT_LOCAL')
  assert.deepEqual([details.facts?.reason, details.facts?.reserved], ['budget_reserved', 1080])
})

test('a token rate that does not fit an upper bound needs the count', async () => {
  const counter = aCounter(40, true, 900)
  const { admit } = aCountedGateway(
    { chat: [{ window: 10_000, counter }] },
    { cap: 1_000_000, perMinute: 1000 },
  )
  const first = await admit(LIMITED)
  const second = await admit(LIMITED)
  assert.equal(counter.asked, 2)
  assert.deepEqual([first.lease.held.tokens, second.lease.held.tokens], [50, 50])
  assert.equal(second.limitHeaders['x-ratelimit-remaining-tokens'], '900')
})

test('a downgrade route uses the upper bound, too', async () => {
  const counter = aCounter(40, true, 90)
  const { admit, gateway } = aCountedGateway(
    { chat: [{ window: 1000, counter }], small: [{ window: 500, counter }] },
    { downgrade: 'small', cap: 100 },
  )
  const first = await admit(LIMITED)
  finish(first, { prompt: 50, completion: 60 })
  settle(aRequest(LIMITED), first, gateway)
  const { route, countedBy } = await admit(LIMITED)
  assert.deepEqual([route.name, countedBy, counter.asked], ['small', 'upper bound', 0])
})

test('an answer without reported usage is charged the count of its prompt', async () => {
  const counter = aCounter(40, true, 900)
  const { admit, gateway } = aCountedGateway({ chat: [{ window: 10_000, counter }] }, { cap: 9000 })
  const silent = await admit(LIMITED)
  finish(silent)
  await countLate(aRequest(LIMITED), silent)
  const [charge] = settle(aRequest(LIMITED), silent, gateway)
  assert.deepEqual([charge?.usage.promptTokens, charge?.usage.completionTokens], [40, 5])
  const reporting = await admit(LIMITED)
  finish(reporting, { prompt: 41, completion: 7 })
  await countLate(aRequest(LIMITED), reporting)
  assert.equal(settle(aRequest(LIMITED), reporting, gateway)[0]?.usage.promptTokens, 41)
  assert.equal(counter.asked, 1)
})

test('a route with estimates learns only from the estimate', async () => {
  const counter = aCounter(40, true, 5000)
  const { admit } = aCountedGateway(
    { chat: [{ window: 10_000, counter }, { window: 10_000 }] },
    { budgeted: true },
  )
  const { estimated, countedBy } = await admit(LIMITED)
  assert.equal(countedBy, 'upper bound')
  assert.ok(estimated !== undefined && estimated < 5000)
})
