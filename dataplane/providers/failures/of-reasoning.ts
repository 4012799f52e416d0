/** Refusals of a part of a request that the same server takes the request without. */
import type { Failure } from '../../wire/provider.ts'

/** `property 'reasoning_content' is unsupported`, as a server says of thinking in a history. */
const THINKING =
  /reasoning(_content)?\b.*(unsupported|not supported|unrecognized|unknown|unexpected|not permitted|extra)/i
const IN_MESSAGE = /messages?\b/i
/** As a server says of an effort for a model that does not reason. */
const EFFORT = /(unsupported|not supported|unrecognized|unknown|unexpected|does not support)/i

export function withConcession(failure: Failure): Failure {
  if (failure.class !== 'client') return failure
  const { message, param } = failure
  if (THINKING.test(message) && IN_MESSAGE.test(`${param ?? ''} ${message}`))
    return { ...failure, concession: 'unsealed' }
  const isOfEffort = param === 'reasoning_effort' || message.includes('reasoning_effort')
  return isOfEffort && EFFORT.test(message) ? { ...failure, concession: 'unthinking' } : failure
}
