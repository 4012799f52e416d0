/** Writes the page with the tested clients and their results. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { aligned } from '../helpers/results.ts'
import type { Verdict } from './judge.ts'
import { CASES, type Case } from './rig.ts'
import { ROWS, type Row, versionOf } from './rows.ts'

const ROOT = join(import.meta.dirname, '../..')
export const PAGE = join(ROOT, 'dataplane/docs/clients.md')

const TITLES: Readonly<Record<Case, string>> = {
  whole: 'whole',
  stream: 'stream',
  tools: 'tools',
  shape: 'schema',
  bad: '400',
  unknown: '401',
  spent: '402',
  scope: '403',
  missing: '404',
  busy: '429',
  cut: 'cut',
  slow: 'slow',
  leave: 'leaves',
}

const HEAD = `# Clients that were tried

\`make test-clients\` wrote this page: each client as it is published, in front of one gateway and one scripted model. Its settings
are the defaults, but for address, key, model, a limit of tokens where the API demands one, and those below. A tick says that the
case went well, "-" that the client has no such thing; a remark says what it did instead. A row that is older than the others was
not tried with them. [Whole sessions of agents](client-sessions.md) are on another page.

| case | goes well when |
| --- | --- |
| whole, stream | the answer arrives, and so does the usage of the stream |
| tools, schema | the client calls a tool and reads the answer to its result; an answer keeps to a schema |
| 400 to 404 | the client reports the error and does not ask again |
| 429 | the client waits for as long as it is asked to, and is served |
| cut | a stream that breaks off is an error |
| slow | a model that is silent for longer than two heartbeats is waited for |
| leaves | the model server notices within a second that the client has left |

Refusals that no repetition can change have \`x-should-retry: false\`, which the official SDKs, what is built on them, and Claude Code
obey. These clients ask again all the same, as their code or a trial shows:

| agent | asks again | why, and what stops it |
| --- | --- | --- |
| Codex CLI | after 401 to 404, five times | it takes them for a broken connection and reads no header; only a 400, or a 429 of the type \`usage_limit_reached\`, is final. Set \`stream_max_retries = 0\` in its provider |
| Claude Code | after an unknown 400, at most five times | each is another request, with one beta feature less. A prompt that is too long is asked once |
| Claude Code | after 404 and a cut stream, once | it asks for the whole answer instead of a stream |
| aider | after 402 and 403, eight times | LiteLLM has no class for them, and aider repeats what has none; it reads no header |
`

const COLUMNS = ['client', 'version', 'API', ...CASES.map((one) => TITLES[one]), 'gateway', 'tried']
const SETTINGS = ['set for', 'settings']
const NOT_TRIED = 'not tried'

/** Rows of clients that this run skipped keep their earlier results and date. */
export function writePage(tried: ReadonlyMap<Row, Partial<Record<Case, Verdict>>>): void {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const date = new Date().toISOString().slice(0, 10)
  const known = new Map(shownRows().map((row) => [row.slice(0, 3).join(), row]))
  const rows = ROWS.map((row) => {
    const lead = leading(row)
    const results = tried.get(row)
    if (results === undefined) return known.get(lead.join()) ?? [...lead, NOT_TRIED]
    return [...lead, ...CASES.map((one) => cell(results[one])), version, date]
  })
  const full = rows.map((row) => COLUMNS.map((_, column) => row[column] ?? ''))
  const tables = [aligned([SETTINGS, ...settings()]), '', aligned([COLUMNS, ...full])]
  writeFileSync(PAGE, `${[HEAD, ...tables].join('\n')}\n`)
}

/** Lists each client with settings once for all its versions. */
function settings(): string[][] {
  const rows = ROWS.filter(({ set }) => set !== undefined)
  const known = rows.map(({ client, api, set = '' }) => [`${client}, ${api}`, set] as const)
  return [...new Map(known)].map((row) => [...row])
}

/** The current rows of the page. */
export function shownRows(): string[][] {
  return rowsOn(PAGE)
}

/** The rows of the last table on a page of clients; empty if the page does not exist. */
export function rowsOn(page: string): string[][] {
  const lines = existsSync(page) ? readFileSync(page, 'utf8').split('\n') : []
  const cells = lines
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').slice(1, -1))
    .map((row) => row.map((one) => one.trim()))
  return cells.slice(cells.findIndex(([first]) => first === 'client') + 2)
}

/** The cells that identify a row; a test compares them with the pinned versions. */
export function leading(row: Row): readonly string[] {
  return [row.client, versionOf(row), row.api]
}

function cell(verdict: Verdict | undefined): string {
  if (verdict === undefined) return '-'
  const { good, remark } = verdict
  if (remark === undefined) return good ? '✓' : 'fails'
  return remark.replaceAll(/[|\s]+/g, ' ').slice(0, 60)
}
