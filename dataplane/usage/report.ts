/** Rows of usage, added up by what is asked for. */
import {
  AMOUNTS,
  type Amounts,
  type KeptUsage,
  ROW_NAMES,
  type Row,
  type Span,
} from '../store/usage-row.ts'
import type { UsageBook } from './book.ts'

const TAG = 'tag:'
const BY_MAX = 8
const HOUR_MS = 3_600_000
const SINCE_HOURS = 168
/** 13 months, as long as the shared store keeps days. */
const HOURS_MAX = 9_480

export interface ReportRow extends Amounts {
  /** The values that the row is for, by the names that were asked for. */
  readonly by: Readonly<Record<string, string>>
}

export interface Report {
  readonly by: readonly string[]
  /** ISO 8601, whole hours of UTC; the last hour still counts. */
  readonly from: string
  readonly to: string
  /** Where the rows begin; absent where there are none. */
  readonly kept_from: string | undefined
  /** `redis` has the sum of all replicas, else a process has its own. */
  readonly kept_in: KeptUsage['in']
  /** Says what is missing, or will be lost. */
  readonly warning?: string
  readonly rows: readonly ReportRow[]
}

interface Asked {
  readonly by?: string | undefined
  readonly hours?: string | undefined
}

/** Where rows come from, and what the configuration says of them. */
export interface UsageSources {
  readonly book: Pick<UsageBook, 'between' | 'since'>
  readonly kept: KeptUsage
  /** As `usage.tags` declares them. */
  readonly tags: readonly string[]
  /** Upstreams by their names. */
  readonly upstreams: ReadonlyMap<string, { readonly provider: { readonly name: string } }>
}

/** Resolves with a sentence where what is asked for makes no sense. */
export async function reportOf(
  sources: UsageSources,
  asked: Asked,
  wallMs: number,
): Promise<Report | string> {
  const by = (asked.by ?? 'tenant').split(',')
  const columns = columnsOf(by, sources)
  if (typeof columns === 'string') return columns
  const hours = Number(asked.hours ?? SINCE_HOURS)
  if (!Number.isInteger(hours) || hours < 1 || hours > HOURS_MAX)
    return `Give a number of hours from 1 to ${HOURS_MAX}.`
  const to = hourOf(wallMs)
  const groups = new Groups(by, columns)
  const span = { from: hourOf(wallMs - (hours - 1) * HOUR_MS), to }
  const { from = span.from, since, ...facts } = await collect(sources, span, groups)
  return {
    by,
    from: isoOf(from),
    to: isoOf(to),
    kept_from: since === undefined ? undefined : isoOf(since),
    ...facts,
    rows: groups.rows,
  }
}

interface Collected extends Pick<Report, 'kept_in' | 'warning'> {
  readonly from?: string
  readonly since: string | undefined
}

const IN_MEMORY =
  'Usage is kept in memory and lost when the process ends; state_dir: or rate_limits with backend: redis keeps it.'
const STORE_AWAY =
  'The shared store does not answer: this is only what the process has counted since it started.'

async function collect(
  { book, kept }: UsageSources,
  span: Span,
  groups: Groups,
): Promise<Collected> {
  try {
    if (kept.read !== undefined) {
      const shared = await kept.read(span, groups.isByHour)
      for await (const rows of shared.rows) groups.add(rows)
      return { from: shared.from, since: shared.since, kept_in: kept.in }
    }
  } catch {
    // What came before the store went away counts in the book again.
    groups.clear()
  }
  groups.add(book.between(span.from, span.to))
  const { since } = book
  if (kept.in === 'state_dir') return { since, kept_in: kept.in }
  const warning = kept.read === undefined ? IN_MEMORY : STORE_AWAY
  return { since, kept_in: 'memory', warning }
}

type Column = (row: Row) => string

class Groups {
  readonly #by: readonly string[]
  readonly #columns: readonly Column[]
  readonly #groups = new Map<string, ReportRow>()

  constructor(by: readonly string[], columns: readonly Column[]) {
    this.#by = by
    this.#columns = columns
  }

  get isByHour(): boolean {
    return this.#by.includes('hour')
  }

  /** The dearest first. */
  get rows(): ReportRow[] {
    return [...this.#groups.values()].sort((one, other) => other.cost_nano_usd - one.cost_nano_usd)
  }

  clear(): void {
    this.#groups.clear()
  }

  add(rows: Iterable<Row>): void {
    for (const row of rows) {
      const values = this.#columns.map((column) => column(row))
      const name = values.join('\n')
      const group = this.#groups.get(name)
      if (group !== undefined) {
        for (const amount of AMOUNTS) group[amount] += row[amount]
        continue
      }
      const of = Object.fromEntries(this.#by.map((asked, index) => [asked, values[index] ?? '']))
      const amounts = Object.fromEntries(AMOUNTS.map((amount) => [amount, row[amount]]))
      // Each amount has just been copied.
      this.#groups.set(name, { by: of, ...(amounts as unknown as Amounts) })
    }
  }
}

/** A sentence where a name leads to no column. */
function columnsOf(by: readonly string[], sources: UsageSources): Column[] | string {
  if (by.length > BY_MAX) return GROUPINGS
  const columns: Column[] = []
  for (const name of by) {
    const column = columnOf(name, sources)
    if (typeof column === 'string') return column
    columns.push(column)
  }
  return columns
}

const GROUPINGS = `Group by at most ${BY_MAX} of ${[...ROW_NAMES, 'provider', 'day', 'hour'].join(', ')}, tag:NAME.`

function columnOf(name: string, { tags, upstreams }: UsageSources): Column | string {
  const column = ROW_NAMES.find((one) => one === name)
  if (column !== undefined && column !== 'tags') return (row) => row[column]
  if (name === 'hour') return ({ hour }) => hour
  if (name === 'day') return ({ hour }) => hour.slice(0, 10)
  if (name === 'provider') return ({ upstream }) => upstreams.get(upstream)?.provider.name ?? ''
  const isAnyTag = name === 'tags' || name === 'tag'
  if (!isAnyTag && !(name.startsWith(TAG) && name.length > TAG.length)) return GROUPINGS
  const tag = isAnyTag ? undefined : name.slice(TAG.length)
  if (tags.length === 0) return 'usage.tags declares no tag, so usage is counted by none.'
  if (tag === undefined) return (row) => row.tags
  if (!tags.includes(tag)) return `usage.tags does not declare "${tag}"; it has ${tags.join(', ')}.`
  const start = `${tag}=`
  return (row) => {
    const found = row.tags.split(',').find((one) => one.startsWith(start))
    return found?.slice(start.length) ?? ''
  }
}

function hourOf(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 13)
}

function isoOf(hour: string): string {
  return `${hour}:00:00Z`
}
