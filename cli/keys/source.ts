/** The sources of keys: a file, a cluster, or a running gateway, which only allows reading. */

import { z } from 'zod'
import { valueBelow } from '../../dataplane/json/values.ts'
import { findGateway, withCluster } from '../asking/cluster-access.ts'
import { askAdmin } from '../asking/connection.ts'
import type { Place } from '../asking/place.ts'
import { printRemark } from '../printing/output.ts'
import { recordsIn } from './cluster.ts'
import { openKeysFile } from './file.ts'
import { namesIn, type RouteNames } from './route-names.ts'
import { hasPrefix, KeyView, viewOf } from './view.ts'

export interface KeyFilter {
  readonly id?: string | undefined
  readonly prefix?: string | undefined
  readonly tenant?: string | undefined
}

export interface FoundKeys {
  readonly keys: readonly KeyView[]
  readonly names: RouteNames
}

const Listing = z.object({ total: z.number(), keys: z.array(KeyView) })
const LISTED_MAX = 10_000

export async function findKeys(
  filter: KeyFilter,
  file: string | undefined,
  place: Place,
): Promise<FoundKeys> {
  if (file !== undefined) {
    const { records, aliases, routes } = openKeysFile(file)
    tellOfInvalid(records, file)
    return { keys: filtered(records, filter), names: { aliases, routes } }
  }
  if (place.kind === 'cluster') {
    return await withCluster(place, async (access) => {
      const names = namesIn(valueBelow(await findGateway(access), 'gw'))
      return { keys: filtered(await recordsIn(access), filter), names }
    })
  }
  return await askGateway(filter, place.admin)
}

/** A gateway would refuse the whole file because of one such record. */
function tellOfInvalid(records: readonly unknown[], file: string): void {
  for (const [index, record] of records.entries()) {
    if (viewOf(record, 0) !== undefined) continue
    const id: unknown = valueBelow(record, 'id')
    const which = typeof id === 'string' ? ` ("${id}")` : ''
    printRemark(`warning: record ${index + 1}${which} of ${file} is not valid, and is omitted`)
  }
}

async function askGateway(filter: KeyFilter, admin: string): Promise<FoundKeys> {
  const query = new URLSearchParams({ limit: String(LISTED_MAX) })
  for (const [name, value] of Object.entries(filter))
    if (value !== undefined) query.set(name, value)
  const { status, body } = await askAdmin(admin, `/keys?${query}`)
  if (status !== 200) throw new Error(`The gateway at ${admin} answered with ${status}.`)
  const configuration = await askAdmin(admin, '/config')
  const names = namesIn(valueBelow(configuration.body, 'gw'))
  return { keys: Listing.parse(body).keys, names }
}

function filtered(records: readonly unknown[], { id, prefix, tenant }: KeyFilter): KeyView[] {
  const now = Date.now()
  return records.flatMap((record) => {
    const view = viewOf(record, now)
    if (view === undefined) return []
    const isMeant =
      (id === undefined || view.id === id) &&
      (tenant === undefined || view.tenant === tenant) &&
      (prefix === undefined || hasPrefix(view, prefix))
    return isMeant ? [view] : []
  })
}
