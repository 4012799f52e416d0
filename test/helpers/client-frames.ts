/** The frames of a WebSocket client: writes masked ones, and reads the server's. */
import { randomBytes } from 'node:crypto'

export interface ClientFrame {
  readonly opcode: number
  readonly isLast?: boolean
  readonly payload?: string | Buffer
  readonly isMasked?: boolean
  /** Bits 4 to 6 of the first byte. */
  readonly reserved?: number
}

export function clientFrame(frame: ClientFrame): Buffer {
  const { opcode, isLast = true, isMasked = true, reserved = 0 } = frame
  const payload = Buffer.from(frame.payload ?? '')
  const { length } = payload
  const size = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const head = Buffer.alloc(2 + size)
  head[0] = (isLast ? 0x80 : 0) | reserved | opcode
  head[1] = (isMasked ? 0x80 : 0) | (size === 0 ? length : size === 2 ? 126 : 127)
  if (size === 2) head.writeUInt16BE(length, 2)
  if (size === 8) head.writeBigUInt64BE(BigInt(length), 2)
  if (!isMasked) return Buffer.concat([head, payload])
  const mask = randomBytes(4)
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ (mask[at & 3] ?? 0))])
}

export const textFrame = (payload: string): Buffer => clientFrame({ opcode: 1, payload })

export interface ServerFrame {
  readonly opcode: number
  readonly isLast: boolean
  readonly payload: Buffer
}

/** The frames that are whole, and the number of their bytes. */
export function serverFrames(bytes: Buffer): { frames: ServerFrame[]; end: number } {
  const frames: ServerFrame[] = []
  let end = 0
  for (;;) {
    const short = (bytes[end + 1] ?? 0) & 0x7f
    const size = short === 126 ? 2 : short === 127 ? 8 : 0
    const start = end + 2 + size
    if (bytes.length < start) return { frames, end }
    const length =
      size === 0
        ? short
        : size === 2
          ? bytes.readUInt16BE(end + 2)
          : Number(bytes.readBigUInt64BE(end + 2))
    if (bytes.length < start + length) return { frames, end }
    const first = bytes[end] ?? 0
    const payload = bytes.subarray(start, start + length)
    frames.push({ opcode: first & 0x0f, isLast: (first & 0x80) !== 0, payload })
    end = start + length
  }
}
