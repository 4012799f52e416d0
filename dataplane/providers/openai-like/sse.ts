/** Server-sent events as bytes: whole events out of chunks cut anywhere, and the fields of one event. */
import type { Framer, Framing, WireEvent } from '../contract.ts'

/** An event larger than this is passed on in pieces and not read. */
export const EVENT_BYTES_MAX = 1_048_576

export const SSE: Framing = {
  mediaType: 'text/event-stream',
  closing: Buffer.from('\n\n'),
  open: () => new SseFramer(),
  split: splitEvents,
  parse: parseEvent,
}

const CR = 13
const LF = 10
const EMPTY = Buffer.alloc(0)
const BLANK_LINE = Buffer.from('\n\n')

/**
 * Cuts a byte stream behind its blank lines, indifferent to how the bytes arrive. Lines end with LF, CRLF or CR, as
 * the standard allows. What `push` returns, joined with `rest`, is exactly what went in.
 */
export class SseFramer implements Framer {
  /** The beginning of an event that has not ended, and room behind it for more. */
  #kept: Buffer = EMPTY
  #length = 0
  /** Whether `#kept` was made here; else it is a chunk, which must not be written into. */
  #isOwn = false

  /** The whole events that end in this chunk, with the tail kept from earlier ones; undefined if none ends. */
  push(chunk: Buffer): Buffer | undefined {
    const earlier = this.#length
    const bytes = earlier === 0 ? chunk : this.#append(chunk)
    // The boundary may begin in the tail, so a little of it is searched again.
    const cut = lastBoundary(bytes, Math.max(0, earlier - 3))
    if (cut === 0 && bytes.length <= EVENT_BYTES_MAX) {
      if (earlier === 0) this.#keep(bytes)
      return undefined
    }
    if (cut === 0 || cut === bytes.length) {
      this.#keep(EMPTY)
      return bytes
    }
    this.#keep(bytes.subarray(cut))
    return bytes.subarray(0, cut)
  }

  /** The rest when the upstream has ended: an event without its blank line, or nothing. */
  rest(): Buffer {
    const left = this.#kept.subarray(0, this.#length)
    this.#keep(EMPTY)
    return left
  }

  #keep(bytes: Buffer): void {
    this.#kept = bytes
    this.#length = bytes.length
    this.#isOwn = false
  }

  /** An event may come byte by byte: it moves to twice the room when the room is used up, not with every piece. */
  #append(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length
    if (!this.#isOwn || length > this.#kept.length) {
      const roomier = Buffer.allocUnsafe(2 * length)
      this.#kept.copy(roomier, 0, 0, this.#length)
      this.#kept = roomier
      this.#isOwn = true
    }
    chunk.copy(this.#kept, this.#length)
    this.#length = length
    return this.#kept.subarray(0, length)
  }
}

/** The bytes of each event in a run of whole events, blank lines included. */
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

/** The fields of one event; undefined when it has no data (a comment, a blank line). */
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

/** Index behind the last blank line at or after `from`; 0 without one. */
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

/** Index of the byte before the line end that finishes at `at`: CRLF is one line end. */
function previousLineEnd(bytes: Buffer, at: number): number {
  return bytes[at] === LF && bytes[at - 1] === CR ? at - 2 : at - 1
}
