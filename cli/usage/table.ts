/** Usage for people and for spreadsheets; merges the answers of several pods. */
import { z } from 'zod'
import { printText } from '../printing/output.ts'
import { moneyText } from '../printing/tables/money.ts'
import { printTable } from '../printing/tables/table.ts'

const AMOUNTS = {
  requests: z.number(),
  errors: z.number(),
  input_tokens: z.number(),
  cached_tokens: z.number(),
  cache_write_tokens: z.number(),
  output_tokens: z.number(),
  reasoning_tokens: z.number(),
  cost_nano_usd: z.number(),
  estimated: z.number(),
  /** A pod of an earlier release does not count them. */
  cache_write_1h_tokens: z.number().default(0),
  cache_gain_nano_usd: z.number().default(0),
  cache_surcharge_nano_usd: z.number().default(0),
}
type Amount = keyof typeof AMOUNTS
const NAMES = Object.keys(AMOUNTS) as Amount[]

const Row = z.object({ by: z.record(z.string(), z.string()), ...AMOUNTS })
export const UsageAnswer = z.object({
  by: z.array(z.string()),
  from: z.string(),
  to: z.string(),
  kept_from: z.string().optional(),
  kept_in: z.string().optional(),
  warning: z.string().optional(),
  tz: z.string().optional(),
  unattributed: z
    .array(
      z.object({
        tenant: z.string(),
        window: z.enum(['day', 'month']),
        tokens: z.number(),
        cost_nano_usd: z.number(),
      }),
    )
    .optional(),
  /** For rows of costs. */
  gateway: z.string().optional(),
  prices: z
    .record(
      z.string(),
      z.object({
        input: z.number(),
        cached_input: z.number(),
        cache_write: z.number(),
        cache_write_1h: z.number().default(0),
        output: z.number(),
        reasoning_output: z.number(),
      }),
    )
    .optional(),
  rows: z.array(Row),
})

export type Row = z.output<typeof Row>
export type UsageAnswer = z.output<typeof UsageAnswer>

/**
 * A shared store has the sum of all pods. Otherwise pods count separately, and the gateway's usage is the sum of
 * their rows.
 */
export function joined(answers: readonly UsageAnswer[]): UsageAnswer | undefined {
  const [first] = answers
  if (first === undefined) return undefined
  const shared = answers.filter(({ kept_in }) => kept_in === 'redis')
  if (shared.length > 0) return shared.reduce(later)
  const rows = new Map<string, Row>()
  for (const row of answers.flatMap((answer) => answer.rows)) {
    const name = JSON.stringify(Object.values(row.by))
    const sum = rows.get(name)
    if (sum === undefined) rows.set(name, { ...row })
    else for (const amount of NAMES) sum[amount] += row[amount]
  }
  const sorted = [...rows.values()].sort((one, other) => other.cost_nano_usd - one.cost_nano_usd)
  // The report is complete from the latest start among the answers.
  const begins = answers.flatMap(({ kept_from }) => kept_from ?? []).sort()
  return { ...first, kept_from: begins.at(-1), rows: sorted }
}

/** Each pod writes its counts before it answers, so the last answer has the most. */
function later(one: UsageAnswer, other: UsageAnswer): UsageAnswer {
  return sumOf(other.rows).requests > sumOf(one.rows).requests ? other : one
}

/** The number of pods asked, and of those that answered. */
interface Pods {
  readonly asked: number
  readonly answered: number
}

export function printUsage(report: UsageAnswer, { asked, answered }: Pods, isWide: boolean): void {
  const { by, from, to, tz, kept_from, kept_in, unattributed = [], rows } = report
  const head = [
    ...by.map((name) => name.toUpperCase()),
    ...HEAD,
    ...(isWide ? ['CACHE WRITE'] : []),
  ]
  const total = sumOf(rows)
  const label = ['TOTAL', ...by.slice(1).map(() => '')]
  const lines = rows.map((row) => [...by.map((name) => row.by[name] || '-'), ...cellsOf(row)])
  printTable(head, [...lines, [...label, ...cellsOf(total)]], isWide, [
    ...['ESTIMATED', 'REASONING', 'SAVED USD', 'CACHED', 'ERRORS', 'INPUT', 'OUTPUT'],
    ...head.slice(1, by.length).reverse(),
  ])
  const some = answered < asked ? `, ${answered} of ${asked} pods` : `, ${asked} pods`
  const who = kept_in === 'redis' ? ', all replicas' : asked > 1 ? some : ''
  const short = kept_from !== undefined && kept_from > from ? `, counted from ${kept_from}` : ''
  const zone = tz === undefined ? '' : `, days of ${tz}`
  printText(`\n${from} to ${to}${zone}${who}${short}`)
  for (const { tenant, tokens } of unattributed)
    if (tokens > 0) printText(`${tokens} tokens charged to ${tenant} today belong to no key.`)
}

const NANO = 1e9

const HEAD = [
  'REQUESTS',
  'ERRORS',
  'INPUT',
  'CACHED',
  'OUTPUT',
  'REASONING',
  'COST USD',
  'SAVED USD',
  'ESTIMATED',
]

function cellsOf(row: Omit<Row, 'by'>): (string | number)[] {
  return [
    row.requests,
    row.errors,
    row.input_tokens,
    row.cached_tokens,
    row.output_tokens,
    row.reasoning_tokens,
    moneyText(row.cost_nano_usd / NANO),
    moneyText(savedBy(row) / NANO),
    row.estimated,
    row.cache_write_tokens,
  ]
}

/** Saved by caches; negative if more was written than read. */
function savedBy(row: Omit<Row, 'by'>): number {
  return row.cache_gain_nano_usd - row.cache_surcharge_nano_usd
}

function sumOf(rows: readonly Row[]): Row {
  const sums = NAMES.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)])
  return Row.parse({ by: {}, ...Object.fromEntries(sums) })
}

/** Lines as in RFC 4180. A cell that a spreadsheet would run as a formula begins with an apostrophe. */
export function csvOf({ by, rows }: UsageAnswer): string {
  const names = NAMES.filter((name) => !name.endsWith('_nano_usd'))
  const lines = [
    [...by, ...names, 'cache_gain_usd', 'cache_surcharge_usd', 'cost_usd'],
    ...rows.map((row) => [
      ...by.map((name) => row.by[name] ?? ''),
      ...names.map((name) => String(row[name])),
      usd(row.cache_gain_nano_usd),
      usd(row.cache_surcharge_nano_usd),
      usd(row.cost_nano_usd),
    ]),
  ]
  return lines.map((line) => `${line.map(cell).join(',')}\r\n`).join('')
}

/** Spreadsheets remove blanks and invisible characters, and treat full-width signs as plain ones. */
const FORMULA = /^\p{Cc}|^[\s\p{C}]*[=+\-@\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20]/u

export function cell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Exact: the amount is a whole number of nano-dollars. */
export function usd(nanos: number): string {
  const digits = String(Math.abs(nanos)).padStart(10, '0')
  const decimals = digits.slice(-9).replace(/0{1,7}$/, '')
  return `${nanos < 0 ? '-' : ''}${digits.slice(0, -9)}.${decimals}`
}
