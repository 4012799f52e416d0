/** `gw usage`: tokens and cost by tenant, key, route, upstream, model or tag. */
import { Command, InvalidArgumentError, Option } from 'commander'
import type { AskedGateway } from '../../asking/asked-gateways.ts'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { commaList } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { endUsageWith64, printRemark, printText } from '../../printing/output.ts'

interface UsageOptions extends PlaceOptions {
  readonly by: readonly string[]
  readonly since: number
  readonly from?: string
  readonly to?: string
  readonly tz?: string
  readonly forecast?: boolean
  readonly output: Format | 'csv' | 'focus'
}

const HOURS_MAX = 9480

export const usage = endUsageWith64(
  addPlace(
    new Command('usage').description(
      'Show tokens and cost by tenant, key, route, upstream, model or tag.',
    ),
  )
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
    .addOption(
      new Option('--from <time>', 'first month, day or hour: 2026-11, 2026-11-22, 2026-11-22T09')
        .argParser(timeOf)
        .conflicts('since'),
    )
    .addOption(
      new Option('--to <time>', 'last month, day or hour, inclusive; now if absent').argParser(
        timeOf,
      ),
    )
    .addOption(
      new Option(
        '--tz <zone>',
        'time zone of days and hours, such as Europe/Berlin; UTC if absent',
      ),
    )
    .addOption(
      new Option(
        '--forecast',
        'show budgets instead: pace, end of the window, and when each budget will be spent',
      ).conflicts(['by', 'since', 'from', 'to', 'tz']),
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

function timeOf(text: string): string {
  if (/^\d{4}-\d{2}(-\d{2}(T\d{2})?)?$/.test(text)) return text
  throw new InvalidArgumentError(
    'Give a month, day or hour such as 2026-11, 2026-11-22 or 2026-11-22T09.',
  )
}

/** `hours`: how far back, if no start is given. */
function pathOf(by: readonly string[], hours: number, { from, to, tz }: UsageOptions): string {
  const query = new URLSearchParams({ by: by.join(',') })
  if (from === undefined) query.set('hours', String(hours))
  else query.set('from', from)
  if (to !== undefined) query.set('to', to)
  if (tz !== undefined) query.set('tz', tz)
  return `/usage?${query}`
}

/** Rows of FOCUS have every column; days are complete. */
function focusPath(options: UsageOptions, command: Command): string {
  const { by, since } = options
  const [period] = by
  const isAsked = command.getOptionValueSource('by') !== 'default'
  if (isAsked && (by.length > 1 || (period !== 'day' && period !== 'hour')))
    command.error('error: FOCUS has all columns; give --by day or --by hour, or omit it.')
  if (isAsked && period === 'hour') return `${pathOf(by, since, options)}&format=focus`
  const hours = (Math.ceil(since / 24) - 1) * 24 + new Date().getUTCHours() + 1
  return `${pathOf(['day'], hours, options)}&format=focus`
}

async function showUsage(options: UsageOptions, command: Command): Promise<void> {
  const { by, since, to, from, output } = options
  if (to !== undefined && from === undefined) command.error('error: --to needs --from, too.')
  if (options.forecast === true) return await showForecast(options, command)
  const { UsageAnswer, csvOf, joined, printUsage } = await import('../../usage/table.ts')
  const path = output === 'focus' ? focusPath(options, command) : pathOf(by, since, options)
  const { bodies, silent } = await askAll(path, options, command)
  const answers = bodies.map((body) => UsageAnswer.parse(body))
  const report = joined(answers)
  if (report === undefined) return
  if (report.warning !== undefined) printRemark(`warning: ${report.warning}`)
  // With a shared store, every pod returns all rows.
  const missing = report.kept_in === 'redis' ? [] : silent
  for (const why of missing) printRemark(`warning: ${why}`)
  if (output === 'csv') return printText(csvOf(report))
  if (output === 'focus') {
    const { focusOf } = await import('../../usage/focus.ts')
    return printText(focusOf(report))
  }
  const names = report.rows.map((row) => report.by.map((name) => row.by[name] || '-').join(','))
  const pods = { asked: bodies.length + silent.length, answered: bodies.length }
  const print = (isWide: boolean) => printUsage(report, pods, isWide)
  await printData(output, { value: report, names, print })
}

const TENANTS = 200

async function showForecast(options: UsageOptions, command: Command): Promise<void> {
  const { output } = options
  if (output === 'csv' || output === 'focus')
    command.error('error: csv and focus are formats of usage; a forecast has neither.')
  const { Standings, forecastsOf, printForecast } = await import('../../usage/forecast.ts')
  const { bodies } = await askAll(`/limits?limit=${TENANTS}`, options, command)
  const answers = bodies.map((body) => Standings.parse(body))
  const forecasts = forecastsOf(answers, Date.now())
  const [first] = answers
  const [total, shown] = [first?.total ?? 0, first?.tenants.length ?? 0]
  const names = forecasts.map(({ tenant, budget }) =>
    tenant === '' ? budget : `${tenant} ${budget}`,
  )
  const print = () => printForecast(forecasts, total, shown)
  await printData(output, { value: { forecasts }, names, print })
}

/** The answers of all pods, and why the other pods gave none. Throws if no pod answers. */
async function askAll(path: string, options: UsageOptions, command: Command) {
  const { askEach, withGateways } = await import('../../asking/asked-gateways.ts')
  const place = await askedPlace(options, command)
  return await withGateways(place, async (gateways) => {
    const { answers, silent } = await askEach(gateways, (one) => ask(one, path, command))
    return { bodies: answers, silent }
  })
}

async function ask(gateway: AskedGateway, path: string, command: Command): Promise<unknown> {
  const { status, body } = await gateway.ask(path)
  if (status === 400) command.error(`error: ${Object(Object(body).error).message}`)
  if (status !== 200) throw new Error(`The gateway at ${gateway.name} answered ${status}.`)
  return body
}
