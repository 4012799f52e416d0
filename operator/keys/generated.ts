/**
 * Keys that the operator makes: the time of the next rotation, and the valid hashes before, during and after it. Pure.
 */
import { GatewayKeyStatus, type GeneratedHash, Generation } from '../../crds/gateway-key.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'

/** Prefix that distinguishes these Secrets, so that the operator's rights can be limited to them. */
const SECRET_PREFIX = 'gw-key-'

export function secretNameOf({ metadata }: KubeObject): string {
  return `${SECRET_PREFIX}${metadata.name}`
}

/** Undefined if the author provides the hash. */
export function generationOf(key: KubeObject): Generation | undefined {
  const parsed = Generation.safeParse(valueBelow(key, 'spec', 'generate'))
  return parsed.success ? parsed.data : undefined
}

export function hashesOf(key: KubeObject): readonly GeneratedHash[] {
  const parsed = GatewayKeyStatus.shape.hashes.safeParse(valueBelow(key, 'status', 'hashes'))
  return parsed.success ? (parsed.data ?? []) : []
}

/** Milliseconds since the epoch. */
function rotatesAt({ rotateAfterSeconds }: Generation, current: GeneratedHash): number {
  if (rotateAfterSeconds === undefined) return Number.POSITIVE_INFINITY
  return Date.parse(current.madeAt) + rotateAfterSeconds * 1000
}

const currentOf = (hashes: readonly GeneratedHash[]) =>
  hashes.find(({ state }) => state === 'Current')

export function isDue(wanted: Generation, hashes: readonly GeneratedHash[], now: number): boolean {
  const current = currentOf(hashes)
  if (current === undefined || current.revision !== wanted.revision) return true
  return rotatesAt(wanted, current) <= now
}

/** Before the Secret is written: pods get the new hash first, so that no client has a key that they do not know. */
export function announced(
  hashes: readonly GeneratedHash[],
  made: Pick<GeneratedHash, 'hash' | 'prefix' | 'revision' | 'madeAt'>,
): GeneratedHash[] {
  const current = currentOf(hashes)
  // At most two hashes are valid: a second rotation ends the oldest one at once.
  return [{ ...made, state: 'Pending' }, ...(current === undefined ? [] : [current])]
}

/** After the Secret was written, the old key stays valid for the overlap. */
export function exchanged(
  hashes: readonly GeneratedHash[],
  { overlapSeconds }: Generation,
  now: number,
): GeneratedHash[] {
  const notAfter = `${new Date(now + overlapSeconds * 1000).toISOString().slice(0, 19)}Z`
  return hashes.flatMap((one): GeneratedHash[] => {
    if (one.state === 'Pending') return [{ ...one, state: 'Current' }]
    return overlapSeconds === 0 ? [] : [{ ...one, state: 'Former', notAfter }]
  })
}

/** Drops keys that never reached the Secret, and old keys after the overlap. */
export function remaining(hashes: readonly GeneratedHash[], now: number): readonly GeneratedHash[] {
  const left = hashes.filter(
    ({ state, notAfter }) =>
      state === 'Current' || (state === 'Former' && Date.parse(notAfter ?? '') > now),
  )
  return left.length === hashes.length ? hashes : left
}

/** Milliseconds until the next step without a change; undefined: never. */
export function waitOf(
  wanted: Generation,
  hashes: readonly GeneratedHash[],
  now: number,
): number | undefined {
  const moments = hashes.map((one) =>
    one.state === 'Former' ? Date.parse(one.notAfter ?? '') : rotatesAt(wanted, one),
  )
  // An overdue step waits for a change.
  const next = Math.min(...moments.filter((moment) => moment > now))
  return Number.isFinite(next) ? next - now : undefined
}
