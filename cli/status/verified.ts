/** The verdicts of a stand-alone gateway's own probes: as a table, and whether every verified route answers. */
import { z } from 'zod'
import { withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import { relativeTime } from '../printing/ages.ts'
import { state as stateCell } from '../printing/colours.ts'
import { EXIT, printLine, printRemark } from '../printing/output.ts'
import { printTable } from '../printing/tables/table.ts'
import { type Look, waitInCluster, waitStandAlone } from './waiting.ts'

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

/** For `gw wait --for Verified`. */
export async function verifiedLook(place: Place): Promise<Look> {
  return await withGateways(place, async ([gateway]) => {
    const { body } = await gateway.ask('/status')
    const { verification } = z
      .looseObject({ verification: VerificationStatus.optional() })
      .parse(body)
    const { name } = gateway
    const [worst] = verification?.routes ?? []
    if (worst === undefined)
      return { reason: `the gateway at ${name} verifies no route; write verify: true in a route` }
    if (worst.state === 'answers')
      return { gateway: name, met: `gateway at ${name}: every verified route answers` }
    const state = worst.state === 'fails' ? 'does not answer' : 'is being probed'
    return { reason: `${worst.route} ${state}: ${worst.why ?? 'no answer yet'}` }
  })
}

/** Exits with 1 if a route does not answer in time. */
export async function printVerified(place: Place, timeoutMs: number): Promise<void> {
  const waiting = { condition: 'Verified', value: 'True', timeoutMs }
  try {
    const { met } =
      place.kind === 'cluster'
        ? await waitInCluster(place, waiting)
        : await waitStandAlone(async () => place, verifiedLook, waiting)
    printLine(met)
  } catch (error) {
    process.exitCode = EXIT.no
    printRemark(`not verified: ${(error as Error).message}`)
  }
}
