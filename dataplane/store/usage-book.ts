/** Usage, hour by hour: one row for each tenant, key, route, upstream, model and set of tags. */

import type { Trace } from '../telemetry/trace/fields.ts'
import type { AttemptUsage } from '../telemetry/trace/parts.ts'
import { type Amounts, joinedNames, NOTHING, type Row } from './usage-row.ts'

/** Most rows of a tenant in an hour; beyond that its tags are counted together, then models that clients named, then its keys. */
const TENANT_ROWS_MAX = 500
const HOUR_ROWS_MAX = 5_000
/** Beyond either bound the oldest hours are dropped. */
const ROWS_MAX = 100_000
const HOURS_MAX = 31 * 24
const OTHER = 'other'

/** The models of upstreams, by their names. */
type Models = ReadonlyMap<string, { readonly model: string }>

export class UsageBook {
  /** Rows that changed since they were last written; absent if rows are never written. */
  changed: Set<Row> | undefined
  readonly #hours = new Map<string, Hour>()
  /** The last row of each key; a key asks for few models at a time. */
  readonly #recent = new Map<string, Row>()
  readonly #onFolded: (reason: 'tags' | 'model' | 'key') => void
  #rows = 0

  /** `onFolded` is called for each attempt that is counted with others because its hour has too many rows. */
  constructor(onFolded: (reason: 'tags' | 'model' | 'key') => void = () => {}) {
    this.#onFolded = onFolded
  }

  /** Restores written rows. */
  restore(rows: Iterable<Row>): void {
    for (const row of rows) this.#insert(nameOf(row), row)
  }

  /** Adds the usage of the attempts of a request, and the request itself. */
  add(trace: Trace, models: Models): void {
    const { attempts, tenant } = trace
    if (tenant === undefined) return
    const last = attempts.length - 1
    for (let index = 0; index <= last; index++) {
      const attempt = attempts[index]
      if (attempt === undefined) continue
      const { usage, upstream } = attempt
      if (usage === undefined && index < last) continue
      const model = attempt.model ?? models.get(upstream)?.model ?? ''
      const names = { tenant, upstream, model, isNamed: attempt.model !== undefined }
      const row = this.#rowOf(trace, names)
      if (usage !== undefined) addUsage(row, usage)
      this.changed?.add(row)
      if (index < last) continue
      row.requests++
      if (trace.status >= 400) row.errors++
    }
  }

  /** The hours from one to another, both included; as they are now. */
  *between(from: string, to: string): Generator<Row> {
    for (const [name, hour] of this.#hours) {
      if (name >= from && name <= to) yield* hour.rows.values()
    }
  }

  /** The rows of all hours. */
  get size(): number {
    return this.#rows
  }

  /** The first hour that is known; undefined before the first request. */
  get since(): string | undefined {
    return [...this.#hours.keys()].sort()[0]
  }

  #rowOf(trace: RowOrigin, names: AttemptNames): Row {
    const { tenant, upstream, model } = names
    const { key = '', route, tags = '' } = trace
    const wanted = { tenant, key, route, upstream, model, tags }
    const recent = this.#recent.get(key)
    if (recent !== undefined && trace.time.startsWith(recent.hour) && isOf(recent, wanted))
      return recent
    const name = trace.time.slice(0, 13)
    const hour = this.#hours.get(name) ?? this.#begin(name)
    const own = nameOf(wanted)
    const found = hour.rows.get(own)
    if (found !== undefined) {
      this.#recent.set(key, found)
      return found
    }
    const mine = hour.tenants.get(tenant) ?? 0
    const isFull = mine >= TENANT_ROWS_MAX || hour.rows.size >= HOUR_ROWS_MAX
    if (isFull && tags !== '' && tags !== OTHER) {
      this.#onFolded('tags')
      return this.#rowOf({ ...trace, tags: OTHER }, names)
    }
    if (isFull && names.isNamed && model !== OTHER) {
      this.#onFolded('model')
      return this.#rowOf(trace, { ...names, model: OTHER })
    }
    if (isFull && key !== OTHER) {
      this.#onFolded('key')
      return this.#rowOf({ ...trace, key: OTHER, tags }, names)
    }
    const row = { hour: name, ...wanted, ...NOTHING }
    this.#insert(own, row)
    return row
  }

  #insert(own: string, row: Row): void {
    const { rows, tenants } = this.#hours.get(row.hour) ?? this.#begin(row.hour)
    rows.set(own, row)
    this.#recent.set(row.key, row)
    tenants.set(row.tenant, (tenants.get(row.tenant) ?? 0) + 1)
    this.#rows++
  }

  #begin(name: string): Hour {
    const hour: Hour = { rows: new Map(), tenants: new Map() }
    this.#recent.clear()
    this.#hours.set(name, hour)
    while (this.#hours.size > HOURS_MAX || (this.#rows > ROWS_MAX && this.#hours.size > 1))
      this.#forget(this.since ?? '')
    return hour
  }

  #forget(name: string): void {
    this.#rows -= this.#hours.get(name)?.rows.size ?? 0
    this.#hours.delete(name)
  }
}

interface AttemptNames extends Pick<Row, 'tenant' | 'upstream' | 'model'> {
  /** Whether the client has named the model. */
  readonly isNamed: boolean
}

type RowOrigin = Pick<Trace, 'time' | 'key' | 'route' | 'tags'>
type RowNames = Pick<Row, 'tenant' | 'key' | 'route' | 'upstream' | 'model' | 'tags'>

function nameOf({ tenant, key, route, upstream, model, tags }: RowNames): string {
  return joinedNames([tenant, key, route, upstream, model, tags])
}

function isOf(row: RowNames, { tenant, key, route, upstream, model, tags }: RowNames): boolean {
  return (
    row.model === model &&
    row.route === route &&
    row.upstream === upstream &&
    row.tags === tags &&
    row.key === key &&
    row.tenant === tenant
  )
}

interface Hour {
  readonly rows: Map<string, Row>
  /** Number of rows of each tenant. */
  readonly tenants: Map<string, number>
}

function addUsage(row: Amounts, usage: AttemptUsage): void {
  row.input_tokens += usage.input_tokens
  row.cached_tokens += usage.cached_tokens
  row.cache_write_tokens += usage.cache_write_tokens
  row.cache_write_1h_tokens += usage.cache_write_1h_tokens ?? 0
  row.output_tokens += usage.output_tokens
  row.reasoning_tokens += usage.reasoning_tokens
  row.cost_nano_usd += usage.cost_nano_usd
  row.cache_gain_nano_usd += usage.cache_gain_nano_usd ?? 0
  row.cache_surcharge_nano_usd += usage.cache_surcharge_nano_usd ?? 0
  if (usage.estimated) row.estimated++
}
