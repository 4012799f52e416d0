/** `gw keys import`: takes the keys of another gateway by their hashes, so that no client gets a new one. */
import { Argument, Command } from 'commander'
import type { LeftOut, TakenTable } from '../../keys/taking/litellm.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, printRemark, printText } from '../../printing/output.ts'

interface ImportOptions {
  readonly teams?: string
  readonly tenant: string
  readonly file?: string
  readonly output: Format
}

export function importingKeys(): Command {
  return new Command('import')
    .description(
      'Take the keys of another gateway by their hashes, with teams as tenants, and budgets and rates as limits.',
    )
    .addArgument(new Argument('<from>', 'the other gateway').choices(['litellm']))
    .argument(
      '<table>',
      'its table of keys, as CSV with a header or as JSON; - reads standard input',
    )
    .option('--teams <path>', 'its table of teams, as CSV or JSON')
    .option('--tenant <name>', 'tenant of keys without a team', 'litellm')
    .option('-f, --file <path>', 'configuration file that gets the keys; absent: they are printed')
    .addOption(formatOption())
    .addHelpText(
      'after',
      `
In Postgres, \\copy "LiteLLM_VerificationToken" TO keys.csv CSV HEADER writes the table.
A row with a fault is named with its line, and then nothing is written. Keys that the file has already are skipped.`,
    )
    .action(importKeys)
}

async function importKeys(_from: string, path: string, options: ImportOptions): Promise<void> {
  const { readWritten } = await import('../../apply/document.ts')
  const written = readWritten(path)
  const teams = options.teams === undefined ? undefined : readWritten(options.teams)
  if (written === undefined || (options.teams !== undefined && teams === undefined)) return
  const { readTable } = await import('../../keys/taking/table.ts')
  const { takeKeys } = await import('../../keys/taking/litellm.ts')
  const { KeyFile } = await import('../../keys/taking/store.ts')
  const target = options.file === undefined ? undefined : new KeyFile(options.file)
  const table = readTable(written.name, written.text, ['keys', 'data'])
  const taken = takeKeys(table, {
    teams: teams && readTable(teams.name, teams.text, ['teams', 'data']),
    tenant: options.tenant,
    ...(target && { routeOf: target.routeOf, known: target.known }),
    now: Date.now(),
  })
  if (taken.faults.length > 0) return printFaults(taken)
  for (const one of taken.leftOut) printLeftOut(one)
  const hashes = new Set(target?.known.map(({ hash }) => hash))
  const fresh = taken.keys.filter(({ record }) => !hashes.has(record.hash))
  const known = target?.limits
  const limits = taken.limits.filter(({ name }) => known?.has(name) !== true)
  const problems = target?.store(fresh, limits) ?? []
  const { printProblems } = await import('../../printing/problems-text.ts')
  if (problems.length > 0) {
    printProblems(problems)
    printRemark(`nothing was written: a gateway would refuse ${options.file}`)
    process.exitCode = EXIT.no
    return
  }
  await printTaken(taken, { fresh, limits, options })
}

const FAULTS_MAX = 50

function printFaults({ faults }: TakenTable): void {
  for (const { file, line, column, message } of faults.slice(0, FAULTS_MAX))
    printRemark(`${file}:${line}: error: ${column} ${message}`)
  if (faults.length > FAULTS_MAX) printRemark(`and ${faults.length - FAULTS_MAX} more errors`)
  printRemark('nothing was written: correct these rows, or remove them')
  process.exitCode = EXIT.no
}

function printLeftOut({ file, column, rows, firstLine, note }: LeftOut): void {
  const count = rows === 1 ? '1 row' : `${rows} rows`
  printRemark(`${file}:${firstLine}: no place: ${column} of ${count}: ${note}`)
}

interface Printed {
  readonly fresh: TakenTable['keys']
  readonly limits: TakenTable['limits']
  readonly options: ImportOptions
}

async function printTaken(taken: TakenTable, { fresh, limits, options }: Printed): Promise<void> {
  const { file, output } = options
  const lines = new Set(fresh.map(({ line }) => line))
  const keys = taken.keys.map(({ line, record: { hash: _, ...record } }) => ({
    line,
    result: lines.has(line) ? 'added' : 'same',
    ...record,
  }))
  const value = { file, keys, limits, left_out: taken.leftOut }
  const { stringify } = await import('yaml')
  const { printTable } = await import('../../printing/tables/table.ts')
  const print = (isWide: boolean) => {
    if (file === undefined) {
      const records = fresh.map(({ record }) => record)
      return printText(stringify({ api_keys: records, limits }, { lineWidth: 0 }))
    }
    const rows = keys.map((key) => [key.id, key.tenant, key.routes.join(','), key.result, key.line])
    printTable(['ID', 'TENANT', 'ROUTES', 'RESULT', 'LINE'], rows, isWide)
    printRemark(`${fresh.length} keys and ${limits.length} limits were added to ${file}`)
  }
  await printData(output, { value, names: keys.map(({ id }) => id), print })
}
