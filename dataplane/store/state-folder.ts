/** Reports on `state_dir`: whether it can write, and that counters of another kind stay unread. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { StoreContext } from './opened.ts'

/** The file of several processes, which their store keeps. */
export const COUNTERS_FILE = 'counters.sqlite'

type Reporting = Pick<StoreContext, 'metrics' | 'log'>

/** Gets the error when writing begins to fail, and undefined when it succeeds again. */
export function writingReport({ metrics, log }: Reporting): (error: Error | undefined) => void {
  return (error) => {
    metrics.storeFailing.at().value = error === undefined ? 0 : 1
    if (error === undefined) log.event('info', 'store', 'Counters are written to state_dir again.')
    else log.event('error', 'store', `Counters cannot be written to state_dir: ${error.message}`)
  }
}

/** Call it before the own file is opened. One process and several keep counters in different files. */
export function warnOfOthers(
  { log }: Pick<Reporting, 'log'>,
  stateDir: string,
  { own, other }: { readonly own: string; readonly other: string },
): void {
  if (writtenAt(join(stateDir, other)) <= writtenAt(join(stateDir, own))) return
  const message = `Counters begin anew: those of ${other} in state_dir are of a gateway with another gateway.workers.`
  log.event('warn', 'store', message)
}

/** 0 if there is no such file. The last writes are in a file beside it. */
function writtenAt(path: string): number {
  const times = [path, `${path}-wal`].map(
    (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  )
  return Math.max(...times)
}
