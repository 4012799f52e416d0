/** The table of upstreams, of one gateway or summed over its pods. */
import { type Painted, state, yesOrNo } from '../printing/colours.ts'
import { printTable } from '../printing/tables/table.ts'
import { countedText } from '../printing/tables/tokens-text.ts'

export interface ShownUpstream {
  readonly name: string
  readonly provider: string
  readonly eligible: boolean | string
  readonly health: string
  readonly breaker: string
  readonly in_flight: number
  readonly why?: string | undefined
  readonly queue?: unknown
  readonly endpoint?: unknown
  readonly tokens?: Parameters<typeof countedText>[0]['tokens']
}

const HEAD = ['UPSTREAM', 'PROVIDER', 'ELIGIBLE', 'HEALTH', 'BREAKER', 'IN FLIGHT', 'TOKENS']

/** The table has the column WHY if an upstream is not eligible. */
export function printUpstreams(upstreams: readonly ShownUpstream[], isWide: boolean): void {
  const hasWhy = upstreams.some(({ why }) => why !== undefined)
  const head = [...HEAD, ...(hasWhy ? ['WHY'] : []), ...(isWide ? ['QUEUE', 'ENDPOINT'] : [])]
  const rows = upstreams.map((one) => [
    one.name,
    one.provider,
    typeof one.eligible === 'boolean' ? yesOrNo(one.eligible) : divided(one.eligible),
    state(one.health),
    state(one.breaker),
    one.in_flight,
    countedText(one),
    ...(hasWhy ? [one.why] : []),
    one.queue,
    one.endpoint,
  ])
  printTable(head, rows, isWide, ['TOKENS', 'PROVIDER', 'IN FLIGHT', 'ELIGIBLE'])
}

/** Pods judge upstreams separately, with different results. */
function divided(text: string): Painted {
  return { text, colour: 'yellow' }
}
