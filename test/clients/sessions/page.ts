/** Writes the page with the results of agent sessions over each upstream. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aligned } from '../../helpers/results.ts'
import type { Verdict } from '../judge.ts'
import { rowsOn } from '../page.ts'
import { versionOf } from '../rows.ts'
import { SESSION_ROWS, type SessionRow } from './rows.ts'
import { JUDGED, type Judged } from './steps.ts'
import { COLUMNS as UPSTREAMS } from './upstreams.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PAGE = join(ROOT, 'dataplane/docs/client-sessions.md')

export type Results = Readonly<Partial<Record<Judged, Verdict>>>

const HEAD = `# Sessions of agents

\`make test-clients\` wrote this page: whole sessions of agents and frameworks, as they are published, through a gateway to one scripted
upstream of each kind. The upstream speaks the vendor's wire and refuses what the vendor refuses. A tick says that the step went
well; a remark says what the client did instead. A row that is older than the others was not tried with them. [Single
requests, refusals and cuts](clients.md) of more clients have a page too.

| step | goes well when |
| --- | --- |
| read, run | the model gets the content of the file and the output of the command, which ran |
| edit | the file is changed on the disk |
| parallel | three calls of one answer run, and their results come together |
| large | a result of 200 kB comes whole, or as much of it as the client sends |
| picture | the picture arrives, or a header names that it was left out |
| compaction | the client has the session summed up, and goes on with the summary instead; for frameworks their driver asks for it |
| abort | the client leaves in the middle of an answer; the upstream notices, and the gateway logs the request as left |
| resume | the session goes on, with its history |
| strict | nothing that the upstream got is what its vendor refuses |
`

const COLUMNS = ['client', 'version', 'API', 'upstream', ...JUDGED, 'gateway', 'tried']

/** The cells that identify a row, in the order of the page. */
export function leadingRows(): string[][] {
  return SESSION_ROWS.flatMap((row) =>
    UPSTREAMS.map(({ title }) => [row.client, versionOf(row), row.api, title]),
  )
}

/** By client, API and upstream. Rows of sessions that this run skipped keep their earlier results and date. */
export function writePage(tried: ReadonlyMap<string, Results>): void {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const date = new Date().toISOString().slice(0, 10)
  const known = new Map(shownSessions().map((row) => [row.slice(0, 4).join(), row]))
  const rows = leadingRows().map((lead) => {
    const [client = '', , api = '', upstream = ''] = lead
    const results = tried.get(nameOf(client, api, upstream))
    if (results === undefined) return known.get(lead.join()) ?? [...lead, 'not tried']
    return [...lead, ...JUDGED.map((step) => cell(results[step])), version, date]
  })
  const full = rows.map((row) => COLUMNS.map((_, column) => row[column] ?? ''))
  const tables = [
    aligned([['set for', 'settings'], ...settings()]),
    '',
    aligned([COLUMNS, ...full]),
  ]
  writeFileSync(PAGE, `${[HEAD, ...tables].join('\n')}\n`)
}

export function nameOf(client: string, api: string, upstream: string): string {
  return [client, api, upstream].join()
}

/** Lists each client with settings once for all its APIs. */
function settings(): string[][] {
  const withSome = SESSION_ROWS.filter(({ set }) => set !== undefined)
  const known = withSome.map(({ client, set = '' }: SessionRow) => [client, set] as const)
  return [...new Map(known)].map((row) => [...row])
}

/** The current rows of the page. */
export function shownSessions(): string[][] {
  return rowsOn(PAGE)
}

function cell(verdict: Verdict | undefined): string {
  if (verdict === undefined) return 'fails'
  const { good, remark } = verdict
  if (remark === undefined) return good ? '✓' : 'fails'
  const shown = remark.replaceAll(/[|\s]+/g, ' ').slice(0, 60)
  return good ? shown : `fails: ${shown}`
}
