/**
 * Arguments of a call for a body in which they are not a text: long ones are parsed in steps when the body is written.
 */
import { valuesMaxOf } from '../bounds.ts'
import { AT_ONCE_BYTES } from '../unwritten.ts'
import { type Json, parsedArguments, recordOf } from '../values.ts'
import { Later } from '../writing.ts'
import { parsing } from './parsing.ts'

/** The result of `parsedArguments`, or a value that writes it later. */
export function argumentsOf(value: unknown): Json | Later {
  if (typeof value !== 'string' || value.length <= AT_ONCE_BYTES) return parsedArguments(value)
  return new Later(() => parsedInSteps(value))
}

function* parsedInSteps(text: string): Generator<undefined, Json> {
  return recordOf(yield* parsing(Buffer.from(text), valuesMaxOf(0), { isHeld: true }))
}
