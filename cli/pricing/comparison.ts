/** Compares the prices of a configuration with those of a price list. */
import { isRecord, listOf } from '../../dataplane/json/values.ts'
import type { ListedPrices, Prices } from './list.ts'
import type { ConfiguredModel, ListedModel } from './models.ts'

export interface PriceDifference {
  /** `input`, or `tiers[above 200000].input`. */
  readonly field: string
  readonly configured?: number | undefined
  readonly listed: number
}

export type Status = 'same' | 'differs' | 'no_price' | 'not_listed' | 'faulty'

export interface JudgedPrice {
  readonly model: string
  readonly upstreams: readonly string[]
  readonly status: Status
  /** The name of the entry in the list. */
  readonly entry?: string
  /** The origin that the row states. */
  readonly source?: string | undefined
  readonly as_of?: string | undefined
  readonly differences?: readonly PriceDifference[]
  /** Why the entry cannot be used. */
  readonly fault?: string
}

/** The price that applies if a row does not name the field. */
const FALLBACKS: Readonly<Record<string, string>> = {
  cached_input: 'input',
  cache_write: 'input',
  reasoning_output: 'output',
}

/** `listed`: undefined if the list has no entry, or if there is no list. */
export function judge(one: ConfiguredModel, listed: ListedModel | undefined): JudgedPrice {
  const { model, row } = one
  const { source, as_of } = row?.fields ?? {}
  const origin = { ...(source && { source }), ...(as_of && { as_of }) }
  const about = { model, upstreams: one.upstreams.map(({ name }) => name), ...origin }
  if (listed === undefined)
    return { ...about, status: row === undefined ? 'no_price' : 'not_listed' }
  const { name: entry } = listed
  if ('fault' in listed.entry)
    return { ...about, entry, status: 'faulty', fault: listed.entry.fault }
  if (row === undefined) return { ...about, entry, status: 'no_price' }
  const differences = differencesOf(row.fields, listed.entry)
  return differences.length === 0
    ? { ...about, entry, status: 'same' }
    : { ...about, entry, status: 'differs', differences }
}

/** Prices that the list does not have are the user's. */
export function differencesOf(
  row: Readonly<Record<string, unknown>>,
  { prices, tiers }: ListedPrices,
): PriceDifference[] {
  const own = tiersIn(row)
  return [
    ...differing(row, prices, ''),
    ...tiers.flatMap(({ above, prices: listed }) => {
      const tier = own.find((one) => one.above_input_tokens === above)
      const place = `tiers[above ${above}].`
      if (tier !== undefined) return differing({ ...row, ...tier }, listed, place)
      return Object.entries(listed).map(([field, value]) => ({
        field: `${place}${field}`,
        listed: value,
      }))
    }),
  ]
}

export function tiersIn(row: Readonly<Record<string, unknown>>): Record<string, unknown>[] {
  return listOf(row.tiers).filter(isRecord)
}

function differing(
  row: Readonly<Record<string, unknown>>,
  listed: Prices,
  place: string,
): PriceDifference[] {
  return Object.entries(listed).flatMap(([field, value]) => {
    const written = numberIn(row[field])
    if ((written ?? numberIn(row[FALLBACKS[field] ?? ''])) === value) return []
    return [{ field: `${place}${field}`, configured: written, listed: value }]
  })
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
