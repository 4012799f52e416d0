/** The frames that a server writes (RFC 6455, 5): unmasked, whole messages or parts of one. */

export const OPCODE = { more: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Reasons for a close, by number (RFC 6455, 7.4.1). */
export const CLOSE = {
  /** The peer gave none. */
  none: 1005,
  goingAway: 1001,
  protocol: 1002,
  notText: 1003,
  notUtf8: 1007,
  tooLarge: 1009,
  internal: 1011,
} as const

const FIN = 0x80
/** Longer payloads have their length in two bytes, and then in eight. */
const SHORT_MAX = 125
const TWO_BYTES = 126
const EIGHT_BYTES = 127
const TWO_BYTES_MAX = 65_535
/** The largest payload of a control frame. */
const REASON_BYTES_MAX = SHORT_MAX - 2

export interface Frame {
  readonly opcode: number
  /** Whether it ends its message. */
  readonly isLast: boolean
  readonly payload: Buffer
}

export function frameOf({ opcode, isLast, payload }: Frame): Buffer {
  const { length } = payload
  const headLength = length <= SHORT_MAX ? 2 : length <= TWO_BYTES_MAX ? 4 : 10
  const bytes = Buffer.allocUnsafe(headLength + length)
  bytes[0] = (isLast ? FIN : 0) | opcode
  if (headLength === 2) bytes[1] = length
  else if (headLength === 4) {
    bytes[1] = TWO_BYTES
    bytes.writeUInt16BE(length, 2)
  } else {
    bytes[1] = EIGHT_BYTES
    bytes.writeBigUInt64BE(BigInt(length), 2)
  }
  payload.copy(bytes, headLength)
  return bytes
}

/** The payload of a close. */
export function closePayload(code: number, reason: string): Buffer {
  if (code === CLOSE.none) return Buffer.alloc(0)
  const words = Buffer.from(reason).subarray(0, REASON_BYTES_MAX)
  const payload = Buffer.allocUnsafe(2 + words.length)
  payload.writeUInt16BE(code)
  words.copy(payload, 2)
  return payload
}
