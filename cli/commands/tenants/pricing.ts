/** `gw pricing`: writes the prices of a public price list into a configuration, and compares both. */
import { Command } from 'commander'
import { namedValue } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64, printRemark } from '../../printing/output.ts'

interface Common {
  readonly file: string
  readonly as?: Readonly<Record<string, string>>
  readonly output: Format
}

type ImportOptions = Common & { readonly source?: string }

const FILE_FLAG = '-f, --file <path>'
const LIST =
  "price list in the form of LiteLLM's model_prices_and_context_window.json; - reads standard input"
const AS_FLAG = '--as <model=entry>'
const AS = 'entry of the list that has the price of a configured model; repeat it for more'

const importing = new Command('import')
  .description('Write the listed prices of all configured models into a configuration file.')
  .argument('<list>', LIST)
  .requiredOption(FILE_FLAG, 'configuration file that gets the prices')
  .option(AS_FLAG, AS, namedValue)
  .option('--source <text>', 'source that the rows state; the name of the list if absent')
  .addOption(formatOption())
  .action(importList)

const check = new Command('check')
  .description(
    'Name the configured models that have no price, or another price than the list; exits with 1 if there are any.',
  )
  .argument('[list]', `${LIST}; absent: checks only for missing prices`)
  .requiredOption(FILE_FLAG, 'configuration file')
  .option(AS_FLAG, AS, namedValue)
  .addOption(formatOption())
  .action(checkPrices)

export const pricing = endUsageWith64(
  new Command('pricing')
    .description('Import and check the prices of models.')
    .addCommand(importing)
    .addCommand(check),
)

async function importList(path: string, options: ImportOptions): Promise<void> {
  const { file, as = {}, output } = options
  const { basename } = await import('node:path')
  const { readPriceList } = await import('../../pricing/list.ts')
  const { importPrices } = await import('../../pricing/import.ts')
  const source = options.source ?? (path === '-' ? 'stdin' : basename(path))
  const asOf = new Date().toISOString().slice(0, 10)
  const models = importPrices(file, readPriceList(path), { source, asOf }, as)
  const faulty = models.filter(({ result }) => result === 'faulty')
  process.exitCode = faulty.length === 0 ? EXIT.ok : EXIT.no
  const { printJudged } = await import('../../pricing/table.ts')
  await printData(output, {
    value: { file, source, as_of: asOf, models },
    names: models.map(({ model }) => model),
    print: (isWide) => printJudged(models, isWide),
  })
  for (const { model, entry, fault } of faulty)
    printRemark(`error: ${model}: ${fault} (entry "${entry}"). Its price was not written.`)
  for (const { model, result } of models)
    if (result === 'not_listed')
      printRemark(
        `warning: ${model} is not in the list. Give its entry with --as, or write its price.`,
      )
}

async function checkPrices(path: string | undefined, options: Common): Promise<void> {
  const { file, as = {}, output } = options
  const { readPriceList } = await import('../../pricing/list.ts')
  const { judgeFile } = await import('../../pricing/import.ts')
  const models = judgeFile(file, path === undefined ? undefined : readPriceList(path), as)
  const wrong = models.filter(({ status }) => status !== 'same' && status !== 'not_listed')
  const ok = wrong.length === 0
  process.exitCode = ok ? EXIT.ok : EXIT.no
  const { printJudged } = await import('../../pricing/table.ts')
  await printData(output, {
    value: { ok, file, models },
    names: wrong.map(({ model }) => model),
    print: (isWide) => printJudged(models, isWide),
  })
}
