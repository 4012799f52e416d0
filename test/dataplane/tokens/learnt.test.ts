/** Holds for estimated prompts follow the real counts of upstreams, and stay large enough for budgets. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { admit } from '../../../dataplane/request/stages/admit.ts'
import { settle } from '../../../dataplane/request/stages/settle.ts'
import { estimatePromptTokens } from '../../../dataplane/tokens/count.ts'
import { Learnt } from '../../../dataplane/tokens/learnt.ts'
import type { ModelRequest } from '../../../dataplane/wire/inner-form.ts'
import { aRequest } from '../../helpers/providers/a-request.ts'
import { aRandom } from '../../helpers/random.ts'
import { assemble } from '../assembled-gateway.ts'

/** The license never changes, so the result of this test does not either. */
const LICENSE = readFileSync(join(import.meta.dirname, '../../../LICENSE'), 'utf8')
const PROSE = LICENSE.replace(/\s+/g, ' ')
const CODE = `
/** Returns the sum of all items with their taxes; an item without a price is an error of the caller. */
export function totalOf(items: readonly Item[], taxes: ReadonlyMap<string, number>): number {
  let total = 0
  for (const { name, price } of items) {
    if (price === undefined) throw new MissingPriceError(name)
    const tax = taxes.get(name) ?? DEFAULT_TAX
    total += price * (1 + tax)
  }
  return Math.round(total)
}
`.repeat(12)
const JSON_TEXT = JSON.stringify(
  Array.from({ length: 100 }, (_, id) => ({
    id,
    name: `item-${id * 7}`,
    tags: ['a', 'b'],
    at: null,
  })),
)
/** Each text with its share of a hundred requests. */
const MIX = [
  [70, PROSE],
  [15, CODE],
  [5, JSON_TEXT],
  [
    5,
    'Straßenbahnhaltestellen heißen auf Französisch anders, und das wundert niemanden. '.repeat(90),
  ],
  [5, '東京の天気は晴れです。明日は雨が降るでしょう。'.repeat(200)],
] as const
const REQUESTS = 1_000
const AT_ONCE = 32

interface Held {
  readonly hold: number
  readonly used: number
}

/** The holds and the usage of many requests of many lengths, one after the other. */
function held(mix: readonly (readonly [number, string])[], seed: number): Held[] {
  const random = aRandom(seed)
  const learnt = new Learnt()
  return Array.from({ length: REQUESTS }, () => {
    const text = textAt(random(100), mix)
    const length = 40 + Math.floor((random(1_000) / 1_000) ** 2 * 6_000)
    const from = random(Math.max(1, text.length - length))
    const content = text.slice(from, from + length)
    const request = {
      ...aRequest({ messages: [{ role: 'user', content }] }),
      sparse: isAscii(content),
    }
    const estimate = estimatePromptTokens(request)
    const used = countTokens(content) + 7
    const hold = learnt.held(request, estimate) ?? Math.max(estimate, request.promptTokensMax)
    learnt.note(request, estimate, used)
    return { hold, used }
  })
}

/** The text whose share of a hundred contains the number. */
function textAt(at: number, mix: readonly (readonly [number, string])[]): string {
  let end = 0
  for (const [percent, text] of mix) {
    end += percent
    if (at < end) return text
  }
  return PROSE
}

function isAscii(text: string): boolean {
  return [...text].every((character) => character < '\u{80}')
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0
}

for (const [name, mix] of [
  ['of one kind', [[100, PROSE]]],
  ['of five kinds', MIX],
] as const) {
  test(`the median hold of ${REQUESTS} prompts ${name} is within 15 % of its use`, () => {
    const off = held(mix, 7).map(({ hold, used }) => Math.abs(hold - used) / used)
    assert.ok(median(off) <= 0.15, `it is ${median(off)} off`)
  })

  test(`${AT_ONCE} prompts ${name} at once use at most one request more than the holds`, () => {
    for (const seed of [1, 2, 3]) {
      const all = held(mix, seed)
      for (let from = 0; from + AT_ONCE <= all.length; from++) {
        const running = all.slice(from, from + AT_ONCE)
        const over = running.reduce((sum, { hold, used }) => sum + used - hold, 0)
        assert.ok(over <= Math.max(...running.map(({ used }) => used)), `${over} over at ${from}`)
      }
    }
  })
}

test('a hold stays within half and twice the estimate, for any count of an upstream', () => {
  for (const [factor, bound] of [
    [0, undefined],
    [0.01, 0.5],
    [100, 2],
  ] as const) {
    const learnt = new Learnt()
    const request = aRequest({ messages: [{ role: 'user', content: PROSE.slice(0, 4_000) }] })
    for (let times = 0; times < 100; times++) learnt.note(request, 1_000, 1_000 * factor)
    const expected = bound === undefined ? undefined : 1_000 * bound
    assert.equal(learnt.held(request, 1_000), expected)
  }
})

test('bodies that are mostly pictures, and other operations, teach nothing', () => {
  const learnt = new Learnt()
  const url = `data:image/png;base64,${'A'.repeat(10_000)}`
  const content = [{ type: 'image_url', image_url: { url } }]
  const picture: ModelRequest = aRequest({ messages: [{ role: 'user', content }] })
  for (let times = 0; times < 100; times++) learnt.note(picture, 100, 150)
  assert.equal(learnt.held(aRequest(), 100), undefined)
  assert.equal(learnt.held(picture, 100), undefined)
})

test('a route holds less for an estimated prompt once its upstream has counted some', () => {
  const { gateway } = assemble({
    upstreams: [{ name: 'up', provider: 'openai', endpoint: 'http://127.0.0.1:1', model: 'm' }],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    budgets: [{ tenant: 'acme', tokens_per_day: 1_000_000 }],
  })
  const { snapshot } = gateway.active
  const route = snapshot.routes.get('chat') ?? assert.fail('There is no route "chat".')
  const rules = snapshot.limits.rules.of('acme')
  const caller = { tenant: 'acme', key: { record: { id: 'key' } } } as Parameters<
    typeof admit
  >[0]['caller']
  const request = aRequest({
    messages: [{ role: 'user', content: PROSE.slice(0, 4_000) }],
    max_tokens: 1,
  })
  const serveOnce = (id: string) => {
    const call = { id, receivedAt: gateway.clock.now() }
    const admission = admit({ call, request, caller, route, rules }, gateway.active, gateway)
    assert.ok(!(admission instanceof Promise))
    admission.meter.begin('up', 'm').usage = {
      promptTokens: 800,
      completionTokens: 1,
      cachedTokens: 0,
      reasoningTokens: 0,
      estimated: false,
    }
    settle(request, admission, gateway)
    return admission.lease.held.tokens
  }
  assert.ok(serveOnce('first') > 1_300)
  for (let times = 0; times < 10; times++) serveOnce(`r-${times}`)
  const last = serveOnce('last')
  assert.ok(last >= 801 && last <= 810, `${last} tokens are held`)
})
