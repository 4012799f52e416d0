/** Shows a status once, or again whenever it has changed. */
import type { Place } from '../asking/place.ts'
import { EXIT, type Format, printLine, printValue } from '../printing/output.ts'
import { untilSignal } from '../until-signal.ts'
import { clusterStatus } from './cluster.ts'
import type { Seen } from './seen.ts'
import { standAloneStatus } from './stand-alone.ts'

export interface Showing {
  readonly place: Place
  /** The gateways of all namespaces. */
  readonly isWide: boolean
  readonly output: Format
}

const LOOK_MS = 1000

export async function showOnce({ place, isWide, output }: Showing): Promise<void> {
  const seen = await statusOf(place, isWide)
  await show(seen, output)
  if (!seen.ready) process.exitCode = EXIT.no
}

/** Shows changes until a signal; a gateway that does not answer for a moment is reported and asked again. */
export async function showChanges({ place, isWide, output }: Showing): Promise<void> {
  let last: string | undefined
  await untilSignal(LOOK_MS, async () => {
    const asked = statusOf(place, isWide)
    // The first answer decides whether there is anything to watch.
    const seen = await (last === undefined ? asked : asked.catch((error: Error) => error))
    const essence = seen instanceof Error ? seen.message : JSON.stringify(seen.essence)
    if (essence !== last) {
      if (last !== undefined && output === 'table') printLine('')
      if (seen instanceof Error) process.stderr.write(`error: ${seen.message}\n`)
      else await show(seen, output)
    }
    last = essence
  })
}

async function statusOf(place: Place, isWide: boolean): Promise<Seen> {
  if (place.kind === 'stand-alone') return await standAloneStatus(place)
  return await clusterStatus(place, isWide)
}

async function show(seen: Seen, output: Format): Promise<void> {
  if (output === 'table') seen.print()
  else await printValue(seen.value, output)
}
