/** One issuer of the configuration: verifies a token, and returns its caller. */
import { isDeepStrictEqual } from 'node:util'
import type { KeyEntry } from '../call/key-entry.ts'
import type { JwtSettings } from '../schema/auth.ts'
import { callerOf, type KnownNames } from './claims.ts'
import type { KeySet } from './key-set.ts'
import { TokenRefused } from './refused.ts'
import type { TokenParts } from './token-parts.ts'

/** Clocks differ. */
const SKEW_SECONDS = 30
/** The claims that the library checks. */
const JUDGED = ['iss', 'aud', 'exp', 'nbf', 'iat']

export class Issuer {
  readonly settings: JwtSettings
  readonly keys: KeySet

  constructor(settings: JwtSettings, keys: KeySet) {
    this.settings = settings
    this.keys = keys
  }

  /** Throws TokenRefused, and the errors of `callerOf`. `now`: milliseconds since the epoch. */
  async verify(
    { token, header, claims }: TokenParts & { readonly token: string },
    names: KnownNames,
    now: number,
  ): Promise<KeyEntry> {
    const { name, issuer, audiences, algorithms } = this.settings
    const find = await this.keys.find()
    if (find === undefined) throw new TokenRefused(`${name}: its keys could not be fetched`)
    const { jwtVerify, errors } = await import('jose')
    try {
      const { payload, protectedHeader } = await jwtVerify(token, find, {
        issuer,
        audience: audiences,
        algorithms,
        requiredClaims: ['exp'],
        clockTolerance: SKEW_SECONDS,
        currentDate: new Date(now),
      })
      // The library has its own parser, and checks the values that it reads.
      const isRead = JUDGED.every((name) => isDeepStrictEqual(payload[name], claims[name]))
      if (!isRead || !isDeepStrictEqual({ ...protectedHeader }, { ...header }))
        throw new TokenRefused(`${name}: it writes names with escapes`)
      const caller = callerOf(claims, this.settings, names)
      return { ...caller, expiresAt: caller.expiresAt + SKEW_SECONDS * 1000 }
    } catch (error) {
      // A new key may have the name of an old one, or none.
      const { JWKSNoMatchingKey, JWSSignatureVerificationFailed } = errors
      const isOfAnother =
        error instanceof JWKSNoMatchingKey || error instanceof JWSSignatureVerificationFailed
      if (isOfAnother) this.keys.missed()
      if (error instanceof errors.JOSEError) throw new TokenRefused(`${name}: ${error.message}`)
      throw error
    }
  }
}
