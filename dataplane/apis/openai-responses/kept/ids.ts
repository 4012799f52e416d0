/**
 * The tenant's ids of stored objects. An id contains the location of the response or conversation, so every replica
 * can find it. The gateway signs it for one tenant, so no other tenant can use or create it.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { listOf, parsed, textOf } from '../../../json/values.ts'

/** The kinds of stored objects. */
export type Kept = 'response' | 'conversation'

/** The location of a response or a conversation. */
export interface ObjectPlace {
  readonly kind: Kept
  readonly route: string
  readonly upstream: string
  /** The upstream's id. */
  readonly id: string
}

const PREFIXES: Readonly<Record<Kept, string>> = { response: 'resp_gw', conversation: 'conv_gw' }
const SIGNATURE_LENGTH = 32
const LENGTH_MAX = 2_048
/** A client could guess a shorter one. */
const CREDENTIAL_LENGTH_MIN = 16

/** Only this process knows it. */
const PROCESS_SECRET = randomBytes(32).toString('base64')

/**
 * The credential of the upstream, because replicas share it, and ids are invalid for another account. If the
 * credential is fetched or too short, the secret is known only to the process that created the id.
 */
export function secretOf(settings: { readonly credential: string }): string {
  const { credential } = settings
  return credential.length < CREDENTIAL_LENGTH_MIN ? PROCESS_SECRET : credential
}

export function sealedId(place: ObjectPlace, tenant: string, secret: string): string {
  const text = JSON.stringify([place.route, place.upstream, place.id])
  const named = Buffer.from(text).toString('base64url')
  return PREFIXES[place.kind] + named + signatureOf(place.kind, text, tenant, secret)
}

/** Whether an id has the form of these ids. */
export function isSealed(id: string): boolean {
  return id.startsWith(PREFIXES.response)
}

/** undefined for an id that was not created for this tenant. `secretFor` returns the secret of an upstream. */
export function openedId(
  kind: Kept,
  sealed: string,
  tenant: string,
  secretFor: (upstream: string) => string | undefined,
): ObjectPlace | undefined {
  const prefix = PREFIXES[kind]
  if (!sealed.startsWith(prefix) || sealed.length > LENGTH_MAX) return undefined
  const text = Buffer.from(sealed.slice(prefix.length, -SIGNATURE_LENGTH), 'base64url').toString()
  const [route, upstream, id] = listOf(parsed(text)).map(textOf)
  if (route === undefined || upstream === undefined || id === undefined) return undefined
  const secret = secretFor(upstream) ?? PROCESS_SECRET
  const expected = Buffer.from(signatureOf(kind, text, tenant, secret))
  const found = Buffer.from(sealed.slice(-SIGNATURE_LENGTH))
  const isEqual = found.length === expected.length && timingSafeEqual(found, expected)
  return isEqual ? { kind, route, upstream, id } : undefined
}

function signatureOf(kind: Kept, text: string, tenant: string, secret: string): string {
  const signed = JSON.stringify([`kept ${kind}`, tenant, text])
  return createHmac('sha256', secret).update(signed).digest('base64url').slice(0, SIGNATURE_LENGTH)
}
