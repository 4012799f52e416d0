/** The public price list in LiteLLM's form: its entries by model, as prices of the gateway. */
import { readFileSync } from 'node:fs'
import { parseExactly } from '../../dataplane/json/parse.ts'
import { isRecord } from '../../dataplane/json/values.ts'
import { type Price, perMillion, usd } from './decimal.ts'

/** The list has some 3 MB. */
const BYTES_MAX = 64 * 1024 * 1024

/** The prices of one model or tier, by the names of `pricing[]`. */
export type Prices = Readonly<Record<string, number>>

export interface ListedTier {
  readonly above: number
  readonly prices: Prices
}

export interface ListedPrices {
  readonly prices: Prices
  readonly tiers: readonly ListedTier[]
}

export type Entry = ListedPrices | { readonly fault: string }

export interface PriceList {
  has(name: string): boolean
  /** undefined if the list has no such entry. */
  entry(name: string): Entry | undefined
}

/** Fields of the list for prices of ours, in our order. */
const FIELDS: readonly (readonly [listed: string, field: string])[] = [
  ['input_cost_per_token', 'input'],
  ['output_cost_per_token', 'output'],
  ['cache_read_input_token_cost', 'cached_input'],
  ['cache_creation_input_token_cost', 'cache_write'],
  ['cache_creation_input_token_cost_above_1hr', 'cache_write_1h'],
  ['output_cost_per_reasoning_token', 'reasoning_output'],
]
const SEARCH = 'input_cost_per_query'
const TIER = /^(.+)_above_(\d{1,6})k_tokens$/
/** Operations whose answers have no tokens. */
const WITHOUT_OUTPUT: readonly unknown[] = ['embedding', 'rerank']
/** Prices of other units, with the unit. */
const OTHER_UNITS: readonly (readonly [end: RegExp, unit: string])[] = [
  [/_per_(audio_)?second/, 'second'],
  [/_per_character/, 'character'],
  [/_per_(image|pixel)/, 'picture'],
]

/** `path`: `-` is standard input. Throws a sentence if it is no such list. */
export function readPriceList(path: string): PriceList {
  const tree = treeOf(path, textOf(path))
  const entries = new Map(Object.entries(tree))
  return {
    has: (name) => entries.has(name),
    entry(name) {
      const found = entries.get(name)
      if (found === undefined) return undefined
      return isRecord(found) ? entryOf(found) : { fault: 'the entry is not an object' }
    },
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw new Error(`cannot read ${path}: ${error instanceof Error ? error.message : error}`, {
      cause: error,
    })
  }
}

function treeOf(path: string, text: string): Record<string, unknown> {
  const form = 'Give the JSON object of model_prices_and_context_window.json.'
  if (text.length > BYTES_MAX) throw new Error(`${path} has more than 64 MiB. ${form}`)
  let tree: unknown
  try {
    tree = parseExactly(text.replace(/^\uFEFF/, ''), true)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${path} is not JSON: ${reason}. ${form}`)
  }
  if (!isRecord(tree)) throw new Error(`${path} is not a price list. ${form}`)
  return tree
}

export function entryOf(entry: Readonly<Record<string, unknown>>): Entry {
  const prices: Record<string, number> = {}
  for (const [listed, field] of FIELDS) {
    const fault = put(prices, field, entry[listed], listed, perMillion)
    if (fault !== undefined) return { fault }
  }
  const isRanking = entry.mode === 'rerank'
  const fault = isRanking ? put(prices, 'search', entry[SEARCH], SEARCH, usd) : undefined
  if (fault !== undefined) return { fault }
  if (isRanking && prices.search !== undefined) prices.input ??= 0
  if (WITHOUT_OUTPUT.includes(entry.mode)) prices.output ??= 0
  const missing = ['input', 'output'].find((field) => prices[field] === undefined)
  if (missing !== undefined) return { fault: missingFault(entry, missing) }
  const { input = 0, output = 0, ...rest } = prices
  const tiers = tiersOf(entry)
  return 'fault' in tiers ? tiers : { prices: { input, output, ...rest }, tiers: tiers.tiers }
}

/** Returns the fault of the value, if it has one. Null means absent, as in the list. */
function put(
  prices: Record<string, number>,
  field: string,
  value: unknown,
  listed: string,
  read: (value: unknown) => Price,
): string | undefined {
  if (value == null) return undefined
  const price = read(value)
  if ('fault' in price) return `${listed} ${price.fault}`
  prices[field] = price.amount
  return undefined
}

function missingFault(entry: Readonly<Record<string, unknown>>, field: string): string {
  const names = Object.keys(entry)
  const other = OTHER_UNITS.find(([end]) => names.some((name) => end.test(name)))
  const why = other === undefined ? '' : `; the entry has a price for each ${other[1]}`
  return `${field}_cost_per_token is missing${why}`
}

function tiersOf(
  entry: Readonly<Record<string, unknown>>,
): { tiers: readonly ListedTier[] } | { fault: string } {
  const byLength = new Map<number, Record<string, number>>()
  for (const [name, value] of Object.entries(entry)) {
    const [, listed, thousands] = TIER.exec(name) ?? []
    const field = FIELDS.find(([its]) => its === listed)?.[1]
    if (field === undefined) continue
    const above = Number(thousands) * 1000
    const prices = byLength.get(above) ?? {}
    const fault = put(prices, field, value, name, perMillion)
    if (fault !== undefined) return { fault }
    if (Object.keys(prices).length > 0) byLength.set(above, prices)
  }
  const tiers = [...byLength].map(([above, prices]) => ({ above, prices: inOrder(prices) }))
  return { tiers: tiers.toSorted((one, other) => one.above - other.above) }
}

function inOrder(prices: Prices): Prices {
  return Object.fromEntries(
    FIELDS.flatMap(([, field]) => (prices[field] === undefined ? [] : [[field, prices[field]]])),
  )
}
