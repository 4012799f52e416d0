/** The verdicts of a stand-alone gateway's own probes as a table. */
import { z } from 'zod'
import { relativeTime } from '../printing/ages.ts'
import { state as stateCell } from '../printing/colours.ts'
import { printLine } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'

const Verdict = z.looseObject({
  route: z.string(),
  state: z.enum(['answers', 'fails', 'pending']),
  why: z.string().optional(),
  at: z.string().optional(),
  ms: z.number().optional(),
})

export const VerificationStatus = z.looseObject({
  hash: z.string(),
  routes: z.array(Verdict),
})

export type VerificationStatus = z.output<typeof VerificationStatus>

/** Worst first, as the gateway lists them. */
export function printVerification(seen: VerificationStatus | undefined, isWide: boolean): void {
  if (seen === undefined) return
  printLine('')
  printTable(
    ['VERIFIED ROUTE', 'STATE', 'ANSWER', 'MS', 'PROBED'],
    seen.routes.map(({ route, state, why, ms, at }) => [
      route,
      stateCell(state),
      why,
      ms,
      at === undefined ? undefined : relativeTime(at),
    ]),
    isWide,
    ['MS', 'PROBED'],
  )
}
