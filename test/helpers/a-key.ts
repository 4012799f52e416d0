/** Keys of clients, and their records for a configuration. */
import { hash, randomInt } from 'node:crypto'

type Fields = Readonly<Record<string, unknown>>

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A new key and its record for `api_keys`; omitted members have valid defaults. */
export function aKey(fields: Fields & { readonly id?: string } = {}) {
  const { id = `k${randomInt(1_000_000)}` } = fields
  const secret = Array.from({ length: 43 }, () => BASE62[randomInt(62)]).join('')
  const key = `gw_test_${id}_${secret}`
  const digest = `sha256:${hash('sha256', key)}`
  return { key, record: { id, tenant: 'acme', hash: digest, routes: ['*'], ...fields } }
}
