/** Usage as FOCUS has costs: one row for each kind of token, and in sum what was charged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { focusOf } from '../../cli/usage/focus.ts'
import type { Row, UsageAnswer } from '../../cli/usage/table.ts'

const NOTHING = {
  ...{ requests: 0, errors: 0, estimated: 0, input_tokens: 0, output_tokens: 0 },
  ...{
    cached_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    cache_gain_nano_usd: 0,
    cache_surcharge_nano_usd: 0,
    reasoning_tokens: 0,
    cost_nano_usd: 0,
  },
}
const BY = {
  ...{ day: '2026-12-31', tenant: 'acme', key: 'k1', route: 'chat', upstream: 'eu' },
  ...{ provider: 'openai', model: 'gpt', tags: 'team=blue,feature=a' },
}
const PRICE = {
  ...{ input: 10, cached_input: 1, cache_write: 12.5, cache_write_1h: 20 },
  ...{ output: 20, reasoning_output: 30 },
}

function aReport(rows: readonly (Partial<Omit<Row, 'by'>> & { by?: object })[]): UsageAnswer {
  const by = Object.keys(BY)
  const hour = '2026-12-31T12:00:00Z'
  const whole = rows.map((row) => ({ ...NOTHING, ...row, by: { ...BY, ...row.by } }))
  return { by, from: hour, to: hour, gateway: 'ai/production', prices: { gpt: PRICE }, rows: whole }
}

/** Fields by their column. */
function linesOf(csv: string): Record<string, string>[] {
  const [head = [], ...lines] = csv.split('\r\n').slice(0, -1).map(fieldsOf)
  return lines.map((line) => {
    assert.equal(line.length, head.length)
    return Object.fromEntries(head.map((name, index) => [name, line[index] ?? '']))
  })
}

function fieldsOf(line: string): string[] {
  const fields = line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g).map(([, text = '']) => text)
  return [...fields].slice(0, -1).map((text) => text.replace(/^"|"$/g, '').replaceAll('""', '"'))
}

const nanosOf = (lines: readonly Record<string, string>[]) =>
  lines.reduce((sum, { BilledCost = '' }) => sum + Math.round(Number(BilledCost) * 1e9), 0)

const USED = {
  ...{ requests: 3, input_tokens: 812, cached_tokens: 512, cache_write_tokens: 100 },
  ...{ output_tokens: 233, reasoning_tokens: 33, estimated: 1 },
}
const LISTED = 200 * 10_000 + 512 * 1_000 + 100 * 12_500 + 200 * 20_000 + 33 * 30_000

test('a row of usage is one row for each kind of token, at its listed price', () => {
  const csv = focusOf(aReport([{ ...USED, cost_nano_usd: LISTED + 2 }]))
  const lines = linesOf(csv)
  assert.equal(csv.split('\r\n')[0]?.split(',').length, 60)
  assert.deepEqual(
    lines.map((line) => [
      line.SkuMeter,
      line.ConsumedQuantity,
      line.PricingQuantity,
      line.ListUnitPrice,
    ]),
    [
      ['Input Tokens', '200', '0.0002', '10'],
      ['Cache Read Input Tokens', '512', '0.000512', '1'],
      ['Cache Write Input Tokens', '100', '0.0001', '12.5'],
      ['Output Tokens', '200', '0.0002', '20'],
      ['Reasoning Output Tokens', '33', '0.000033', '30'],
    ],
  )
  assert.equal(nanosOf(lines), LISTED + 2)
  assert.deepEqual(
    lines.map(({ x_Requests, x_Estimated }) => `${x_Requests} ${x_Estimated}`),
    ['3 1', '0 0', '0 0', '0 0', '0 0'],
  )
  const [first] = lines
  const expected = {
    ...{ BillingAccountId: 'ai/production', SubAccountId: 'acme', SubAccountType: 'Tenant' },
    ...{ ChargePeriodStart: '2026-12-31T00:00:00Z', ChargePeriodEnd: '2027-01-01T00:00:00Z' },
    ...{ BillingPeriodStart: '2026-12-01T00:00:00Z', BillingPeriodEnd: '2027-01-01T00:00:00Z' },
    ...{ ProviderName: 'openai', ResourceId: 'eu', ServiceName: 'chat', BillingCurrency: 'USD' },
    ...{
      SkuId: 'openai/gpt/input',
      SkuPriceDetails: '{"x_ModelId":"gpt"}',
      ConsumedUnit: 'Tokens',
    },
    ...{ Tags: '{"team":"blue","feature":"a"}', PricingUnit: '1000000 Tokens', x_KeyId: 'k1' },
  }
  for (const [name, value] of Object.entries(expected)) assert.equal(first?.[name], value, name)
})

test('a cost that the listed prices do not explain is still divided, to the nano-dollar', () => {
  for (const [row, kinds] of [
    [{ ...USED, cost_nano_usd: 3 * LISTED + 7 }, 5],
    [{ ...USED, cost_nano_usd: 1 }, 5],
    [{ ...USED, cost_nano_usd: 10, by: { model: 'unlisted' } }, 5],
    [{ requests: 4, cost_nano_usd: 8_000_000 }, 1],
    [{ requests: 4 }, 0],
  ] as const) {
    const lines = linesOf(focusOf(aReport([row])))
    assert.equal(lines.length, kinds)
    assert.equal(nanosOf(lines), 'cost_nano_usd' in row ? row.cost_nano_usd : 0)
  }
})

test('an hour is its own period, and a name that looks like a formula stays a text', () => {
  const by = { day: undefined, hour: '2026-12-31T23', tenant: '=cmd()', route: 'a,"b' }
  const [line] = linesOf(focusOf(aReport([{ ...USED, by }])))
  assert.deepEqual(
    [line?.ChargePeriodStart, line?.ChargePeriodEnd, line?.SubAccountId, line?.ServiceName],
    ['2026-12-31T23:00:00Z', '2027-01-01T00:00:00Z', "'=cmd()", 'a,"b'],
  )
  for (const tenant of ['\n=cmd()', '\uff1dcmd()', '\uff20sum', ' =cmd()']) {
    const [odd] = linesOf(focusOf(aReport([{ ...USED, by: { ...by, tenant } }])))
    assert.equal(odd?.SubAccountId, `'${tenant}`)
  }
})
