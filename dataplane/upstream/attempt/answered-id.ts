/** Whose answer it is, where the upstream says so: many runtimes send back the id that they were sent. */
import type { IncomingHttpHeaders } from 'node:http'
import type { PoolRequest } from '../connection/http1/contract.ts'

const NAMES = ['x-request-id', 'x-client-request-id'] as const
const NUMBER = /^[0-9a-z]{1,12}$/

/**
 * Whether an answer names a request of this process other than the one that was sent. Ids of anybody else's making say
 * nothing: hosted APIs give their own, and so does a gateway behind this one. A client may have sent any id as its own.
 */
export function answersAnother(
  headers: IncomingHttpHeaders,
  { requestId, ownHeaders = [] }: Pick<PoolRequest, 'requestId' | 'ownHeaders'>,
): boolean {
  const tag = requestId.slice(0, requestId.lastIndexOf('-') + 1)
  if (tag === '') return false
  return NAMES.some((name) => {
    const told = headers[name]
    if (typeof told !== 'string' || told === requestId || !told.startsWith(tag)) return false
    return NUMBER.test(told.slice(tag.length)) && !ownHeaders.includes(told)
  })
}
