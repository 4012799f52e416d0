/** JSON lines: a value on each line. */

import type { Framing } from '../../wire/provider.ts'
import { BoundaryFramer, EVENT_BYTES_MAX } from '../boundary-framer.ts'

const LF = 10
const TOO_LONG = '{"error":"a line of the answer is longer than 1 MiB"}'

export const LINES: Framing = {
  mediaType: 'application/x-ndjson',
  closing: Buffer.from('\n'),
  open: () => new BoundaryFramer(lastLineEnd),
  split: splitLines,
  parse(line) {
    // A line in pieces cannot be read, and its loss must be reported.
    if (line.length > EVENT_BYTES_MAX) return { event: '', data: TOO_LONG }
    const data = line.toString('utf8').trim()
    return data === '' ? undefined : { event: '', data }
  },
}

function lastLineEnd(bytes: Buffer, from: number): number {
  const at = bytes.lastIndexOf(LF)
  return at < from ? 0 : at + 1
}

function* splitLines(lines: Buffer): Generator<Buffer> {
  for (let start = 0; start < lines.length; ) {
    const at = lines.indexOf(LF, start)
    const end = at === -1 ? lines.length : at + 1
    yield lines.subarray(start, end)
    start = end
  }
}
