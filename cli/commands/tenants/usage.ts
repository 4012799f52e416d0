/** `gw usage`: who used how many tokens, and what they cost. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { commaList } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { endUsageWith64, printRemark, printText } from '../../printing/output.ts'

interface UsageOptions extends PlaceOptions {
  readonly by: readonly string[]
  readonly since: number
  readonly output: Format | 'csv' | 'focus'
}

const HOURS_MAX = 9480

export const usage = endUsageWith64(
  addPlace(new Command('usage').description('Show who used how many tokens, and what they cost.'))
    .addOption(
      new Option(
        '--by <columns>',
        'tenant, key, route, upstream, provider, model, tags, tag:NAME, day, hour; several with commas',
      )
        .default(['tenant'], 'tenant')
        .argParser(commaList),
    )
    .addOption(
      new Option('--since <time>', 'how far back, such as 7d or 12h; at most 395d')
        .default(168, '7d')
        .argParser(hoursOf),
    )
    .addOption(formatOption('table', ['csv', 'focus']))
    .action(showUsage),
)

function hoursOf(text: string): number {
  const [, amount, unit] = /^(\d{1,4})([hdw])$/.exec(text) ?? []
  const factor = unit === 'h' ? 1 : unit === 'd' ? 24 : 168
  const hours = Number(amount) * factor
  if (hours >= 1 && hours <= HOURS_MAX) return hours
  throw new InvalidArgumentError('Give a duration such as 12h, 7d or 4w, at most 395d.')
}

function pathOf(by: readonly string[], hours: number): string {
  return `/usage?by=${encodeURIComponent(by.join(','))}&hours=${hours}`
}

/** Its rows have every column; days are whole. */
function focusPath({ by, since }: UsageOptions, command: Command): string {
  const [period] = by
  const isAsked = command.getOptionValueSource('by') !== 'default'
  if (isAsked && (by.length > 1 || (period !== 'day' && period !== 'hour')))
    command.error('error: FOCUS has all columns; give --by day or --by hour, or leave it out.')
  if (isAsked && period === 'hour') return `${pathOf(by, since)}&format=focus`
  const hours = (Math.ceil(since / 24) - 1) * 24 + new Date().getUTCHours() + 1
  return `${pathOf(['day'], hours)}&format=focus`
}

async function showUsage(options: UsageOptions, command: Command): Promise<void> {
  const { by, since, output } = options
  const { withGateways } = await import('../../asking/asked-gateways.ts')
  const { UsageAnswer, csvOf, joined, printUsage } = await import('../../usage/table.ts')
  const path = output === 'focus' ? focusPath(options, command) : pathOf(by, since)
  const place = await askedPlace(options, command)
  const answers = await withGateways(place, (gateways) =>
    Promise.all(
      gateways.map(async (gateway) => {
        const { status, body } = await gateway.ask(path)
        if (status === 400) command.error(`error: ${Object(Object(body).error).message}`)
        if (status !== 200) throw new Error(`The gateway at ${gateway.name} answered ${status}.`)
        return UsageAnswer.parse(body)
      }),
    ),
  )
  const report = joined(answers)
  if (report === undefined) return
  if (report.warning !== undefined) printRemark(`warning: ${report.warning}`)
  if (output === 'csv') return printText(csvOf(report))
  if (output === 'focus') {
    const { focusOf } = await import('../../usage/focus.ts')
    return printText(focusOf(report))
  }
  const names = report.rows.map((row) => report.by.map((name) => row.by[name] || '-').join(','))
  const print = (isWide: boolean) => printUsage(report, answers.length, isWide)
  await printData(output, { value: report, names, print })
}
