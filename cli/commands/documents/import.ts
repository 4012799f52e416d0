/** `gw import`: writes a configuration for the file of another gateway, and lists what has no place. */
import { Argument, Command } from 'commander'
import { SOURCE_NAMES, type SourceName } from '../../moving/source-names.ts'
import { FORMATS, formatOption, printData } from '../../printing/formats.ts'
import { AnswerIsNo, EXIT, endUsageWith64, printRemark, printText } from '../../printing/output.ts'

interface ImportOptions {
  readonly output: string
  readonly strict?: true
  readonly force?: true
}

const output = formatOption('yaml')
output.flags = '-o, --output <format|path>'
output.description =
  'a path writes the configuration to that file; yaml prints it, json prints it with all fields, table and wide print the fields'
output.argParser((text) => text)

export const importing = endUsageWith64(
  new Command('import')
    .description(
      'Write a gw.yaml for the configuration of another gateway, and name each field that has no place.',
    )
    .addArgument(new Argument('<from>', 'the other gateway').choices([...SOURCE_NAMES]))
    .argument('<file>', 'its configuration; - reads standard input')
    .addOption(output)
    .option('--strict', 'exit with 1 if a field has no place')
    .option('--force', 'replace the file of --output if it exists')
    .addHelpText(
      'after',
      `
Credentials become references such as \${env:OPENAI_API_KEY}; no value leaves the file. Comments in the result name
the line and field that each changed part was. Then run: gw config validate --file gw.yaml`,
    )
    .action(importFile),
)

async function importFile(from: SourceName, path: string, options: ImportOptions): Promise<void> {
  const { readWritten } = await import('../../apply/document.ts')
  const written = readWritten(path)
  if (written === undefined) return
  const { moved } = await import('../../moving/import.ts')
  const { countsOf, printFields } = await import('../../moving/report.ts')
  const { yaml, fields, problems, routes } = moved(from, written)
  const counts = countsOf(fields)
  const errors = problems.filter(({ severity }) => severity === 'error')
  const isFaulty = errors.length > 0 || (options.strict === true && counts.no_place > 0)
  const format = FORMATS.find((one) => one === options.output)
  if (format === undefined) await writeNew(options.output, yaml, options.force === true)
  else if (format === 'yaml') printText(yaml)
  else {
    const value = { from, file: written.name, ...counts, fields, configuration: yaml, problems }
    const print = (isWide: boolean) => printFields(fields, isWide)
    await printData(format, { value, names: routes, print })
  }
  if (format === undefined || format === 'yaml') printLost(written.name, fields)
  printRemark(
    `${written.name}: ${counts.kept} fields taken as they are, ${counts.changed} changed, ${counts.no_place} without a place`,
  )
  const { printProblems } = await import('../../printing/problems-text.ts')
  if (routes.length === 0) printRemark('nothing to serve: no model of the file has a place')
  else printProblems(errors)
  process.exitCode = isFaulty ? EXIT.no : EXIT.ok
}

type Fields = ReturnType<typeof import('../../moving/import.ts')['moved']>['fields']

/** In the form of compilers, so that an editor jumps to the line. */
function printLost(name: string, fields: Fields): void {
  for (const { line, path, outcome, note } of fields)
    if (outcome === 'no_place') printRemark(`${name}:${line}: no place: ${path}: ${note}`)
}

async function writeNew(path: string, text: string, isForced: boolean): Promise<void> {
  const { writeFileSync } = await import('node:fs')
  try {
    writeFileSync(path, text, { flag: isForced ? 'w' : 'wx', mode: 0o600 })
  } catch (error) {
    const code = Object(error).code
    if (code === 'EEXIST')
      throw new AnswerIsNo(`${path} exists already; give another path, or --force.`)
    throw new Error(`cannot write ${path}: ${code ?? error}`)
  }
}
