/** The latest decisions of all gateways, as one list. */
import { z } from 'zod'
import { askEach, withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import { relativeTime } from '../printing/ages.ts'
import { statusColour } from '../printing/colours.ts'
import { printLine, printRemark } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'
import { TraceAnswer } from './tree.ts'

export const Listing = z.object({ traces: z.array(TraceAnswer) })

/** Newest first. A pod that does not answer causes a warning. */
export async function askTraces(place: Place, limit: number): Promise<TraceAnswer[]> {
  const { answers, silent } = await withGateways(place, (gateways) =>
    askEach(gateways, async (gateway) => {
      const { body } = await gateway.ask(`/traces?limit=${limit}`)
      return Listing.parse(body).traces
    }),
  )
  for (const why of silent) printRemark(`warning: ${why}`)
  return answers
    .flat()
    .sort((one, other) => (one.time < other.time ? 1 : -1))
    .slice(0, limit)
}

const HEAD = ['REQUEST', 'AGE', 'STATUS', 'CODE', 'TENANT', 'ROUTE', 'UPSTREAM', 'ATTEMPTS', 'MS']
const MORE = ['KEY', 'MODEL', 'PATH', 'INPUT', 'OUTPUT', 'TTFT MS']

export function printTraces(traces: readonly TraceAnswer[], isWide: boolean): void {
  if (traces.length === 0) {
    printLine('There are no requests yet.')
    return
  }
  printTable(
    [...HEAD, ...(isWide ? MORE : [])],
    traces.map((one) => [
      one.request_id,
      relativeTime(one.time),
      { text: String(one.status), colour: statusColour(one.status) },
      one.code,
      one.tenant,
      one.route,
      one.upstream,
      one.attempts.length,
      Math.round(one.duration_ms),
      one.key,
      one.model,
      one.path,
      one.prompt_tokens,
      one.completion_tokens,
      typeof one.ttft_ms === 'number' ? Math.round(one.ttft_ms) : undefined,
    ]),
    isWide,
    ['ATTEMPTS', 'MS', 'AGE', 'UPSTREAM', 'ROUTE', 'TENANT'],
  )
}
