/**
 * Runs every client through every case and writes the page; `node test/clients/run.ts NAME` runs the matching clients,
 * and keeps the other rows.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../helpers/until.ts'
import { goProgram, nodeFolder, pythonOf } from './install.ts'
import { judge, type Seen, type Verdict } from './judge.ts'
import { writePage } from './page.ts'
import { CASES, type Case, startRig } from './rig.ts'
import { ROWS, type Row, versionOf } from './rows.ts'
import { startModel } from './upstream.ts'

const DRIVER_MS_MAX = 900_000
const run = promisify(execFile)
const here = import.meta.dirname

async function commandOf({ runtime, driver, group = '', api }: Row, args: string) {
  if (runtime === 'go') return { program: await goProgram(), args: [args] }
  if (runtime === 'java') return { program: 'java', args: [join(here, 'java', driver), args] }
  if (runtime === 'python')
    return { program: await pythonOf(group), args: [join(here, 'python', driver), args, api] }
  const folder = await nodeFolder()
  return { program: process.execPath, args: [join(folder, driver), args, api, group], folder }
}

/** The client's last output, by case. */
async function seenBy(row: Row, args: unknown): Promise<Partial<Record<Case, Seen>>> {
  const { program, args: words, folder } = await commandOf(row, JSON.stringify(args))
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', GW_CLIENTS: folder ?? '' }
  const options = { env, timeout: DRIVER_MS_MAX, maxBuffer: 32 * 1024 * 1024 }
  const { stdout } = await run(program, words, options)
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}')
}

export type Results = Partial<Record<Case, Verdict>>

async function tryClient(row: Row): Promise<Results> {
  const model = await startModel()
  const rig = await startRig(row, model)
  try {
    const seen = await seenBy(row, { url: rig.front.process.url, keys: rig.keys })
    // The gateway writes its log asynchronously.
    await until('it is logged', () => rig.lines('leave').length > 0, 10).catch(() => {})
    const results: Results = {}
    for (const one of CASES) {
      const saw = seen[one]
      if (saw === undefined) continue
      const verdict = judge(one, saw, rig, model)
      const known = row.known?.[one]
      results[one] = verdict.good || known === undefined ? verdict : { good: true, remark: known }
    }
    return results
  } finally {
    await rig.front.process.stop()
    await model.upstream.close()
  }
}

async function main(): Promise<number> {
  const [wanted = ''] = process.argv.slice(2)
  const rows = ROWS.filter(({ client, api }) => `${client} ${api}`.includes(wanted))
  const table = new Map<Row, Results>()
  let failures = 0
  for (const row of rows) {
    const results = await tryClient(row).catch((error: unknown): Results => {
      process.stdout.write(`${String(error).slice(0, 2000)}\n`)
      return { whole: { good: false } }
    })
    table.set(row, results)
    const wrong = Object.entries(results).filter(([, { good }]) => !good)
    failures += wrong.length
    const shown = wrong.map(([one, { remark }]) => `\n  ${one}: ${remark}`).join('')
    const judged = Object.keys(results).length
    process.stdout.write(`${row.client} ${versionOf(row)}, ${row.api}: ${judged} cases${shown}\n`)
  }
  writePage(table)
  return failures === 0 ? 0 : 1
}

process.exit(await main())
