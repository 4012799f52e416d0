/** Rows of usage, added up by what is asked for. */
import type { Amounts, Row, UsageBook } from './book.ts'

const COLUMNS = ['tenant', 'key', 'route', 'upstream', 'model', 'tags', 'hour'] as const
const AMOUNTS = [
  'requests',
  'errors',
  'input_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_nano_usd',
  'estimated',
] as const satisfies readonly (keyof Amounts)[]

const TAG = 'tag:'
const BY_MAX = 8
const HOUR_MS = 3_600_000
const SINCE_HOURS = 168

export interface ReportRow extends Amounts {
  /** The values that the row is for, by the names that were asked for. */
  readonly by: Readonly<Record<string, string>>
}

export interface Report {
  readonly by: readonly string[]
  /** ISO 8601, whole hours of UTC; the last hour still counts. */
  readonly from: string
  readonly to: string
  /** Where the rows of this process begin; absent where it has none. */
  readonly kept_from: string | undefined
  readonly rows: readonly ReportRow[]
}

interface Asked {
  readonly by?: string | undefined
  readonly hours?: string | undefined
}

/** A sentence where what is asked for makes no sense. */
export function reportOf(book: UsageBook, asked: Asked, wallMs: number): Report | string {
  const by = (asked.by ?? 'tenant').split(',')
  const wrong = by.find((name) => columnOf(name) === undefined)
  if (wrong !== undefined || by.length > BY_MAX)
    return `Group by at most ${BY_MAX} of ${[...COLUMNS, 'day'].join(', ')}, tag:NAME.`
  const hours = Number(asked.hours ?? SINCE_HOURS)
  if (!Number.isInteger(hours) || hours < 1 || hours > 744)
    return 'Give a number of hours from 1 to 744.'
  const to = hourOf(wallMs)
  const from = hourOf(wallMs - (hours - 1) * HOUR_MS)
  const since = book.since
  return {
    by,
    from: isoOf(from),
    to: isoOf(to),
    kept_from: since === undefined ? undefined : isoOf(since),
    rows: grouped(book.between(from, to), by),
  }
}

function grouped(rows: Iterable<Row>, by: readonly string[]): ReportRow[] {
  const columns = by.map((name) => columnOf(name) ?? (() => ''))
  const groups = new Map<string, ReportRow>()
  for (const row of rows) {
    const values = columns.map((column) => column(row))
    const name = values.join('\n')
    const group = groups.get(name)
    if (group !== undefined) {
      for (const amount of AMOUNTS) group[amount] += row[amount]
      continue
    }
    const of = Object.fromEntries(by.map((asked, index) => [asked, values[index] ?? '']))
    const amounts = Object.fromEntries(AMOUNTS.map((amount) => [amount, row[amount]]))
    // Each amount has just been copied.
    groups.set(name, { by: of, ...(amounts as unknown as Amounts) })
  }
  return [...groups.values()].sort((one, other) => other.cost_nano_usd - one.cost_nano_usd)
}

function columnOf(name: string): ((row: Row) => string) | undefined {
  const column = COLUMNS.find((one) => one === name)
  if (column !== undefined) return (row) => row[column]
  if (name === 'day') return ({ hour }) => hour.slice(0, 10)
  if (!name.startsWith(TAG) || name.length === TAG.length) return undefined
  const start = `${name.slice(TAG.length)}=`
  return ({ tags }) => {
    const tag = tags.split(',').find((one) => one.startsWith(start))
    return tag?.slice(start.length) ?? ''
  }
}

function hourOf(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 13)
}

function isoOf(hour: string): string {
  return `${hour}:00:00Z`
}
