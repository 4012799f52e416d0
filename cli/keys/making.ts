/** Creates a key and its record. Only the caller gets the key. */
import { hash, randomBytes } from 'node:crypto'
import { lastingMembers } from '../../dataplane/schema/key-members.ts'
import { ApiKey, type ApiKeyRecord, SCOPES } from '../../dataplane/schema/keys.ts'
import { isKeyPart, makeKey, prefixOf, RANDOM_BYTES } from '../../operator/keys/key-text.ts'

export interface KeyWish {
  readonly id: string
  readonly environment: string
  readonly tenant: string
  readonly routes: readonly string[]
  readonly scopes?: readonly string[] | undefined
  readonly tags?: Readonly<Record<string, string>> | undefined
  readonly expires?: Date | undefined
}

export interface Made {
  readonly key: string
  readonly record: ApiKeyRecord
}

/** Thrown with the user's value, and why a gateway would refuse it. */
export class WishError extends Error {}

export function make({ id, environment, expires, ...wish }: KeyWish): Made {
  const parts = { environment, id }
  const key = makeKey(parts, randomBytes(RANDOM_BYTES))
  const record = checked({
    ...lastingMembers(wish),
    id,
    hash: `sha256:${hash('sha256', key)}`,
    prefix: prefixOf(parts, key),
    ...(expires === undefined ? {} : { expires_at: expires.toISOString() }),
  })
  return { key, record }
}

/** The record as a gateway would read it; mistakes are refused here. */
function checked(draft: Readonly<Record<string, unknown>>): ApiKeyRecord {
  const result = ApiKey.safeParse(draft)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const [field, index] = issue?.path ?? []
  if (field === 'tags') {
    if (index === undefined) throw new WishError(`--tag: a key ${issue?.message}`)
    const given = `${String(index)}=${Object(draft.tags)[index]}`
    throw new WishError(`--tag ${given} is not accepted: ${tagFault(issue)}`)
  }
  const written = draft[String(field)]
  const value = Array.isArray(written) ? written[Number(index)] : written
  const reason =
    field === 'scopes'
      ? `known scopes are ${SCOPES.join(' and ')}`
      : 'a name starts with a letter or digit and holds letters, digits and . _ : / -'
  throw new WishError(`--${String(field)} ${JSON.stringify(value)} is not accepted; ${reason}`)
}

function tagFault(issue: { readonly code?: string; readonly message: string } | undefined): string {
  if (issue?.code !== 'invalid_key') return `the value ${issue?.message}`
  return 'the name must start with a letter or digit and hold letters, digits and . _ : / -'
}

/** Readable in logs, and different for each key of a tenant. */
export function idFor(tenant: string): string {
  const readable = tenant.replaceAll(/[^A-Za-z0-9]+/g, '-').replaceAll(/^-|-$/g, '')
  return `${readable.slice(0, 40) || 'key'}-${randomBytes(3).toString('hex')}`
}

/** `team-a` becomes `team-a-r2`, and that becomes `team-a-r3`. */
export function nextId(id: string, tenant: string): string {
  const [, base = id, count = '1'] = /^(.*?)(?:-r(\d{1,6}))?$/.exec(id) ?? []
  const next = `${base}-r${Number(count) + 1}`
  return isKeyPart(next) ? next : idFor(tenant)
}

/** The environment in the prefix of a key. */
export function environmentOf(prefix: string | undefined): string {
  return /^gw_([A-Za-z0-9-]+)_/.exec(prefix ?? '')?.[1] ?? 'live'
}

/** Valid names of objects in a cluster. */
export function isObjectName(id: string): boolean {
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(id)
}
