/** A key that may invoke every route. */
import type { KeyEntry } from '../../../../dataplane/call/key-entry.ts'

export const KEY: KeyEntry = {
  record: { id: 'k', tenant: 'acme', hash: '', scopes: ['models:invoke'], routes: ['*'] },
  expiresAt: Number.POSITIVE_INFINITY,
  usable: true,
  invokes: true,
  lists: true,
  routes: undefined,
  prefixes: undefined,
  tags: undefined,
}
