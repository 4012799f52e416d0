/** Reads the header and the claims of a token, signed or not, with the names that they have. */
import { parsed, recordOf } from '../json/values.ts'

/** Members of another JSON than an object are none. */
export interface TokenParts {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** Undefined if it has not three parts. Nothing is proven by it. */
export function partsOf(token: string): TokenParts | undefined {
  const [header, claims, signature, ...more] = token.split('.')
  if (header === undefined || claims === undefined || !signature || more.length > 0)
    return undefined
  return { header: objectIn(header), claims: objectIn(claims) }
}

function objectIn(part: string): Readonly<Record<string, unknown>> {
  return recordOf(parsed(Buffer.from(part, 'base64url').toString()))
}
