/** Metrics in the form of OpenTelemetry: the names of `/metrics`, cumulative since the start of the process. */
import type { Registry } from 'prom-client'
import { type Key, keyOf, type Writer } from '../tracing/writer.ts'

/** Fields as opentelemetry/proto/metrics/v1 numbers them. */
const METRIC = 2
const [NAME, DESCRIPTION, UNIT, GAUGE, SUM, HISTOGRAM] = [1, 2, 3, 5, 7, 9]
const [POINTS, TEMPORALITY, MONOTONIC] = [1, 2, 3]
const CUMULATIVE = 2
const [START, TIME] = [2, 3]
const [VALUE, VALUE_ATTRIBUTES] = [4, 7]
const [COUNT, TOTAL, COUNTS, BOUNDS, EXEMPLARS, HISTOGRAM_ATTRIBUTES] = [4, 5, 6, 7, 8, 9]
const [EXEMPLAR_TIME, EXEMPLAR_VALUE, EXEMPLAR_TRACE] = [2, 3, 5]

/** A larger family is sent in several pieces, so that each fits a page. */
const POINTS_MAX = 50

type Labels = Readonly<Record<string, string | number>>

interface Exemplar {
  readonly labelSet: { readonly trace_id: string }
  readonly value: number
  /** Seconds since the epoch. */
  readonly timestamp: number
}

interface Number {
  readonly labels: Labels
  readonly value: number
}

interface Distribution {
  readonly labels: Labels
  /** Cumulative counts below each bound, as in prom-client. */
  readonly below: number[]
  readonly bounds: number[]
  readonly exemplars: Exemplar[]
  sum: number
  count: number
}

/** Some points of one family. */
export interface MetricPiece {
  readonly name: string
  readonly help: string
  readonly startedAt: number
  readonly at: number
  readonly data:
    | { readonly kind: 'counter' | 'gauge'; readonly points: readonly Number[] }
    | { readonly kind: 'histogram'; readonly points: readonly Distribution[] }
}

/** The result of `get()` of prom-client's families; its types omit the members of histograms. */
interface GatheredMetric {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly {
    readonly labels?: Labels
    readonly sharedLabels?: Labels
    readonly metricName?: string
    readonly value: number
    readonly exemplar?: Exemplar | null
  }[]
}

/** Yields after each family, so that other work can run in between. */
export async function* piecesOf(
  registry: Registry,
  startedAt: number,
  now: () => number,
): AsyncGenerator<MetricPiece> {
  for (const family of registry.getMetricsAsArray()) {
    // prom-client's types omit get().
    const read = (await (
      family as unknown as { get(): Promise<GatheredMetric> }
    ).get()) as GatheredMetric
    const { name, help } = read
    const about = { name, help, startedAt, at: now() }
    if (read.type === 'histogram') {
      const points = distributionsOf(read)
      for (const some of slices(points))
        yield { ...about, data: { kind: 'histogram', points: some } }
    } else {
      const kind = read.type === 'counter' ? 'counter' : 'gauge'
      // A mean of nothing is no number, which JSON does not have.
      const points = read.values
        .filter(({ value }) => Number.isFinite(value))
        .map(({ labels = {}, value }) => ({ labels, value }))
      for (const some of slices(points)) yield { ...about, data: { kind, points: some } }
    }
  }
}

function* slices<Point>(points: readonly Point[]): Generator<readonly Point[]> {
  for (let at = 0; at < points.length; at += POINTS_MAX) yield points.slice(at, at + POINTS_MAX)
}

function distributionsOf({ name, values }: GatheredMetric): Distribution[] {
  const found = new Map<string, Distribution>()
  for (const { labels = {}, sharedLabels, metricName, value, exemplar } of values) {
    const { le, ...others } = { ...labels, ...sharedLabels }
    const own = JSON.stringify(others)
    const known = found.get(own)
    const point = known ?? {
      labels: others,
      below: [],
      bounds: [],
      exemplars: [],
      sum: 0,
      count: 0,
    }
    if (known === undefined) found.set(own, point)
    if (metricName === `${name}_sum`) point.sum = value
    else if (metricName === `${name}_count`) point.count = value
    else point.below.push(value)
    if (typeof le === 'number') point.bounds.push(le)
    if (exemplar) point.exemplars.push(exemplar)
  }
  return [...found.values()]
}

/** Returns the number of points written. */
export function writePiece(out: Writer, piece: MetricPiece): number {
  const { name, help, data } = piece
  const metric = out.open(METRIC)
  out.text(NAME, name)
  out.text(DESCRIPTION, help)
  const unit = unitOf(name)
  if (unit !== '') out.text(UNIT, unit)
  const field = data.kind === 'histogram' ? HISTOGRAM : data.kind === 'counter' ? SUM : GAUGE
  const whole = out.open(field)
  if (data.kind === 'histogram')
    for (const point of data.points) writeDistribution(out, piece, point)
  else for (const point of data.points) writeNumber(out, piece, point)
  if (data.kind !== 'gauge') out.varint(TEMPORALITY, CUMULATIVE)
  if (data.kind === 'counter') out.varint(MONOTONIC, 1)
  out.close(whole)
  out.close(metric)
  return data.points.length
}

function writeNumber(
  out: Writer,
  { startedAt, at, data }: MetricPiece,
  { labels, value }: Number,
): void {
  const point = out.open(POINTS)
  if (data.kind === 'counter') out.time(START, startedAt)
  out.time(TIME, at)
  out.double(VALUE, value)
  writeLabels(out, VALUE_ATTRIBUTES, labels)
  out.close(point)
}

function writeDistribution(out: Writer, { startedAt, at }: MetricPiece, given: Distribution): void {
  const { labels, below, bounds, sum, count, exemplars } = given
  const point = out.open(POINTS)
  out.time(START, startedAt)
  out.time(TIME, at)
  out.fixed64(COUNT, count)
  out.double(TOTAL, sum)
  out.packedFixed64(
    COUNTS,
    below.map((value, index) => value - (below[index - 1] ?? 0)),
  )
  out.packedDoubles(BOUNDS, bounds)
  for (const { labelSet, value, timestamp } of exemplars) {
    const exemplar = out.open(EXEMPLARS)
    out.time(EXEMPLAR_TIME, timestamp * 1000)
    out.double(EXEMPLAR_VALUE, value)
    out.hex(EXEMPLAR_TRACE, labelSet.trace_id)
    out.close(exemplar)
  }
  writeLabels(out, HISTOGRAM_ATTRIBUTES, labels)
  out.close(point)
}

function writeLabels(out: Writer, field: number, labels: Labels): void {
  for (const [name, value] of Object.entries(labels))
    out.attribute(field, keyFor(name), String(value))
}

/** Names of labels come from the table of metrics. */
const keys = new Map<string, Key>()

function keyFor(name: string): Key {
  const key = keys.get(name) ?? keyOf(name)
  keys.set(name, key)
  return key
}

/** The unit of a name; a converter back to Prometheus names then adds nothing. */
function unitOf(name: string): string {
  const base = name.replace(/_total$/, '')
  if (base.endsWith('_seconds')) return 's'
  if (base.endsWith('_bytes')) return 'By'
  if (base.endsWith('_usd')) return '{USD}'
  return ''
}
