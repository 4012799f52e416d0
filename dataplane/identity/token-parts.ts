/** Reads the header and the claims of a token, signed or not, with their names. */
import { parsed, recordOf } from '../json/values.ts'

/** A JSON value other than an object has no members. */
export interface TokenParts {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** Undefined if it does not have three parts. This proves nothing. */
export function partsOf(token: string): TokenParts | undefined {
  const [header, claims, signature, ...more] = token.split('.')
  if (header === undefined || claims === undefined || !signature || more.length > 0)
    return undefined
  return { header: objectIn(header), claims: objectIn(claims) }
}

function objectIn(part: string): Readonly<Record<string, unknown>> {
  return recordOf(parsed(Buffer.from(part, 'base64url').toString()))
}
