/** Server-sent events as bytes: whole events from chunks that may end anywhere, and the fields of an event. */

import type { Framing, WireEvent } from '../../wire/provider.ts'
import { BoundaryFramer } from '../boundary-framer.ts'

export const SSE: Framing = {
  mediaType: 'text/event-stream',
  closing: Buffer.from('\n\n'),
  open: () => new SseFramer(),
  split: splitEvents,
  parse: parseEvent,
}

const CR = 13
const LF = 10
const BLANK_LINE = Buffer.from('\n\n')

/** Lines end with LF, CRLF or CR, as in the standard. */
export class SseFramer extends BoundaryFramer {
  constructor(bytesMax?: number) {
    super(lastBoundary, bytesMax)
  }
}

/** The bytes of each event in a series of whole events, with blank lines. */
export function* splitEvents(bytes: Buffer): Generator<Buffer> {
  let start = 0
  for (let at = 0; at < bytes.length; at++) {
    if (!endsLine(bytes, at)) continue
    if (bytes[at] === CR && bytes[at + 1] === LF) at++
    const before = previousLineEnd(bytes, at)
    if (before >= start && !endsLine(bytes, before)) continue
    yield bytes.subarray(start, at + 1)
    start = at + 1
  }
  if (start < bytes.length) yield bytes.subarray(start)
}

/** The fields of one event; undefined if it has no data (a comment, a blank line). */
export function parseEvent(bytes: Buffer): WireEvent | undefined {
  let event = ''
  let data: string | undefined
  for (const line of bytes.toString('utf8').split(/\r\n|\n|\r/)) {
    const text = line.charCodeAt(0) === 0xfeff ? line.slice(1) : line
    if (text.startsWith('data:') || text === 'data') {
      const value = fieldValue(text, 5)
      data = data === undefined ? value : `${data}\n${value}`
    } else if (text.startsWith('event:')) {
      event = fieldValue(text, 6)
    }
  }
  return data === undefined ? undefined : { event, data }
}

function fieldValue(line: string, from: number): string {
  return line.slice(line.charCodeAt(from) === 32 ? from + 1 : from)
}

/** Index after the last blank line at or after `from`; 0 if there is no such line. */
function lastBoundary(bytes: Buffer, from: number): number {
  if (!bytes.includes(CR, from)) {
    const at = bytes.subarray(from).lastIndexOf(BLANK_LINE)
    return at === -1 ? 0 : from + at + BLANK_LINE.length
  }
  for (let at = bytes.length - 1; at >= from; at--) {
    if (endsLine(bytes, at) && endsLine(bytes, previousLineEnd(bytes, at))) return at + 1
  }
  return 0
}

function endsLine(bytes: Buffer, at: number): boolean {
  return bytes[at] === LF || bytes[at] === CR
}

/** Index of the byte before the line end that ends at `at`: CRLF is one line end. */
function previousLineEnd(bytes: Buffer, at: number): number {
  return bytes[at] === LF && bytes[at - 1] === CR ? at - 2 : at - 1
}
