/** The answer of `GET /usage`. */
import { setTimeout as delay } from 'node:timers/promises'
import type { UsageBook } from '../store/usage-book.ts'
import type { KeptUsage } from '../store/usage-row.ts'
import { type ListedPrice, listedPrice } from './events/listed-price.ts'
import type { ReportRow } from './groups.ts'
import { reportOf, type UsageSources } from './report.ts'
import { type ChargedParts, chargedIn } from './unattributed.ts'

/** The parts of the gateway that have usage rows. */
interface UsageParts extends ChargedParts {
  readonly usage: UsageBook
  readonly usageKept: KeptUsage
}

type Query = Readonly<Record<string, string>>

/** Every column that a row of costs needs. */
const FOCUS = ['tenant', 'key', 'route', 'upstream', 'provider', 'model'] as const

export async function usageOf(query: Query, gateway: UsageParts) {
  const { clock, active } = gateway
  const { section, configuration } = active.snapshot
  const { tags } = section.usage
  const isFocus = query.format === 'focus'
  const period = query.by === 'hour' ? 'hour' : 'day'
  const by = isFocus ? [period, ...FOCUS, ...(tags.length > 0 ? ['tags'] : [])].join() : query.by
  const { hours, from, to, tz } = query
  if (isFocus && tz !== undefined) return refused('FOCUS has days of UTC; leave tz out.')
  // A charge without a row belongs to no day, and so to no row of costs.
  const sources = sourcesOf(gateway, !isFocus)
  const report = await reportOf(sources, { hours, from, to, tz, by }, clock.wall())
  if (typeof report === 'string') return refused(report)
  if (!isFocus) return { status: 200, body: report }
  const { name = 'gw', namespace } = configuration.metadata ?? {}
  const named = namespace === undefined ? name : `${namespace}/${name}`
  return {
    status: 200,
    body: { ...report, gateway: named, prices: pricesOf(report.rows, gateway) },
  }
}

function refused(message: string) {
  return { status: 400, body: { error: { message } } }
}

/** Rows of other replicas are written once a second. */
const WRITTEN_MS = 1_200

/** The source of a gateway's rows; `isCompared`: with the charges of its budgets. */
export function sourcesOf(gateway: UsageParts, isCompared = true): UsageSources {
  const { usage, usageKept, active } = gateway
  const { section, upstreams } = active.snapshot
  return {
    ...{ book: usage, kept: usageKept, tags: section.usage.tags, upstreams },
    ...(isCompared && {
      charged: (span) => chargedIn(span, gateway),
      written: async () => void (await delay(usageKept.read !== undefined ? WRITTEN_MS : 0)),
    }),
  }
}

/** The present prices, by model. */
function pricesOf(rows: readonly ReportRow[], { active }: UsageParts): Record<string, ListedPrice> {
  const prices: Record<string, ListedPrice> = {}
  for (const { by } of rows) {
    const listed = listedPrice(active.snapshot.limits.prices.get(by.model ?? ''), 0)
    if (listed !== null) prices[by.model ?? ''] = listed
  }
  return prices
}
