/** A member of a request with a changed value: a long one is parsed in steps when the body is written. */
import { valuesMaxOf } from '../bounds.ts'
import type { Span } from '../found.ts'
import { AT_ONCE_BYTES } from '../unwritten.ts'
import { parsedExactly, valueBelow } from '../values.ts'
import { Later } from '../writing.ts'
import { parsing } from './parsing.ts'

const BEFORE = Buffer.from('{"value":')
const BEHIND = Buffer.from('}')

/**
 * The result of `changed` on the value in these bytes; undefined, or the bytes unchanged, if nothing changes. The bytes
 * are valid JSON.
 */
export function changedMember(
  bytes: Buffer,
  { start, end }: Span,
  changed: (value: unknown) => unknown,
): string | Later | undefined {
  const own = bytes.subarray(start, end)
  if (own.length > AT_ONCE_BYTES) return new Later(() => changing(own, changed))
  const value = changed(parsedExactly(own.toString()))
  return value === undefined ? undefined : JSON.stringify(value)
}

function* changing(
  own: Buffer,
  changed: (value: unknown) => unknown,
): Generator<undefined, unknown> {
  const object = yield* parsing(Buffer.concat([BEFORE, own, BEHIND]), valuesMaxOf(0))
  return changed(valueBelow(object, 'value')) ?? own
}
