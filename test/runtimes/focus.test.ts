/** Usage as FOCUS, before the validator of the FinOps Foundation. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { focusOf } from '../../cli/usage/focus.ts'
import { brokenRules } from './focus-validator.ts'

const USED = {
  ...{ requests: 3, errors: 0, estimated: 1, input_tokens: 812, output_tokens: 233 },
  ...{
    cached_tokens: 512,
    cache_write_tokens: 100,
    cache_write_1h_tokens: 0,
    cache_gain_nano_usd: 0,
    cache_surcharge_nano_usd: 0,
    reasoning_tokens: 33,
  },
}
/** Searches alone have no tokens. */
const SEARCHED = {
  ...{ requests: 1, errors: 0, estimated: 0, input_tokens: 0, output_tokens: 0 },
  ...{
    cached_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    cache_gain_nano_usd: 0,
    cache_surcharge_nano_usd: 0,
    reasoning_tokens: 0,
    cost_nano_usd: 5_000_000,
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
const LISTED = 200 * 10_000 + 512 * 1_000 + 100 * 12_500 + 200 * 20_000 + 33 * 30_000

test('the validator finds no fault but that an invoice cannot be known', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gw-focus-'))
  const file = join(folder, 'usage.csv')
  const report = {
    ...{ by: Object.keys(BY), from: '2026-11-30T00:00:00Z', to: '2026-12-31T12:00:00Z' },
    ...{ gateway: 'ai/production', prices: { gpt: PRICE } },
    rows: [
      { by: BY, ...USED, cost_nano_usd: LISTED },
      { by: { ...BY, tenant: '=cmd()', model: 'a,"b"\nc', tags: '' }, ...SEARCHED },
      // The row of a model without a price today.
      { by: { ...BY, day: '2026-11-30', model: 'old' }, ...USED, cost_nano_usd: 123_456_789 },
    ],
  }
  await writeFile(file, focusOf(report))
  const broken = await brokenRules(file)
  await rm(folder, { recursive: true })
  assert.deepEqual(broken, ['InvoiceId-C-005-C'])
})
