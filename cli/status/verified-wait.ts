/** Waits until every verified route answers. Apart from the table, because `gw status` needs no packages of clusters. */
import { z } from 'zod'
import { withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import { EXIT, printLine, printRemark } from '../printing/output.ts'
import { VerificationStatus } from './verified.ts'
import { type Look, waitInCluster, waitStandAlone } from './waiting.ts'

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
