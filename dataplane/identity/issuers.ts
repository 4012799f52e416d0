/** The issuers of the active configuration; those with an unchanged key set keep it. */
import { readFile } from 'node:fs/promises'
import type { KeyEntry } from '../call/key-entry.ts'
import type { JwtSettings } from '../schema/auth.ts'
import type { Section } from '../schema/index.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { KnownNames } from './claims.ts'
import { fetchKeys } from './fetched-keys.ts'
import { Issuer } from './issuer.ts'
import { KeySet, type KeySetWorld, type ReadKeys } from './key-set.ts'
import { TokenRefused } from './refused.ts'
import { partsOf } from './token-parts.ts'
import { VerifiedTokens } from './verified-tokens.ts'

export interface IssuersWorld extends Pick<KeySetWorld, 'clock' | 'random' | 'schedule'> {
  readonly log: Log
  readonly metrics: Pick<Metrics, 'jwksFetches' | 'jwksKeys'>
}

/** A token and its SHA-256. */
interface Presented {
  readonly token: string
  readonly digest: string
}

interface KeptIssuer {
  /** Everything that the connection to its keys depends on. */
  readonly identity: string
  readonly issuer: Issuer
}

export class Issuers {
  readonly #world: IssuersWorld
  readonly #verified = new VerifiedTokens()
  #known = new Map<string, KeptIssuer>()

  constructor(world: IssuersWorld) {
    this.#world = world
  }

  /** Whether no issuer is configured. */
  get isEmpty(): boolean {
    return this.#known.size === 0
  }

  /** Clears the cache, because a verified token may have another caller now, or none. */
  follow(section: Section): void {
    this.#verified.clear()
    const { http_proxy, no_proxy, tls } = section
    const known = new Map<string, KeptIssuer>()
    for (const settings of section.auth.jwt) {
      const { jwks } = settings
      const identity = JSON.stringify([jwks, jwks.url && { http_proxy, no_proxy, tls }])
      const before = this.#known.get(settings.name)
      const keys =
        before?.identity === identity ? before.issuer.keys : this.#open(settings, section)
      known.set(settings.name, { identity, issuer: new Issuer(settings, keys) })
    }
    const kept = new Set([...known.values()].map(({ issuer }) => issuer.keys))
    for (const { issuer } of this.#known.values()) if (!kept.has(issuer.keys)) issuer.keys.close()
    this.#known = known
    for (const family of [this.#world.metrics.jwksFetches, this.#world.metrics.jwksKeys])
      family.retain('issuer', (name) => known.has(name))
  }

  /** The caller of a recently verified token. `now`: milliseconds since the epoch. */
  verified(digest: string, now: number): KeyEntry | undefined {
    return this.#verified.get(digest, now)
  }

  /** Throws TokenRefused, and ERR_GW_AUTH_SCOPE_DENIED. */
  async verify({ token, digest }: Presented, names: KnownNames, now: number): Promise<KeyEntry> {
    const parts = partsOf(token)
    if (parts === undefined) throw new TokenRefused('it is no token')
    let refused = new TokenRefused('its issuer is not known')
    for (const { issuer } of this.#known.values()) {
      if (issuer.settings.issuer !== parts.claims.iss) continue
      try {
        const caller = await issuer.verify({ token, ...parts }, names, now)
        this.#verified.add(digest, caller, now)
        return caller
      } catch (error) {
        if (!(error instanceof TokenRefused)) throw error
        refused = error
      }
    }
    throw refused
  }

  /** The issuers in the status. */
  list() {
    return [...this.#known].map(([name, { issuer }]) => ({
      name,
      issuer: issuer.settings.issuer,
      ...issuer.keys.state,
    }))
  }

  close(): void {
    for (const { issuer } of this.#known.values()) issuer.keys.close()
  }

  #open(settings: JwtSettings, section: Section): KeySet {
    const { clock, random, schedule, log, metrics } = this.#world
    const { name } = settings
    let before: string | undefined
    return new KeySet(readerOf(settings, section), {
      clock,
      random,
      schedule,
      fetched: (keys, fault) => {
        metrics.jwksFetches.at(name, fault === undefined ? 'success' : 'failure').value++
        if (keys !== undefined) {
          metrics.jwksKeys.at(name).value = keys
          // Clears verified tokens, because their key may have been removed.
          this.#verified.clear()
        }
        if (fault !== undefined && fault !== before) {
          const message = `The keys of issuer "${name}" could not be fetched; known ones are kept.`
          log.event('warn', 'jwks', message, { issuer: name, reason: fault })
        }
        before = fault
      },
    })
  }
}

function readerOf({ jwks }: JwtSettings, section: Section): ReadKeys {
  const { url, file, keys } = jwks
  if (url !== undefined) return (signal) => fetchKeys(url, section, signal)
  if (file !== undefined) return (signal) => readFile(file, { encoding: 'utf8', signal })
  return async () => JSON.stringify({ keys: keys ?? [] })
}
