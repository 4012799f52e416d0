/** Writes JSON at once, or in steps if it is long. */

import { AT_ONCE_BYTES_MAX } from '../base/heavy-work.ts'
import { inSteps } from '../base/steps.ts'
import { joining, writing } from '../json/writing.ts'

/** `about`: the expected length. */
export function writtenJson(value: object, about: number): string | Promise<Buffer> {
  return about <= AT_ONCE_BYTES_MAX ? JSON.stringify(value) : inSteps(whole(value))
}

function* whole(value: object): Generator<undefined, Buffer> {
  return yield* joining(yield* writing(value))
}
