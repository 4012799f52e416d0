/** Faults that end an answer, because the rest would look complete. */
import type { Failure } from '../../wire/provider.ts'
import { malformed } from '../failures/classify.ts'

/** An event that is cut, or too large to read at once. */
export const BROKEN = unreadable(1)

export function unreadable(mebibytesMax: number): Failure {
  const size = `larger than ${mebibytesMax} MiB`
  return malformed(
    `The upstream sent an event that cannot be read: it is not a JSON object, or it is ${size}.`,
  )
}

/** Whether an unreadable event should have content. `value`: its parsed text. */
export function isBroken(data: string, value: unknown): boolean {
  return value === undefined && data.trim() !== ''
}

/** A client could not tell which of its tools the call names. */
export const NAMELESS: Failure = malformed('The upstream called a tool without its name.')
