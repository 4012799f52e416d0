/** Shows rates once, or repeatedly on the same screen. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Place } from '../asking/place.ts'
import { type Format, isForPeople, printData } from '../printing/formats.ts'
import { printLine } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'
import { percent } from '../printing/tables/upstreams-text.ts'
import { untilSignal } from '../until-signal.ts'
import { type Rates, ratesOf, type Top } from './rates.ts'
import { read } from './reading.ts'

export interface Showing {
  readonly place: Place
  readonly intervalMs: number
  readonly output: Format
}

/** The table shows at most this many tenants; all other formats show all. */
const TENANTS_SHOWN = 20
const CLEAR = '\u001b[H\u001b[J'

export async function showOnce({ place, intervalMs, output }: Showing): Promise<void> {
  const before = await read(place)
  await delay(intervalMs)
  await show(ratesOf(before, await read(place)), output)
}

/** If a gateway does not answer, the tool reports it and asks again. */
export async function showLive({ place, intervalMs, output }: Showing): Promise<void> {
  // The first answer decides whether there is something to watch.
  let before = await read(place)
  let isFirst = true
  await untilSignal(intervalMs, async () => {
    // The first screen appears at once, without rates.
    const after = isFirst ? before : await read(place).catch((error: Error) => error)
    if (isForPeople(output)) process.stdout.write(CLEAR)
    isFirst = false
    if (after instanceof Error) return void process.stderr.write(`error: ${after.message}\n`)
    await show(ratesOf(before, after), output)
    before = after
  })
}

async function show(top: Top, output: Format): Promise<void> {
  const names = top.routes.map(({ route }) => route)
  await printData(output, { value: top, names, print: (isWide) => print(top, isWide) })
}

function print(top: Top, isWide: boolean): void {
  const { gateways, asked, routes, tenants } = top
  if (gateways < asked) printLine(`${gateways} of ${asked} gateways answer\n`)
  printTable(
    ['ROUTE', 'REQUESTS/S', 'ERRORS/S', 'IN FLIGHT', 'TTFT P95', 'TOKENS/S'],
    routes.map(({ route, in_flight, ttft_p95_seconds: p95, ...rates }) => {
      const { requests, errors, tokens } = textsOf(rates)
      return [route, requests, errors, in_flight, p95 && `${p95.toFixed(3)} s`, tokens]
    }),
  )
  if (tenants.length > 0) printTenants(tenants, isWide)
  if (top.shares.length > 0) printShares(top.shares, isWide)
}

function printTenants(tenants: Top['tenants'], isWide: boolean): void {
  printLine('')
  const shown = isWide ? tenants.length : TENANTS_SHOWN
  printTable(
    ['TENANT', 'REQUESTS/S', 'ERRORS/S', 'TOKENS/S'],
    tenants.slice(0, shown).map(({ tenant, ...rates }) => {
      const { requests, errors, tokens } = textsOf(rates)
      return [tenant, requests, errors, tokens]
    }),
  )
  const others = tenants.length - shown
  if (others > 0) printLine(`and ${others} more tenants`)
}

function printShares(shares: Top['shares'], isWide: boolean): void {
  printLine('')
  const shown = isWide ? shares.length : TENANTS_SHOWN
  printTable(
    ['UPSTREAM', 'TENANT', 'WAITING', 'RUNNING', 'SHARE', 'ENTITLED'],
    shares.slice(0, shown).map(({ upstream, tenant, waiting, running, share, entitled }) => {
      return [upstream, tenant, waiting, running, percent(share), percent(entitled)]
    }),
  )
  const others = shares.length - shown
  if (others > 0) printLine(`and ${others} more shares`)
}

function textsOf(rates: Rates) {
  return {
    requests: rates.requests_per_second.toFixed(1),
    errors: rates.errors_per_second.toFixed(1),
    tokens: rates.tokens_per_second.toFixed(0),
  }
}
