/** One row of usage as stores keep it: an hour of one tenant, key, route, upstream, model and set of tags. */

export const ROW_NAMES = ['tenant', 'key', 'route', 'upstream', 'model', 'tags'] as const

/** Line feeds join names. A caller's id may contain any character, so line feeds within a name are escaped. */
const ODD = /[\n\uffff]/g
const WRITTEN = /\uffff([ne])/g

export function joinedNames(names: readonly string[]): string {
  const name = names.join('\n')
  // One check of the whole name, which hardly ever has a further line feed.
  if (!name.includes('\uffff') && linesIn(name) === names.length) return name
  return names
    .map((one) => one.replace(ODD, (odd) => (odd === '\n' ? '\uffffn' : '\uffffe')))
    .join('\n')
}

export function namesIn(name: string): string[] {
  const names = name.split('\n')
  if (!name.includes('\uffff')) return names
  return names.map((one) => one.replace(WRITTEN, (_, kind) => (kind === 'n' ? '\n' : '\uffff')))
}

function linesIn(text: string): number {
  let lines = 1
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

export const AMOUNTS = [
  'requests',
  'errors',
  'input_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_nano_usd',
  'estimated',
  // At the end: rows of earlier releases have the ones above.
  'cache_write_1h_tokens',
  'cache_gain_nano_usd',
  'cache_surcharge_nano_usd',
] as const

export interface Amounts {
  /** Requests whose last attempt this was. */
  requests: number
  /** Requests that failed. */
  errors: number
  input_tokens: number
  /** Parts of the input. */
  cached_tokens: number
  cache_write_tokens: number
  output_tokens: number
  /** A part of the output. */
  reasoning_tokens: number
  cost_nano_usd: number
  /** Attempts whose upstream did not report its usage. */
  estimated: number
  /** A part of `cache_write_tokens`: kept for an hour. */
  cache_write_1h_tokens: number
  /** How much less than plain input was paid for what caches read, and how much more for what they wrote. */
  cache_gain_nano_usd: number
  cache_surcharge_nano_usd: number
}

export const NOTHING: Amounts = {
  requests: 0,
  errors: 0,
  input_tokens: 0,
  cached_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  cost_nano_usd: 0,
  estimated: 0,
  cache_write_1h_tokens: 0,
  cache_gain_nano_usd: 0,
  cache_surcharge_nano_usd: 0,
}

export interface Row extends Amounts {
  /** UTC, such as 2026-11-22T08; of a row for a whole day 2026-11-22. */
  readonly hour: string
  readonly tenant: string
  readonly key: string
  readonly route: string
  readonly upstream: string
  readonly model: string
  /** `team=blue,feature=search`, in the order of the configuration. */
  readonly tags: string
}

/** The first and last hour of a report, both included, such as 2026-11-22T08. */
export interface Span {
  readonly from: string
  readonly to: string
}

/** Rows of a span that several processes have counted. */
export interface SharedRows {
  /** The first hour of the rows; days are complete. */
  readonly from: string
  /** Rows by hour if all hours are kept, else by day. */
  readonly rows: AsyncIterable<Iterable<Row>>
  /** The first hour that was counted; undefined before the first request. */
  readonly since: string | undefined
}

/** Storage of usage rows outside the memory of the process. */
export interface KeptUsage {
  readonly in: 'redis' | 'state_dir' | 'memory'
  /** The sum of all replicas. Rejects while the store is away; absent if this process alone counts. */
  readonly read?: (span: Span, isByHour: boolean) => Promise<SharedRows>
}
