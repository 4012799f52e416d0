/** One issuer of the configuration: verifies a token, and says who calls with it. */
import type { KeyEntry } from '../config/key-entry.ts'
import type { JwtSettings } from '../config/schema/auth.ts'
import { callerOf, type KnownNames } from './claims.ts'
import type { KeySet } from './key-set.ts'
import { TokenRefused } from './refused.ts'

/** Clocks differ. */
const SKEW_SECONDS = 30

export class Issuer {
  readonly settings: JwtSettings
  readonly keys: KeySet

  constructor(settings: JwtSettings, keys: KeySet) {
    this.settings = settings
    this.keys = keys
  }

  /** Throws TokenRefused, and what `callerOf` throws. `now`: milliseconds since the epoch. */
  async verify(token: string, names: KnownNames, now: number): Promise<KeyEntry> {
    const { name, issuer, audiences, algorithms } = this.settings
    const find = await this.keys.find()
    if (find === undefined) throw new TokenRefused(`${name}: its keys could not be fetched`)
    const { jwtVerify, errors } = await import('jose')
    try {
      const { payload } = await jwtVerify(token, find, {
        issuer,
        audience: audiences,
        algorithms,
        requiredClaims: ['exp'],
        clockTolerance: SKEW_SECONDS,
        currentDate: new Date(now),
      })
      const caller = callerOf(payload, this.settings, names)
      return { ...caller, expiresAt: caller.expiresAt + SKEW_SECONDS * 1000 }
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) this.keys.missed()
      if (error instanceof errors.JOSEError) throw new TokenRefused(`${name}: ${error.message}`)
      throw error
    }
  }
}
