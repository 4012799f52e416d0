/** A report of usage: the rows of a period, summed by columns, and the missing parts. */
import { setImmediate as turn } from 'node:timers/promises'
import type { UsageBook } from '../store/usage-book.ts'
import type { KeptUsage, Row, Span } from '../store/usage-row.ts'
import { type ColumnFacts, columnsOf, Groups, type ReportRow } from './groups.ts'
import { type AskedPeriod, type Period, periodOf } from './period.ts'
import { Attribution, type Charged, type Unattributed } from './unattributed.ts'
import { UTC } from './zone.ts'

/** Rows that are read and added up in one turn: less than half a millisecond. */
const TURN_ROWS = 200

export interface Report {
  readonly by: readonly string[]
  /** ISO 8601, whole hours of UTC; the last hour is included. */
  readonly from: string
  readonly to: string
  /** If days and hours are those of another zone than UTC. */
  readonly tz?: string
  /** The first hour with rows; absent if there are none. */
  readonly kept_from: string | undefined
  /** `redis` has the sum of all replicas, otherwise a process has its own. */
  readonly kept_in: KeptUsage['in']
  /** The missing parts, or those that will be lost. */
  readonly warning?: string
  /** Charges of budgets without a row; absent if there are none. */
  readonly unattributed?: readonly Unattributed[]
  readonly rows: readonly ReportRow[]
}

export interface ReportQuestion extends AskedPeriod {
  readonly by?: string | undefined
  /** The rows of one key alone. */
  readonly only?: { readonly tenant: string; readonly key: string }
}

/** The source of rows, and the facts of the configuration about them. */
export interface UsageSources extends ColumnFacts {
  readonly book: Pick<UsageBook, 'between' | 'since'>
  readonly kept: KeptUsage
  /** The charges of budgets in the period; absent if they are not compared. */
  readonly charged?: (span: Span) => Promise<readonly Charged[]>
  /** Resolves once every running replica has written its counts up to this call. */
  readonly written?: () => Promise<void>
}

/** Resolves with an error text if the parameters are invalid. */
export async function reportOf(
  sources: UsageSources,
  asked: ReportQuestion,
  wallMs: number,
): Promise<Report | string> {
  const by = (asked.by ?? 'tenant').split(',')
  const columns = columnsOf(by, sources)
  if (typeof columns === 'string') return columns
  const isByTime = by.includes('hour') || by.includes('day')
  const period = periodOf(asked, isByTime, wallMs)
  if (typeof period === 'string') return period
  const { zone } = period
  const groups = new Groups(by, columns, zone)
  const charged = asked.only === undefined ? await sources.charged?.(period) : undefined
  const attribution = new Attribution(charged ?? [])
  const sums = new Sums(groups, attribution, asked.only)
  const isByHour = by.includes('hour') || (by.includes('day') && zone.name !== UTC)
  let collected = await collect(sources, period, isByHour, sums)
  if (attribution.missing.length > 0 && sources.written !== undefined) {
    // Another replica may have counted it, and not written it yet.
    await sources.written()
    sums.clear()
    collected = await collect(sources, period, isByHour, sums)
  }
  const unattributed = attribution.missing
  for (const one of unattributed) groups.addMissing(one)
  const { from = period.from, since, ...facts } = collected
  return {
    by,
    from: isoOf(from),
    to: isoOf(period.to),
    ...(zone.name !== UTC && { tz: zone.name }),
    kept_from: since === undefined ? undefined : isoOf(since),
    ...facts,
    ...(unattributed.length > 0 && { unattributed }),
    rows: groups.rows,
  }
}

class Sums {
  readonly #groups: Groups
  readonly #attribution: Attribution
  readonly #only: ReportQuestion['only']

  constructor(groups: Groups, attribution: Attribution, only: ReportQuestion['only']) {
    this.#groups = groups
    this.#attribution = attribution
    this.#only = only
  }

  clear(): void {
    this.#groups.clear()
    this.#attribution.clear()
  }

  /** Requests run between the parts of many rows. */
  async add(rows: Iterable<Row>): Promise<void> {
    let count = 0
    for (const row of rows) {
      if (++count % TURN_ROWS === 0) await turn()
      if (!this.#isWanted(row)) continue
      this.#groups.add(row)
      this.#attribution.add(row)
    }
  }

  #isWanted({ tenant, key }: Row): boolean {
    return this.#only === undefined || (tenant === this.#only.tenant && key === this.#only.key)
  }
}

interface Collected extends Pick<Report, 'kept_in' | 'warning'> {
  readonly from?: string
  readonly since: string | undefined
}

const IN_MEMORY =
  'Usage is kept in memory and lost when the process ends; state_dir: or rate_limits with backend: redis keeps it.'
const STORE_AWAY =
  'The shared store does not answer: this is only the usage of this process since its start.'

async function collect(
  { book, kept }: UsageSources,
  span: Period,
  isByHour: boolean,
  sums: Sums,
): Promise<Collected> {
  try {
    if (kept.read !== undefined) {
      const shared = await kept.read(span, isByHour)
      for await (const rows of shared.rows) await sums.add(rows)
      return { from: shared.from, since: shared.since, kept_in: kept.in }
    }
  } catch {
    // The sums from before the outage count in the book again.
    sums.clear()
  }
  await sums.add(book.between(span.from, span.to))
  const { since } = book
  if (kept.in === 'state_dir') return { since, kept_in: kept.in }
  const warning = kept.read === undefined ? IN_MEMORY : STORE_AWAY
  return { since, kept_in: 'memory', warning }
}

function isoOf(hour: string): string {
  return `${hour}:00:00Z`
}
