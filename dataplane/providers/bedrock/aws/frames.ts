/** AWS event streams: frames with a length, headers and two checksums. */
import { crc32 } from 'node:zlib'
import { parsed, recordOf } from '../../../json/values.ts'
import type { Framer, Framing, WireEvent } from '../../../wire/provider.ts'

/** Total length, header length, and the checksum of both. */
const PRELUDE_BYTES = 12
const CRC_BYTES = 4
const FRAME_BYTES_MIN = PRELUDE_BYTES + CRC_BYTES
const HEADERS_BYTES_MAX = 131_072
const FRAME_BYTES_MAX = 16_777_216 + 16
const NOTHING = Buffer.alloc(0)

export const EVENT_STREAM: Framing = {
  mediaType: 'application/vnd.amazon.eventstream',
  open: () => new EventStreamFramer(),
  split,
  parse,
}

/** The event of exceptions, errors and damaged frames; `__type` has their kind. */
export const FAILED = 'error'
/** The `__type` of a damaged frame. */
export const DAMAGED = 'DamagedFrame'
const DAMAGE: WireEvent = {
  event: FAILED,
  data: JSON.stringify({ __type: DAMAGED, message: "The upstream's stream is damaged." }),
}

class EventStreamFramer implements Framer {
  /** The start of an unfinished frame, with spare room after it. */
  #kept: Buffer = NOTHING
  #length = 0
  #damaged = false

  push(chunk: Buffer): Buffer | undefined {
    if (this.#damaged) return undefined
    const bytes = this.#length === 0 ? chunk : this.#append(chunk)
    const end = endOfWhole(bytes)
    if (end === undefined) {
      // No later length can be trusted: the rest becomes one last, damaged frame.
      this.#damaged = true
      this.#length = 0
      return bytes
    }
    if (end > 0 || this.#length === 0) this.#keep(bytes.subarray(end))
    return end === 0 ? undefined : bytes.subarray(0, end)
  }

  rest(): Buffer {
    return this.#kept.subarray(0, this.#length)
  }

  #keep(bytes: Buffer): void {
    this.#kept = Buffer.from(bytes)
    this.#length = bytes.length
  }

  /** Frames may arrive byte by byte, so the room doubles when it is full. Nothing is copied for each piece. */
  #append(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length
    if (length > this.#kept.length) {
      const roomier = Buffer.allocUnsafe(2 * length)
      this.#kept.copy(roomier, 0, 0, this.#length)
      this.#kept = roomier
    }
    chunk.copy(this.#kept, this.#length)
    this.#length = length
    return this.#kept.subarray(0, length)
  }
}

/** The end of the last complete frame; undefined if a prelude is damaged. */
function endOfWhole(bytes: Buffer): number | undefined {
  let end = 0
  while (end + PRELUDE_BYTES <= bytes.length) {
    const length = lengthOf(bytes, end)
    if (length === undefined) return undefined
    if (end + length > bytes.length) break
    end += length
  }
  return end
}

/** The length of the frame at this position; undefined if its prelude is damaged. */
function lengthOf(bytes: Buffer, at: number): number | undefined {
  const total = bytes.readUInt32BE(at)
  const headers = bytes.readUInt32BE(at + 4)
  if (bytes.readUInt32BE(at + 8) !== crc32(bytes.subarray(at, at + 8))) return undefined
  const room = total - FRAME_BYTES_MIN
  const isPossible = total <= FRAME_BYTES_MAX && headers <= HEADERS_BYTES_MAX && headers <= room
  return isPossible ? total : undefined
}

/** After damage the lengths are meaningless: the frame is the rest of the bytes, and `parse` reports the damage. */
function* split(frames: Buffer): Generator<Buffer> {
  for (let at = 0; at < frames.length; ) {
    const isLong = at + FRAME_BYTES_MIN <= frames.length
    const length = isLong ? frames.readUInt32BE(at) : 0
    const end = length < FRAME_BYTES_MIN ? frames.length : at + length
    yield frames.subarray(at, end)
    at = end
  }
}

function parse(frame: Buffer): WireEvent | undefined {
  if (!isSound(frame)) return DAMAGE
  const payloadAt = PRELUDE_BYTES + frame.readUInt32BE(4)
  const headers = headersIn(frame.subarray(PRELUDE_BYTES, payloadAt))
  if (headers === undefined) return DAMAGE
  const data = frame.toString('utf8', payloadAt, frame.length - CRC_BYTES)
  switch (headers.get(':message-type')) {
    case 'event':
      return { event: headers.get(':event-type') ?? '', data }
    case 'exception':
      return failed(headers.get(':exception-type'), recordOf(parsed(data)))
    case 'error':
      return failed(headers.get(':error-code'), { message: headers.get(':error-message') })
    default:
      return undefined
  }
}

function failed(type: string | undefined, content: Readonly<Record<string, unknown>>): WireEvent {
  return { event: FAILED, data: JSON.stringify({ ...content, __type: type }) }
}

function isSound(frame: Buffer): boolean {
  const end = frame.length - CRC_BYTES
  if (frame.length < FRAME_BYTES_MIN || lengthOf(frame, 0) !== frame.length) return false
  return frame.readUInt32BE(end) === crc32(frame.subarray(0, end))
}

/** Value sizes in bytes by type, from `true` to a UUID; texts and bytes start with their length. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16] as const
const TYPE_TEXT = 7

/** The text values by name; undefined if the values do not fill their room exactly. */
function headersIn(bytes: Buffer): Map<string, string> | undefined {
  const headers = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const typeAt = at + 1 + (bytes[at] as number)
    const type = bytes[typeAt]
    if (type === undefined || type >= VALUE_BYTES.length) return undefined
    let valueAt = typeAt + 1
    let length: number | undefined = VALUE_BYTES[type]
    if (length === undefined) {
      if (valueAt + 2 > bytes.length) return undefined
      length = bytes.readUInt16BE(valueAt)
      valueAt += 2
    }
    const end = valueAt + length
    if (end > bytes.length) return undefined
    if (type === TYPE_TEXT) {
      headers.set(bytes.toString('latin1', at + 1, typeAt), bytes.toString('utf8', valueAt, end))
    }
    at = end
  }
  return headers
}
