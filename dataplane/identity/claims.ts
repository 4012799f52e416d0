/** Turns the claims of a verified token into the caller: checks the issuer's requirements, then reads tenant, id and routes. */
import { GatewayError } from '../base/errors.ts'
import { type KeyEntry, keyOf } from '../call/key-entry.ts'
import { callerId } from '../config/caller-id.ts'
import { textOf, valueBelow } from '../json/values.ts'
import type { JwtSettings } from '../schema/auth.ts'
import { TokenRefused } from './refused.ts'

const EVERY_ROUTE = '*'
const TENANT_SHOWN_MAX = 100
const NAMES_MAX = 1024

/** The part of the configuration that applies to a token. */
export interface KnownNames {
  hasTenant(tenant: string): boolean
}

/** Throws TokenRefused, or ERR_GW_AUTH_SCOPE_DENIED if the token is valid and its tenant is unknown. */
export function callerOf(claims: unknown, settings: JwtSettings, names: KnownNames): KeyEntry {
  for (const [pointer, values] of Object.entries(settings.require)) {
    if (!textsAt(claims, pointer).some((value) => values.includes(value)))
      throw new TokenRefused(`${settings.name}: the claim ${pointer} has no required value`)
  }
  const [own] = textsAt(claims, settings.id.claim)
  if (own === undefined)
    throw new TokenRefused(`${settings.name}: there is no claim ${settings.id.claim}`)
  const expiry = valueBelow(claims, 'exp')
  const key = keyOf({
    id: callerId(settings.name, own),
    tenant: tenantOf(claims, settings, names),
    hash: '',
    scopes: settings.scopes,
    routes: routesOf(claims, settings),
  })
  const { end_user: declared } = settings
  const [endUser] = declared === undefined ? [] : textsAt(claims, declared.claim)
  return { ...key, expiresAt: Number(expiry) * 1000, ...(endUser !== undefined && { endUser }) }
}

function tenantOf(claims: unknown, settings: JwtSettings, names: KnownNames): string {
  const { name, claim, map } = settings.tenant
  if (name !== undefined) return name
  const value = claim === undefined ? undefined : textsAt(claims, claim)[0]
  if (value === undefined) throw new TokenRefused(`${settings.name}: there is no claim ${claim}`)
  if (map !== undefined) {
    if (Object.hasOwn(map, value) && map[value] !== undefined) return map[value]
    throw unknownTenant(value)
  }
  if (!names.hasTenant(value)) throw unknownTenant(value)
  return value
}

/** The token proves the caller, so this is not a 401: another token of the same caller would not help. */
function unknownTenant(value: string): GatewayError {
  const shown = JSON.stringify(value.slice(0, TENANT_SHOWN_MAX))
  return new GatewayError(
    'ERR_GW_AUTH_SCOPE_DENIED',
    `This gateway knows no tenant for ${shown}, which the token names. Ask your platform team to add one.`,
  )
}

function routesOf(claims: unknown, { routes, routes_from: from }: JwtSettings): string[] {
  if (from === undefined) return [...(routes ?? [EVERY_ROUTE])]
  const { claim, map } = from
  return textsAt(claims, claim)
    .flatMap((value) => {
      // A `*` means all routes only in a key's record, not in an issuer's claim.
      if (map === undefined) return value.endsWith(EVERY_ROUTE) ? [] : [value]
      return Object.hasOwn(map, value) ? (map[value] ?? []) : []
    })
    .slice(0, NAMES_MAX)
}

/** A claim is a text, or a list of texts. */
function textsAt(claims: unknown, pointer: string): string[] {
  const path = pointer.slice(1).split('/')
  const value = valueBelow(claims, ...path.map(unescaped))
  const values = Array.isArray(value) ? value.slice(0, NAMES_MAX) : [value]
  return values.flatMap((one) => textOf(one) ?? [])
}

/** RFC 6901. */
function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}
