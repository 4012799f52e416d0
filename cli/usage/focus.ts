/** Usage in the form of the FOCUS specification 1.2 of the FinOps Foundation: one row for each kind of token. */
import { cell, type Row, type UsageAnswer, usd } from './table.ts'

/** All columns of the specification, including those without a value. */
const COLUMNS = [
  ...['AvailabilityZone', 'BilledCost', 'BillingAccountId', 'BillingAccountName'],
  ...['BillingAccountType', 'BillingCurrency', 'BillingPeriodEnd', 'BillingPeriodStart'],
  ...['CapacityReservationId', 'CapacityReservationStatus', 'ChargeCategory', 'ChargeClass'],
  ...['ChargeDescription', 'ChargeFrequency', 'ChargePeriodEnd', 'ChargePeriodStart'],
  ...['CommitmentDiscountCategory', 'CommitmentDiscountId', 'CommitmentDiscountName'],
  ...['CommitmentDiscountQuantity', 'CommitmentDiscountStatus', 'CommitmentDiscountType'],
  ...['CommitmentDiscountUnit', 'ConsumedQuantity', 'ConsumedUnit', 'ContractedCost'],
  ...['ContractedUnitPrice', 'EffectiveCost', 'InvoiceId', 'InvoiceIssuerName', 'ListCost'],
  ...['ListUnitPrice', 'PricingCategory', 'PricingCurrency', 'PricingCurrencyContractedUnitPrice'],
  ...['PricingCurrencyEffectiveCost', 'PricingCurrencyListUnitPrice', 'PricingQuantity'],
  ...['PricingUnit', 'ProviderName', 'PublisherName', 'RegionId', 'RegionName', 'ResourceId'],
  ...['ResourceName', 'ResourceType', 'ServiceCategory', 'ServiceName', 'ServiceSubcategory'],
  ...['SkuId', 'SkuMeter', 'SkuPriceDetails', 'SkuPriceId', 'SubAccountId', 'SubAccountName'],
  ...['SubAccountType', 'Tags', 'x_KeyId', 'x_Requests', 'x_Estimated'],
]

const MILLION = 1_000_000

/** One kind of token in one row of usage. */
interface Charge {
  readonly meter: string
  readonly sku: string
  readonly quantity: number
  /** The present list price, in USD per million. */
  readonly price: number
  nanos: number
}

export function focusOf({ rows, prices = {}, gateway = 'gw' }: UsageAnswer): string {
  const lines = rows.flatMap((row) =>
    chargesOf(row, prices).map((charge, index) => {
      const values = { ...placeOf(row, gateway), ...costOf(row, charge), ...countsOf(row, index) }
      return COLUMNS.map((name) => cell(String(rowValue(values, name) ?? '')))
    }),
  )
  return [COLUMNS, ...lines].map((line) => `${line.join(',')}\r\n`).join('')
}

function rowValue(values: Readonly<Record<string, string | number>>, name: string) {
  return values[name]
}

/** Cached, written and reasoning tokens are parts of others, which are counted without them. */
function chargesOf(row: Row, prices: NonNullable<UsageAnswer['prices']>): Charge[] {
  const price = prices[row.by.model ?? '']
  const { input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens } = row
  const plain = Math.max(0, input_tokens - cached_tokens - cache_write_tokens)
  const hourly = row.cache_write_1h_tokens
  const minutes = Math.max(0, cache_write_tokens - hourly)
  const kinds: readonly [
    meter: string,
    sku: string,
    quantity: number,
    price: number | undefined,
  ][] = [
    ['Input Tokens', 'input', plain, price?.input],
    ['Cache Read Input Tokens', 'cache-read', cached_tokens, price?.cached_input],
    ['Cache Write Input Tokens', 'cache-write', minutes, price?.cache_write],
    ['Cache Write Input Tokens (1 Hour)', 'cache-write-1h', hourly, price?.cache_write_1h],
    ['Output Tokens', 'output', Math.max(0, output_tokens - reasoning_tokens), price?.output],
    ['Reasoning Output Tokens', 'reasoning', reasoning_tokens, price?.reasoning_output],
  ]
  const charges = kinds
    .map(([meter, sku, quantity, listed = 0]) => ({
      meter,
      sku,
      quantity,
      price: listed,
      nanos: 0,
    }))
    .filter(({ quantity }) => quantity > 0)
  return split(row.cost_nano_usd, charges)
}

/**
 * Each attempt rounded its cost up, perhaps by tiers or by an older price list. So the cost of the row is divided in
 * proportion to the list prices: the sum stays exactly what was charged.
 */
function split(nanos: number, charges: Charge[]): Charge[] {
  const last = charges.at(-1)
  if (last === undefined) return nanos > 0 ? [{ ...REQUESTS, nanos }] : []
  const whole = charges.reduce((sum, { quantity, price }) => sum + quantity * price, 0)
  let left = nanos
  for (const charge of charges) {
    const share = whole > 0 ? (charge.quantity * charge.price) / whole : 0
    charge.nanos = Math.min(left, Math.floor(nanos * share))
    left -= charge.nanos
  }
  const dearest = charges.reduce((one, other) => (other.nanos > one.nanos ? other : one), last)
  dearest.nanos += left
  return charges
}

/** Charges without a token, such as searches. */
const REQUESTS = { meter: 'Requests', sku: 'request', quantity: 0, price: 0 } as const

function placeOf({ by }: Row, gateway: string): Record<string, string> {
  const { tenant = '', route = '', upstream = '', provider = '', model = '' } = by
  const [start, end] = periodOf(by.hour ?? by.day ?? '')
  const [monthStart, monthEnd] = monthOf(start)
  return {
    ...{ BillingAccountId: gateway, BillingAccountName: gateway, BillingAccountType: 'Gateway' },
    ...{ SubAccountId: tenant, SubAccountName: tenant, SubAccountType: 'Tenant' },
    ...{ ChargePeriodStart: start, ChargePeriodEnd: end },
    ...{ BillingPeriodStart: monthStart, BillingPeriodEnd: monthEnd },
    ...{ ChargeCategory: 'Usage', ChargeFrequency: 'Usage-Based', PricingCategory: 'Standard' },
    ...{ BillingCurrency: 'USD', PricingCurrency: 'USD' },
    ...{ ProviderName: provider, PublisherName: provider, InvoiceIssuerName: provider },
    ...{ ResourceId: upstream, ResourceName: upstream, ResourceType: 'Upstream' },
    ...{ ServiceCategory: 'AI and Machine Learning', ServiceSubcategory: 'Generative AI' },
    ...{ ServiceName: route, SkuPriceDetails: JSON.stringify({ x_ModelId: model }) },
    Tags: JSON.stringify(tagsIn(by.tags ?? '')),
  }
}

function costOf({ by, requests }: Row, { meter, sku, quantity, price, nanos }: Charge) {
  const isOfTokens = meter !== REQUESTS.meter
  const cost = usd(nanos)
  const quantities = isOfTokens
    ? { consumed: quantity, unit: 'Tokens', priced: quantity / MILLION, per: '1000000 Tokens' }
    : { consumed: requests, unit: 'Requests', priced: requests, per: 'Requests' }
  const unitPrice = isOfTokens ? priceOf(nanos, quantity, price) : nanos / 1e9 / (requests || 1)
  const id = `${by.provider ?? ''}/${by.model ?? ''}/${sku}`
  return {
    ...{ BilledCost: cost, EffectiveCost: cost, ListCost: cost, ContractedCost: cost },
    ...{ ConsumedQuantity: quantities.consumed, ConsumedUnit: quantities.unit },
    ...{ PricingQuantity: decimal(quantities.priced), PricingUnit: quantities.per },
    ...{ ListUnitPrice: decimal(unitPrice), ContractedUnitPrice: decimal(unitPrice) },
    PricingCurrencyContractedUnitPrice: decimal(unitPrice),
    PricingCurrencyListUnitPrice: decimal(unitPrice),
    PricingCurrencyEffectiveCost: cost,
    ...{ SkuId: id, SkuPriceId: id, SkuMeter: meter },
    ChargeDescription: `${meter} of ${by.model ?? ''} at ${by.upstream ?? ''}`,
  }
}

/** USD per million: the listed price if it explains the cost to a nano-dollar a token, else the average price. */
function priceOf(nanos: number, quantity: number, listed: number): number {
  const expected = quantity * listed * 1000
  return Math.abs(expected - nanos) <= quantity ? listed : nanos / quantity / 1000
}

/** A request counts once, though its tokens are of several kinds. */
function countsOf({ by, requests, estimated }: Row, index: number) {
  const isFirst = index === 0
  return {
    x_KeyId: by.key ?? '',
    x_Requests: isFirst ? requests : 0,
    x_Estimated: isFirst ? estimated : 0,
  }
}

function tagsIn(tags: string): Record<string, string> {
  // Beyond the bound of rows, tags are counted together.
  const pairs = tags.split(',').filter((pair) => pair.includes('='))
  return Object.fromEntries(pairs.map((pair) => pair.split('=')))
}

/** A day or an hour of UTC; the end is exclusive. */
function periodOf(name: string): [start: string, end: string] {
  const isDay = name.length === 10
  const start = Date.parse(isDay ? `${name}T00:00:00Z` : `${name}:00:00Z`)
  return [isoOf(start), isoOf(start + (isDay ? 86_400_000 : 3_600_000))]
}

function monthOf(start: string): [start: string, end: string] {
  const day = new Date(start)
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()]
  return [isoOf(Date.UTC(year, month)), isoOf(Date.UTC(year, month + 1))]
}

function isoOf(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`
}

/** Without an exponent. */
function decimal(value: number): string {
  return value.toFixed(9).replace(/\.?0+$/, '')
}
