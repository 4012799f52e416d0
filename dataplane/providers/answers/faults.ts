/** Faults of an answer that end it, because the rest would look whole. */
import type { Failure } from '../../wire/provider.ts'
import { malformed } from '../failures/classify.ts'

/** An event that is cut, or too large to be read at once. */
export const BROKEN = unreadable(1)

export function unreadable(mebibytesMax: number): Failure {
  const size = `larger than ${mebibytesMax} MiB`
  return malformed(
    `The upstream sent an event that cannot be read: it is no JSON object, or ${size}.`,
  )
}

/** Whether an event was to say something, though it cannot be read: `value` is what its text was parsed to. */
export function isBroken(data: string, value: unknown): boolean {
  return value === undefined && data.trim() !== ''
}

/** A client could not say which of its tools is meant. */
export const NAMELESS: Failure = malformed('The upstream called a tool without its name.')
