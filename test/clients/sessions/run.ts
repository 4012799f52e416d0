/**
 * Plays the sessions of every client over every upstream and writes the page; `NAME` plays the matching sessions, and
 * keeps the other rows.
 */
import type { Verdict } from '../judge.ts'
import { versionOf } from '../rows.ts'
import { judge } from './judge.ts'
import { nameOf, type Results, writePage } from './page.ts'
import { type Played, play } from './play.ts'
import { SESSION_ROWS, type SessionRow } from './rows.ts'
import { JUDGED, type Judged } from './steps.ts'
import { COLUMNS, type Column } from './upstreams.ts'

/** Sessions spend most of their time waiting for programs to start. */
const AT_ONCE = 3

async function resultsOf(row: SessionRow, column: Column): Promise<Results> {
  const played = await play(row, column)
  const results = JUDGED.map((step): [Judged, Verdict] => {
    const verdict = judge(step, played)
    const known = row.known?.[step]
    return [step, verdict.good || known === undefined ? verdict : { good: true, remark: known }]
  })
  const wrong = results.filter(([, { good }]) => !good)
  const lines = wrong.map(([step, { remark }]) => `  ${step}: ${remark}\n`).join('')
  const name = `${row.client} ${versionOf(row)}, ${row.api}, to ${column.title}`
  process.stdout.write(`${name}\n${wrong.length > 0 ? wordsOn(played) + lines : ''}`)
  return Object.fromEntries(results)
}

/** All refusals during the session, and the client's output. */
function wordsOn({ between, scripted, shown }: Played): string {
  const refusals = between.passed.filter(({ status }) => status >= 400)
  const lines = refusals.map(({ path, status, refusal }) => `  ${status} ${path}: ${refusal}\n`)
  const strict = scripted.refused.map((one) => `  refused: ${one.slice(0, 500)}\n`)
  return `${[...new Set([...lines, ...strict])].join('')}  ${JSON.stringify(shown).slice(0, 1500)}\n`
}

async function main(): Promise<number> {
  const [wanted = '', upstream = ''] = process.argv.slice(2)
  const rows = SESSION_ROWS.filter(({ client, api }) => `${client} ${api}`.includes(wanted))
  const columns = COLUMNS.filter(({ title }) => title.includes(upstream))
  const waiting = rows.flatMap((row) => columns.map((column) => ({ row, column })))
  const table = new Map<string, Results>()
  let failures = 0
  async function lane(): Promise<void> {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const { row, column } = one
      const results = await resultsOf(row, column).catch((error: unknown): Results => {
        process.stdout.write(`${String(error).slice(0, 2000)}\n`)
        return { read: { good: false } }
      })
      failures += Object.values(results).filter(({ good }) => !good).length
      table.set(nameOf(row.client, row.api, column.title), results)
      writePage(table)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return failures === 0 ? 0 : 1
}

process.exit(await main())
