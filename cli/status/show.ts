/** Shows a status once, or after each change. */
import type { Place } from '../asking/place.ts'
import { type Format, isForPeople, printData } from '../printing/formats.ts'
import { EXIT, printLine } from '../printing/output.ts'
import { untilSignal } from '../until-signal.ts'
import type { Seen } from './seen.ts'
import { standAloneStatus } from './stand-alone.ts'

export interface Showing {
  readonly place: Place
  /** The gateways of all namespaces. */
  readonly ofAll: boolean
  readonly output: Format
}

const LOOK_MS = 1000

export async function showOnce({ place, ofAll, output }: Showing): Promise<void> {
  const seen = await statusOf(place, ofAll)
  await printData(output, seen)
  if (!seen.ready) process.exitCode = EXIT.no
}

/** Shows changes until a signal. If a gateway does not answer, the tool reports it and asks again. */
export async function showChanges({ place, ofAll, output }: Showing): Promise<void> {
  let last: string | undefined
  await untilSignal(LOOK_MS, async () => {
    const asked = statusOf(place, ofAll)
    // The first answer decides whether there is something to watch.
    const seen = await (last === undefined ? asked : asked.catch((error: Error) => error))
    const essence = seen instanceof Error ? seen.message : JSON.stringify(seen.essence)
    if (essence !== last) {
      if (last !== undefined && isForPeople(output)) printLine('')
      if (seen instanceof Error) process.stderr.write(`error: ${seen.message}\n`)
      else await printData(output, seen)
    }
    last = essence
  })
}

async function statusOf(place: Place, ofAll: boolean): Promise<Seen> {
  if (place.kind === 'stand-alone') return await standAloneStatus(place)
  const { clusterStatus } = await import('./cluster.ts')
  return await clusterStatus(place, ofAll)
}
