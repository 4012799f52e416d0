/** Collects the measurements of the tests and the promised bounds in one table. */
import { appendFileSync, readFileSync } from 'node:fs'

/** The promises, in the order of the table. */
const PROMISES = {
  overshoot: ['budget overshoot over processes', 'at most 1 largest request, at least 95 % used'],
  rate: ['3 processes at 5 times the rate', 'burst + rate x time + 1 in every window'],
  simulated_aborts: ['slots and holds after 100,000 aborts in the simulation', '0'],
  aborts: ['slots and holds after 2,000 aborts over sockets', '0'],
  killed: ['a process killed with 50 open streams', 'slots free in 16 s, spend to one heartbeat'],
  open: ['Redis away, fail_open: true', 'no client error', 'back within 2 s'],
  closed: [
    'Redis away, fail_open: false',
    '503, never 429',
    'first within 250 ms, back within 1 s',
  ],
  slices: ['requests that slices cover, Redis frozen for 5 s, fail_open: false', 'none refused'],
  link: ['decisions while Redis is away', 'none waits for long', 'at most 60 ms, back within 2 s'],
  reply_lost: ['replies lost after the command was applied, 1,000 times', 'difference 0'],
  books: ['10,000 requests through the sixteen faults', 'events = settled = upstream'],
  model: ['histories of commands compared with the model', '100,000, no mismatch'],
  simulation: ['histories of several gateways with faults', 'every invariant holds'],
  live_limits: ['a limit changed while running', 'at the next request, no refill'],
  decision: ['decision at 64 in flight, p99', '', 'at most 3 ms'],
  calls: ['calls to Redis for an admitted request', 'at most 2'],
  report: ['a report of usage', 'every row', 'under a second; requests take no longer'],
  beside: ['other requests beside slow readers, p99', 'answered', 'as without them'],
  priority: ['interactive requests shed by a flood of low priority', 'none'],
} as const satisfies Promises

export type PromiseId = keyof typeof PROMISES

interface Measured {
  readonly id: string
  readonly measured: string
  readonly circumstances: string
}

/**
 * By id, in the order of their table. A test fails if a bound is missed; a goal depends on the machine, which other
 * programs use as well.
 */
export type Promises = Readonly<
  Record<string, readonly [what: string, bound: string, goal?: string]>
>

/** Where a run collects its rows; without it nothing is written. */
export const RESULTS_FILE = 'GW_RESULTS_FILE'

/** Adds a row to the table of this run. */
export function recordResult(id: PromiseId, measured: string, circumstances = ''): void {
  appendRow({ id, measured, circumstances })
}

export function appendRow(row: Measured): void {
  const file = process.env[RESULTS_FILE]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`)
}

export function resultsTable(file: string): string {
  return tableOf(PROMISES, file)
}

/** The rows of a run as a Markdown table; missing measurements are marked. */
export function tableOf(promises: Promises, file: string): string {
  const rows: Measured[] = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
  const cells = Object.entries(promises).flatMap(([id, [what, bound, goal = '']]) => {
    const mine = rows.filter((row) => row.id === id)
    if (mine.length === 0) return [[what, '', bound, goal, 'not measured in this run']]
    return mine.map(({ circumstances, measured }) => [what, circumstances, bound, goal, measured])
  })
  return aligned([['what', 'where', 'bound', 'goal', 'measured'], ...cells])
}

export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths?.[column] ?? 0)).join(' | ')} |`
  const rule = `| ${widths?.map((width) => '-'.repeat(width)).join(' | ')} |`
  const [head = [], ...body] = rows.map(line)
  return [head, rule, ...body].join('\n')
}
