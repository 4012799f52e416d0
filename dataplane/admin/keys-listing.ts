/** The keys of this process, as its admin API lists them: records, never a key or its hash. */
import type { KeyEntry } from '../call/key-entry.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { shownMembers } from '../schema/key-members.ts'

const SHOWN = 100
const SHOWN_MAX = 10_000

export interface KeyQuestion {
  readonly id?: string
  /** The first characters of the key, or all of them. */
  readonly prefix?: string
  readonly tenant?: string
  readonly limit?: string
}

export function keysListed({ id, prefix, tenant, limit }: KeyQuestion, gateway: Gateway) {
  const asked = Number(limit ?? SHOWN)
  const most = Number.isSafeInteger(asked) && asked > 0 ? Math.min(asked, SHOWN_MAX) : SHOWN
  const found = [...gateway.active.snapshot.keys.values()].filter(
    ({ record }) =>
      (id === undefined || record.id === id) &&
      (tenant === undefined || record.tenant === tenant) &&
      (prefix === undefined || isPrefixOf(prefix, record.prefix)),
  )
  const now = gateway.clock.wall()
  return { total: found.length, keys: found.slice(0, most).map((entry) => shown(entry, now)) }
}

/** Either of the two may be longer, because people paste any part of a key. */
function isPrefixOf(given: string, stored: string | undefined): boolean {
  if (stored === undefined || given === '') return false
  return stored.startsWith(given) || given.startsWith(stored)
}

function shown({ record, usable, expiresAt }: KeyEntry, now: number) {
  const { id, tenant, ...members } = shownMembers(record)
  const status = statusOf(record.rotated_to !== undefined, usable, now >= expiresAt)
  return { id, tenant, status, ...members }
}

function statusOf(isRotated: boolean, usable: boolean, isExpired: boolean): string {
  if (isRotated) return 'ROTATED'
  if (!usable) return 'REVOKED'
  return isExpired ? 'EXPIRED' : 'ACTIVE'
}
