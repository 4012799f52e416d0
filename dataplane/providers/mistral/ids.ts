/** Ids of tool calls: Mistral's API accepts only nine letters and digits. */
import { createHash } from 'node:crypto'
import { textOf } from '../../json/values.ts'

const LENGTH = 9
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Derived from the id alone, so that the call and its result have the same id in every attempt. */
export function callId(id: unknown): string {
  const own = textOf(id) ?? ''
  return /^[a-zA-Z0-9]{9}$/.test(own) ? own : derivedId(own)
}

export function derivedId(seed: string): string {
  const bytes = createHash('sha256').update(seed).digest().subarray(0, LENGTH)
  return Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join('')
}
