/** Rows of usage, added up by the requested columns. */
import {
  AMOUNTS,
  type Amounts,
  joinedNames,
  NOTHING,
  ROW_NAMES,
  type Row,
} from '../store/usage-row.ts'
import type { Unattributed } from './unattributed.ts'
import type { Zone } from './zone.ts'

const TAG = 'tag:'
const BY_MAX = 8
const DAY_LENGTH = '2026-11-22'.length
/** Stands for the tenant or key of charges without a row. */
const UNATTRIBUTED = '(unattributed)'

export interface ReportRow extends Amounts {
  /** The values of the row, by the requested names. */
  readonly by: Readonly<Record<string, string>>
  /** Its last hour, or its last day in rows by day; absent if no row is in it. UTC. */
  last?: string
}

/** Facts of the configuration that columns need. */
export interface ColumnFacts {
  /** As `usage.tags` declares them. */
  readonly tags: readonly string[]
  /** Upstreams by their names. */
  readonly upstreams: ReadonlyMap<string, { readonly provider: { readonly name: string } }>
}

export type Column = (row: Row, zone: Zone) => string

export class Groups {
  readonly #by: readonly string[]
  readonly #columns: readonly Column[]
  readonly #zone: Zone
  readonly #groups = new Map<string, ReportRow>()

  constructor(by: readonly string[], columns: readonly Column[], zone: Zone) {
    this.#by = by
    this.#columns = columns
    this.#zone = zone
  }

  /** The dearest first. */
  get rows(): ReportRow[] {
    return [...this.#groups.values()].sort((one, other) => other.cost_nano_usd - one.cost_nano_usd)
  }

  clear(): void {
    this.#groups.clear()
  }

  add(row: Row): void {
    const values = this.#columns.map((column) => column(row, this.#zone))
    const group = this.#plus(values, row)
    const last = row.hour.length > DAY_LENGTH ? `${row.hour}:00:00Z` : row.hour
    if (group.last === undefined || last > group.last) group.last = last
  }

  /** Adds a row without a name, so that the sum equals the charge. */
  addMissing({ tenant, cost_nano_usd }: Unattributed): void {
    if (cost_nano_usd === 0) return
    const isNamed = this.#by.length > 1
    const values = this.#by.map((name) => (name === 'tenant' && isNamed ? tenant : UNATTRIBUTED))
    this.#plus(values, { ...NOTHING, cost_nano_usd })
  }

  #plus(values: readonly string[], amounts: Amounts): ReportRow {
    const name = joinedNames(values)
    const group = this.#groups.get(name)
    if (group !== undefined) {
      for (const amount of AMOUNTS) group[amount] += amounts[amount]
      return group
    }
    const of = Object.fromEntries(this.#by.map((asked, index) => [asked, values[index] ?? '']))
    const begun: ReportRow = { by: of, ...NOTHING }
    for (const amount of AMOUNTS) begun[amount] = amounts[amount]
    this.#groups.set(name, begun)
    return begun
  }
}

/** An error text for an unknown name. */
export function columnsOf(by: readonly string[], facts: ColumnFacts): Column[] | string {
  if (by.length > BY_MAX) return GROUPINGS
  const columns: Column[] = []
  for (const name of by) {
    const column = columnOf(name, facts)
    if (typeof column === 'string') return column
    columns.push(column)
  }
  return columns
}

const GROUPINGS = `Group by at most ${BY_MAX} of ${[...ROW_NAMES, 'provider', 'day', 'hour'].join(', ')}, tag:NAME.`

function columnOf(name: string, { tags, upstreams }: ColumnFacts): Column | string {
  const column = ROW_NAMES.find((one) => one === name)
  if (column !== undefined && column !== 'tags') return (row) => row[column]
  if (name === 'hour') return ({ hour }, zone) => zone.localOf(hour)
  // In rows for whole days the hour is a day.
  if (name === 'day')
    return ({ hour }, zone) => (hour.length === 10 ? hour : zone.localOf(hour).slice(0, 10))
  if (name === 'provider') return ({ upstream }) => upstreams.get(upstream)?.provider.name ?? ''
  const isAnyTag = name === 'tags' || name === 'tag'
  if (!isAnyTag && !(name.startsWith(TAG) && name.length > TAG.length)) return GROUPINGS
  const tag = isAnyTag ? undefined : name.slice(TAG.length)
  if (tags.length === 0) return 'usage.tags declares no tag, so usage is not counted by tag.'
  if (tag === undefined) return (row) => row.tags
  if (!tags.includes(tag)) return `usage.tags does not declare "${tag}"; it has ${tags.join(', ')}.`
  const start = `${tag}=`
  return (row) => {
    const found = row.tags.split(',').find((one) => one.startsWith(start))
    return found?.slice(start.length) ?? ''
  }
}
