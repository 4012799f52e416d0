/** The answer of `GET /usage`. */
import type { Gateway } from '../gateway.ts'
import { type ListedPrice, listedPrice } from './events/listed-price.ts'
import { reportOf } from './report.ts'

type Query = Readonly<Record<string, string>>

/** Every column that a row of costs needs. */
const FOCUS = ['tenant', 'key', 'route', 'upstream', 'provider', 'model'] as const

export async function usageOf(query: Query, gateway: Gateway) {
  const { usage, usageKept, clock, active } = gateway
  const { section, upstreams, configuration } = active.snapshot
  const { tags } = section.usage
  const sources = { book: usage, kept: usageKept, tags, upstreams }
  const isFocus = query.format === 'focus'
  const period = query.by === 'hour' ? 'hour' : 'day'
  const by = isFocus ? [period, ...FOCUS, ...(tags.length > 0 ? ['tags'] : [])].join() : query.by
  const report = await reportOf(sources, { ...query, by }, clock.wall())
  if (typeof report === 'string') return { status: 400, body: { error: { message: report } } }
  if (!isFocus) return { status: 200, body: report }
  const { name = 'gw', namespace } = configuration.metadata ?? {}
  const named = namespace === undefined ? name : `${namespace}/${name}`
  return { status: 200, body: { ...report, gateway: named, prices: pricesOf(gateway) } }
}

/** As listed now, by model. */
function pricesOf({ active }: Gateway): Record<string, ListedPrice> {
  const prices: Record<string, ListedPrice> = {}
  for (const [model, price] of active.snapshot.limits.prices) {
    const listed = listedPrice(price, 0)
    if (listed !== null) prices[model] = listed
  }
  return prices
}
