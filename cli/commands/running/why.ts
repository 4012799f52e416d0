/** `gw why`: why requests fail, or failed: the causes in sentences, and what happened on one line of time. */
import { Command, InvalidArgumentError, Option } from 'commander'
import { addPlace, askedPlace, type PlaceOptions } from '../../asking/place.ts'
import { durationMs } from '../../option-values.ts'
import { type Format, formatOption, printData } from '../../printing/formats.ts'
import { EXIT, endUsageWith64 } from '../../printing/output.ts'

interface WhyOptions extends PlaceOptions {
  readonly route?: string
  readonly tenant?: string
  readonly request?: string
  readonly at?: number
  readonly since: number
  readonly output: Format
}

const HOUR_MS = 3_600_000
const TWO_HOURS_MS = 2 * HOUR_MS
const KEPT_MS = 48 * HOUR_MS
/** An incident goes on after the moment that was asked about. */
const AFTER_MS = 10 * 60_000
const DAY_MS = 24 * HOUR_MS

export const why = endUsageWith64(
  addPlace(
    new Command('why').description(
      'Explain why requests fail or failed, from what all pods remember; exits with 1 if requests failed.',
    ),
  )
    .option('--route <name>', 'only requests of this route')
    .option('--tenant <name>', 'only requests of this tenant')
    .addOption(
      new Option('--request <id>', 'one request, by the X-Request-Id of its answer').conflicts([
        'route',
        'tenant',
      ]),
    )
    .addOption(
      new Option(
        '--at <time>',
        'around this time, such as 14:02 or 2026-11-26T14:02:11Z; UTC; at most 48 h ago',
      ).argParser(momentOf),
    )
    .addOption(
      new Option('--since <time>', 'how far back, at most 48h')
        .argParser(durationMs)
        .default(TWO_HOURS_MS, '2h'),
    )
    .addOption(formatOption())
    .action(explainWhy),
)

async function explainWhy(options: WhyOptions, command: Command): Promise<void> {
  const { route, tenant, request, at, output } = options
  const now = Date.now()
  const until = at === undefined ? now : Math.min(now, at + AFTER_MS)
  // A request is looked for in everything that is remembered.
  const back = request === undefined ? options.since : DAY_MS
  const since = until - back
  if (now - since > KEPT_MS) {
    const message = 'error: events are kept for 48 h; give a later --at, or a shorter --since'
    command.error(message, { exitCode: EXIT.usage })
  }
  const place = await askedPlace(options, command)
  const { factsAt } = await import('../../why/facts.ts')
  const { printWhy, whyAnswer } = await import('../../why/show.ts')
  const { reasonsIn } = await import('../../../dataplane/why/why.ts')
  const span = { since, until }
  const value = whyAnswer(reasonsIn(await factsAt(place, { route, tenant, request }, span)), span)
  if (value.incidents.some(({ symptom }) => symptom !== undefined)) process.exitCode = EXIT.no
  const names = value.incidents.flatMap(({ causes }) => causes.slice(0, 1).map(({ kind }) => kind))
  await printData(output, { value, names, print: (isWide) => printWhy(value, isWide) })
}

/** A time without a day is the last one that has passed. */
function momentOf(text: string): number {
  const now = Date.now()
  const isTimeOfDay = /^\d{2}:\d{2}(?::\d{2})?$/.test(text)
  const today = new Date(now).toISOString().slice(0, 11)
  const zone = /(?:Z|[+-]\d{2}:?\d{2})$/.test(text) || !text.includes('T') ? '' : 'Z'
  const at = Date.parse(isTimeOfDay ? `${today}${text}Z` : `${text}${zone}`)
  if (Number.isNaN(at))
    throw new InvalidArgumentError('Give a time such as 14:02 or 2026-11-26T14:02:11Z.')
  if (isTimeOfDay && at > now) return at - DAY_MS
  if (at > now) throw new InvalidArgumentError('Give a time that has passed.')
  return at
}
