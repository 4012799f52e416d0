/** Who calls? Decided by the headers alone, before the gateway reads a byte of the body. */
import { hash } from 'node:crypto'
import { GatewayError } from '../../base/errors.ts'
import type { Caller, Incoming } from '../../call/call.ts'
import type { KeyEntry } from '../../call/key-entry.ts'
import type { Snapshot } from '../../config/snapshot.ts'
import type { Issuers } from '../../identity/issuers.ts'
import { TokenRefused } from '../../identity/refused.ts'
import { knowsTenant } from '../../limits/known-tenants.ts'

const KEY_LENGTH_MAX = 512
const TOKEN_LENGTH_MAX = 8192
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/
const KEY_BEGIN = 'gw_'
const BEARER = /^bearer +(\S+)$/i
const OTHER_HEADERS = ['api-key', 'x-api-key']

/** One answer for every bad key, so that no client learns which keys exist. The reason is for the trace. */
const MESSAGE =
  'Incorrect API key provided. Send a key of this gateway as "Authorization: Bearer <key>"; ask your platform team for one.'

/** A missing key reveals nothing, so say plainly that none arrived. */
const NONE =
  'No API key has arrived. Send one of this gateway as "Authorization: Bearer <key>"; if you do, a proxy on the way removes it.'

/** The header has arrived, so no proxy removed it. */
const NO_BEARER =
  "Authorization must be 'Bearer <key>'. Put the word Bearer and a space before the key of this gateway; " +
  'other schemes, such as Basic, are not supported.'

/** Many SDKs require a key. This value means: use the certificate of the connection. */
const STAND_IN = 'certificate'
const NAME_SHOWN_MAX = 100

type Headed = Pick<Incoming, 'header' | 'certificate' | 'lastKey'>

/** The records by which callers are identified. */
export interface Authorities {
  readonly names: Pick<Snapshot, 'keys' | 'limits' | 'certificates'>
  readonly issuers: Pick<Issuers, 'isEmpty' | 'verified' | 'verify'>
}

/**
 * Throws ERR_GW_AUTH_INVALID_KEY; for a token or a certificate, also ERR_GW_AUTH_SCOPE_DENIED. A key is only hashed and
 * looked up, so only a token that was not used within the last minute needs a promise.
 */
export function authenticate(
  incoming: Headed,
  { names, issuers }: Authorities,
  wallNow: number,
): Caller | Promise<Caller> {
  const key = presentedKey(incoming)
  const holder = holderOf(incoming, key, names)
  if (holder !== undefined) return usableCaller(holder, wallNow)
  if (key === undefined) throw noKey(incoming)
  const isToken = !issuers.isEmpty && !key.startsWith(KEY_BEGIN) && TOKEN.test(key)
  if (key.length > (isToken ? TOKEN_LENGTH_MAX : KEY_LENGTH_MAX))
    throw refused('the key is too long')
  const digest = digestOf(key, incoming)
  const entry = isToken ? issuers.verified(digest, wallNow) : names.keys.get(digest)
  if (entry === undefined) {
    if (!isToken) throw refused('unknown key')
    const hasTenant = (tenant: string) => knowsTenant(tenant, names)
    const verifying = issuers.verify({ token: key, digest }, { hasTenant }, wallNow)
    return verifying.then(callerWith, untaken)
  }
  return usableCaller(entry, wallNow)
}

function digestOf(key: string, { lastKey }: Headed): string {
  if (lastKey === undefined) return hash('sha256', key)
  if (lastKey.key !== key) {
    lastKey.key = key
    lastKey.digest = hash('sha256', key)
  }
  return lastKey.digest
}

function usableCaller(entry: KeyEntry, wallNow: number): Caller {
  const reason = unusable(entry, wallNow)
  if (reason !== undefined) throw refused(reason)
  return callerWith(entry)
}

/**
 * The caller by certificate, if the client sent no key. If the client sent a key, only that counts, so that a revoked
 * one cannot pass.
 */
function holderOf(
  incoming: Headed,
  key: string | undefined,
  { certificates }: Authorities['names'],
): KeyEntry | undefined {
  if (certificates.isEmpty || (key !== undefined && key !== STAND_IN)) return undefined
  if (key === undefined && (incoming.header('authorization') ?? '') !== '') return undefined
  const { certificate } = incoming
  if (certificate === undefined) return undefined
  const holder = certificates.callerOf(certificate)
  if (holder !== undefined) return holder
  const [name = ''] = certificate.names
  const shown = name === '' ? 'which has none' : JSON.stringify(name.slice(0, NAME_SHOWN_MAX))
  throw new GatewayError(
    'ERR_GW_AUTH_SCOPE_DENIED',
    `This gateway knows no tenant for the name in your certificate, ${shown}. Ask your platform team to add one.`,
  )
}

function callerWith(key: KeyEntry): Caller {
  return { key, tenant: key.record.tenant }
}

function untaken(error: unknown): never {
  throw error instanceof TokenRefused ? refused(error.message) : error
}

/** `Authorization: Bearer`, or the `api-key` and `x-api-key` headers that other SDKs send. */
function presentedKey(incoming: Headed): string | undefined {
  const authorization = incoming.header('authorization')
  let presented = authorization === undefined ? undefined : BEARER.exec(authorization)?.[1]
  for (const name of OTHER_HEADERS) {
    const value = incoming.header(name)
    if (value === undefined || value === '' || value === presented) continue
    if (presented !== undefined) {
      throw new GatewayError('ERR_GW_INVALID_REQUEST', 'Two different keys were sent; send one.')
    }
    presented = value
  }
  return presented
}

function noKey(incoming: Headed): GatewayError {
  const authorization = incoming.header('authorization')
  if (authorization === undefined || authorization === '') return refused('no key was sent', NONE)
  return refused('no bearer token in Authorization', NO_BEARER)
}

/** Why a known key is refused; undefined if it is valid. */
export function unusable(
  { record, usable, expiresAt }: KeyEntry,
  wallNow: number,
): string | undefined {
  if (!usable)
    return `key ${record.id} is ${record.rotated_to === undefined ? 'revoked' : 'rotated'}`
  if (wallNow >= expiresAt) return `key ${record.id} has expired`
  return undefined
}

function refused(reason: string, message = MESSAGE): GatewayError {
  return new GatewayError('ERR_GW_AUTH_INVALID_KEY', message, { cause: reason })
}
