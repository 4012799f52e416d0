/** A key as the tool tells of it, wherever its record stands. */
import { z } from 'zod'
import { ApiKey } from '../../dataplane/schema/keys.ts'
import { stateOf } from '../../operator/compile/compile-keys.ts'
import { fullTime, relativeTime } from '../printing/ages.ts'
import { state } from '../printing/colours.ts'
import { printFacts, printTable } from '../printing/table.ts'

export const KeyView = z.object({
  id: z.string(),
  tenant: z.string(),
  status: z.string(),
  prefix: z.string().optional(),
  scopes: z.array(z.string()),
  routes: z.array(z.string()),
  tags: z.record(z.string(), z.string()).optional(),
  expires_at: z.string().optional(),
  revoked_at: z.string().optional(),
  reason: z.string().optional(),
  rotated_to: z.string().optional(),
})

export type KeyView = z.output<typeof KeyView>

/** undefined where the record is not one that a gateway would take. */
export function viewOf(record: unknown, now: number): KeyView | undefined {
  const parsed = ApiKey.safeParse(record)
  if (!parsed.success) return undefined
  const { hash: _, ...rest } = parsed.data
  // Optional members that are undefined are left out when it is printed.
  return KeyView.parse({ ...rest, status: stateOf(parsed.data as never, now) })
}

/** Either text may be the longer one: people paste whichever part of a key they have. */
export function hasPrefix({ prefix }: KeyView, given: string): boolean {
  return prefix !== undefined && (prefix.startsWith(given) || given.startsWith(prefix))
}

const HEAD = ['ID', 'TENANT', 'STATUS', 'PREFIX', 'SCOPES', 'ROUTES', 'TAGS', 'EXPIRES']

export function printKeys(keys: readonly KeyView[], isWide: boolean): void {
  printTable(
    [...HEAD, ...(isWide ? ['REVOKED', 'REASON', 'REPLACED BY'] : [])],
    keys.map((key) => [
      key.id,
      key.tenant,
      state(key.status),
      key.prefix,
      key.scopes.join(','),
      key.routes.join(','),
      tagsText(key)?.join(','),
      relativeTime(key.expires_at),
      relativeTime(key.revoked_at),
      key.reason,
      key.rotated_to,
    ]),
    isWide,
  )
}

export function printKey(key: KeyView): void {
  printFacts([
    ['id', key.id],
    ['tenant', key.tenant],
    ['status', state(key.status)],
    ['revoked', fullTime(key.revoked_at)],
    ['reason', key.reason],
    ['replaced by', key.rotated_to],
    ['expires', fullTime(key.expires_at)],
    ['scopes', key.scopes.join(', ')],
    ['routes', key.routes.join(', ')],
    ['tags', tagsText(key)?.join(', ')],
    ['prefix', key.prefix],
  ])
}

function tagsText({ tags }: KeyView): string[] | undefined {
  return tags && Object.entries(tags).map(([name, value]) => `${name}=${value}`)
}
