/** The record of a key as a request looks it up: scopes, routes and times resolved once. */
import type { ApiKeyRecord } from './schema/keys.ts'

export interface KeyEntry {
  readonly record: ApiKeyRecord
  /** Milliseconds since the epoch; Infinity when the key does not expire. */
  readonly expiresAt: number
  readonly usable: boolean
  readonly invokes: boolean
  readonly lists: boolean
  /** undefined: every route. */
  readonly routes: ReadonlySet<string> | undefined
}

export function keyOf(record: ApiKeyRecord): KeyEntry {
  return Object.freeze({
    record,
    expiresAt: record.expires_at ? Date.parse(record.expires_at) : Number.POSITIVE_INFINITY,
    usable: record.revoked_at === undefined && record.rotated_to === undefined,
    invokes: record.scopes.includes('models:invoke'),
    lists: record.scopes.includes('models:list'),
    routes: record.routes.includes('*') ? undefined : new Set(record.routes),
  })
}
