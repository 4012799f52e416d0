/** The form of a key: `gw_<environment>_<id>_<43 base62 characters><6 base62 digits of a CRC-32>`. */
import { crc32 } from 'node:zlib'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 256 random bits, so that a plain hash is safe to store. */
export const RANDOM_BYTES = 32
/** 62^43 is the first power of 62 above 2^256, so that every 32 bytes have a distinct text. */
const SECRET_LENGTH = 43
/** 62^6 is above 2^32. */
const CHECKSUM_LENGTH = 6
/** Enough of the secret to distinguish two keys of one id, too little to help an attacker. */
const SHOWN_LENGTH = 4

export interface KeyParts {
  readonly environment: string
  readonly id: string
}

/** The underscore separates the parts of a key, so no part may hold one. */
export function isKeyPart(text: string): boolean {
  return /^[A-Za-z0-9-]{1,63}$/.test(text) && !text.startsWith('-')
}

/** The checksum lets scanners recognise a leaked key without a request. */
export function makeKey(parts: KeyParts, random: Uint8Array): string {
  if (random.length !== RANDOM_BYTES) throw new RangeError(`a key takes ${RANDOM_BYTES} bytes`)
  const number = BigInt(`0x${Buffer.from(random).toString('hex')}`)
  const body = `${headOf(parts)}${base62(number, SECRET_LENGTH)}`
  return `${body}${base62(BigInt(crc32(body)), CHECKSUM_LENGTH)}`
}

/** The part of a key that may be shown, so that people recognise it. */
export function prefixOf(parts: KeyParts, key: string): string {
  return key.slice(0, headOf(parts).length + SHOWN_LENGTH)
}

function headOf({ environment, id }: KeyParts): string {
  return `gw_${environment}_${id}_`
}

function base62(number: bigint, length: number): string {
  let text = ''
  for (let rest = number; rest > 0n; rest /= 62n) text = BASE62.charAt(Number(rest % 62n)) + text
  return text.padStart(length, '0')
}
