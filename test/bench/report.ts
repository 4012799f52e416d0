/** The table: medians of the readings, and the cost that a target adds to nginx and to the upstream. */
import type { Reading, Readings } from './measure.ts'
import { median } from './medians.ts'
import type { Plan } from './plan.ts'

interface Row {
  readonly label: string
  /** The name of a reading. */
  readonly name: string
  readonly digits: number
  /** Shows the highest reading instead of the median, because one bad run matters. */
  readonly highest?: boolean
  /** Shows the number against that of another target: as a ratio, or as a difference. */
  readonly against?: {
    readonly target: string
    readonly as: 'ratio' | 'added'
    /** Only for the columns named after it: their additional cost. */
    readonly variantsOnly?: boolean
  }
  readonly unit?: number
}

const MEBIBYTE = 1_048_576
const KIBIBYTE = 1_024

/** nginx has one thread, so it always waits for another program. */
const DISTURBANCE_PERCENT_MAX = 3
const DISTURBED =
  '**Other programs took the measured core in this run: repeat it on a quiet machine.**'

export interface Report {
  readonly markdown: string
  /** Requests without a good answer: with any of them the numbers prove nothing. */
  readonly failures: number
}

export function writeReport(readings: Readings, machine: readonly string[], plan: Plan): Report {
  const names = [...readings.keys()]
  const lines = rows(plan).map((row) => [
    row.label,
    ...names.map((name) => cell(row, name, readings)),
  ])
  const disturbance = Math.max(0, ...series(readings, 'nginx', 'waitPercent'))
  const failures = names.map((name) => sum(series(readings, name, 'failures')))
  const markdown = [
    '# Results of the benchmark',
    '',
    `Made by \`run.ts\`; how to read it is in \`README.md\`. ${describe(plan)}`,
    '',
    ...machine.map((line) => `- ${line}`),
    '',
    ...table(['', ...names], [...lines, ['failed requests', ...failures.map(String)]]),
    '',
    ...(disturbance > DISTURBANCE_PERCENT_MAX ? [DISTURBED, ''] : []),
  ].join('\n')
  return { markdown, failures: sum(failures) }
}

/** Padded by the rules of the repository's formatter, so that the file passes its check. */
export function table(head: readonly string[], lines: readonly string[][]): string[] {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...lines.map((line) => line[column]?.length ?? 0)),
  )
  const pad = (line: readonly string[]) =>
    line.map((text, column) =>
      column === 0 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0),
    )
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [pad(head), rule, ...lines.map(pad)].map((cells) => `| ${cells.join(' | ')} |`)
}

function describe(plan: Plan): string {
  const rounds = plan.rounds === 1 ? 'One round' : `Median of ${plan.rounds} interleaved rounds`
  return `${rounds}, 1 KB requests, ${plan.connections} connections.`
}

function rows(plan: Plan): Row[] {
  const rate = `${plan.openRate.toLocaleString('en')} requests/s`
  const idle = `${plan.idleStreams.toLocaleString('en')} idle streams`
  const nginx = { target: 'nginx', as: 'added' } as const
  const direct = { target: 'direct', as: 'added' } as const
  const ratio = { target: 'nginx', as: 'ratio' } as const
  const governed = { target: 'governed', as: 'added', variantsOnly: true } as const
  const memory = { digits: 1, unit: MEBIBYTE }
  return [
    { label: 'requests/s, closed loop', name: 'requestsPerSecond', digits: 0 },
    { label: 'ratio to nginx', name: 'requestsPerSecond', digits: 2, against: ratio },
    { label: 'CPU µs per request, closed loop', name: 'cpuUsPerRequest', digits: 1 },
    {
      label: 'CPU µs added to governed, closed loop',
      name: 'cpuUsPerRequest',
      digits: 1,
      against: governed,
    },
    { label: "Redis's CPU µs per request, closed loop", name: 'storeCpuUs', digits: 1 },
    { label: 'of it in scripts, by its own account', name: 'storeScriptUs', digits: 1 },
    { label: 'p99 µs, closed loop', name: 'closedP99Us', digits: 0 },
    { label: `p50 µs at ${rate}`, name: 'openP50Us', digits: 0 },
    { label: `p99 µs at ${rate}`, name: 'openP99Us', digits: 0 },
    { label: 'p50 µs added to direct', name: 'openP50Us', digits: 0, against: direct },
    { label: 'p99 µs added to direct', name: 'openP99Us', digits: 0, against: direct },
    { label: 'p50 µs added to nginx', name: 'openP50Us', digits: 0, against: nginx },
    { label: 'p99 µs added to nginx', name: 'openP99Us', digits: 0, against: nginx },
    { label: `CPU µs per request at ${rate}`, name: 'openCpuUsPerRequest', digits: 1 },
    {
      label: `CPU µs added to governed at ${rate}`,
      name: 'openCpuUsPerRequest',
      digits: 1,
      against: governed,
    },
    { label: 'stream events/s', name: 'eventsPerSecond', digits: 0 },
    { label: 'CPU µs per stream event', name: 'cpuUsPerEvent', digits: 1 },
    { label: 'start to ready, ms', name: 'startMs', digits: 0 },
    { label: 'CPU s of the first 10,000 requests', name: 'firstSeconds', digits: 2 },
    { label: 'requests until within 20 % of the end', name: 'settledAfter', digits: 0 },
    { label: 'RSS MiB before any request', name: 'idleBytes', ...memory },
    { label: 'RSS MiB under load, highest', name: 'loadBytes', ...memory },
    { label: `RSS MiB with ${idle}`, name: 'streamsBytes', ...memory },
    { label: `RSS MiB with ${idle}, highest`, name: 'streamsHighestBytes', ...memory },
    { label: 'RSS KiB per idle stream', name: 'bytesPerStream', digits: 1, unit: KIBIBYTE },
    { label: '% of its core used, closed loop', name: 'busyPercent', digits: 0 },
    { label: '% waiting for its core, worst run', name: 'waitPercent', digits: 1, highest: true },
  ]
}

function cell(row: Row, target: string, readings: Readings): string {
  const own = series(readings, target, row.name)
  if (row.highest && own.length > 0) return show(Math.max(...own), row)
  if (row.against === undefined) return show(median(own), row)
  const { target: base, as, variantsOnly } = row.against
  if (base === target || target === 'direct') return '–'
  if (variantsOnly && !target.startsWith(`${base}, `)) return '–'
  const other = series(readings, base, row.name)
  const isRatio = as === 'ratio'
  // Round by round, then the median: both numbers of a pair were measured within seconds.
  const pairs = own.map((value, round) => combine(value, other[round] ?? Number.NaN, isRatio))
  return show(median(pairs), row)
}

function combine(value: number, other: number, isRatio: boolean): number {
  return isRatio ? value / other : value - other
}

function show(value: number, row: Row): string {
  if (Number.isNaN(value)) return '–'
  const options = { minimumFractionDigits: row.digits, maximumFractionDigits: row.digits }
  return (value / (row.unit ?? 1)).toLocaleString('en', options)
}

function series(readings: Readings, target: string, name: string): number[] {
  const values = (readings.get(target) ?? []).map((reading: Reading) => reading[name])
  return values.filter((value) => value !== undefined)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
