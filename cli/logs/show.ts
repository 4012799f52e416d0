/** Prints the requested lines of a log, from a file, from standard input or from pods. */
import { withCluster } from '../asking/cluster-access.ts'
import type { InCluster } from '../asking/place.ts'
import { type Format, isForPeople } from '../printing/formats.ts'
import { printLine, printText } from '../printing/output.ts'
import { leaving } from '../until-signal.ts'
import { type Entry, type Filter, isAsked } from './entry.ts'
import { bytesOf, endOfLines, newBytesOf } from './files.ts'
import { entriesOf, lastOf, linesOf } from './lines.ts'
import { followPods, pastOf } from './pods.ts'
import { textOf } from './text.ts'

export interface Logs {
  readonly follows: boolean
  /** In a cluster: from the containers before the running ones. */
  readonly previous: boolean
  /** Lines of each pod or of the file, before the filter. */
  readonly tail: number | undefined
  readonly sinceMs: number | undefined
  readonly filter: Filter
  readonly output: Format
}

export async function logsOfPods(place: InCluster, logs: Logs): Promise<void> {
  const { follows, previous, tail, sinceMs } = logs
  const sinceSeconds = sinceMs === undefined ? undefined : Math.ceil(sinceMs / 1000)
  const print = await printer(logs)
  await withCluster(place, async (access) => {
    const reading = { tail, sinceSeconds, previous }
    if (follows) return await followPods(access, { ...reading, until: leaving() }, print)
    for await (const entry of pastOf(access, reading)) print(entry)
  })
}

/** `-` is standard input. */
export async function logsOfFile(path: string, logs: Logs): Promise<void> {
  const { follows, tail, sinceMs } = logs
  const print = await printer(logs)
  const from = sinceMs === undefined ? 0 : Date.now() - sinceMs
  const end = path === '-' ? 0 : await endOfLines(path)
  const bytes = path === '-' ? process.stdin : bytesOf(path, follows ? { to: end } : {})
  const past = entriesOf(linesOf(bytes), undefined)
  for await (const entry of tail === undefined ? past : await lastOf(past, tail)) {
    if (entry.at >= from) print(entry)
  }
  if (!follows || path === '-') return
  const lines = linesOf(newBytesOf(path, end, leaving()))
  for await (const entry of entriesOf(lines, undefined)) print(entry)
}

/** A document for each line, so that a program can read them as they arrive. */
async function printer({ filter, output }: Logs): Promise<(entry: Entry) => void> {
  const { stringify } = output === 'yaml' ? await import('yaml') : JSON
  return (entry) => {
    if (!isAsked(entry, filter)) return
    if (isForPeople(output)) return printLine(textOf(entry, output === 'wide'))
    const { pod, fields = { message: entry.text } } = entry
    const value = pod === undefined ? fields : { pod, ...fields }
    if (output !== 'name')
      return printText(`${output === 'yaml' ? '---\n' : ''}${stringify(value)}`)
    if (fields.request_id !== undefined) printLine(String(fields.request_id))
  }
}
