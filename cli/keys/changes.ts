/** Revokes and replaces keys, in a file or in a cluster. */

import { listBelow, textOf, valueBelow } from '../../dataplane/json/values.ts'
import type { ApiKeyRecord } from '../../dataplane/schema/keys.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { type ClusterAccess, withCluster } from '../asking/cluster-access.ts'
import type { Place } from '../asking/place.ts'
import { AnswerIsNo, printRemark } from '../printing/output.ts'
import {
  createKey,
  endKey,
  findKey,
  isGenerated,
  recordOf,
  regenerateKey,
  revokeKey,
  untilGenerated,
} from './cluster.ts'
import { keysSequenceOf, untilPodsKnow } from './enforcement.ts'
import { openKeysFile } from './file.ts'
import { environmentOf, idFor, isObjectName, type Made, make, nextId } from './making.ts'
import { type KeyView, viewOf } from './view.ts'

export interface Revocation {
  readonly id: string
  readonly reason?: string | undefined
}

export interface Rotation {
  readonly id: string
  readonly newId?: string | undefined
  /** How long the old key still works; absent: it ends now. */
  readonly graceMs?: number | undefined
}

export async function revoke(
  { id, reason }: Revocation,
  file: string | undefined,
  place: Place,
): Promise<KeyView> {
  const at = momentFrom(0)
  if (file !== undefined) {
    const document = openKeysFile(file)
    const { index, view } = recordAt(document.records, id, file)
    if (view.revoked_at !== undefined) return view
    document.set(index, { revoked_at: at, ...(reason === undefined ? {} : { reason }) })
    document.save()
    return {
      ...view,
      status: 'REVOKED',
      revoked_at: at,
      ...(reason === undefined ? {} : { reason }),
    }
  }
  if (place.kind === 'stand-alone') throw new Error(WHERE)
  return await withCluster(place, async (access) => {
    const key = await findKey(access, id)
    const view = known(recordOf(key), id)
    if (view.revoked_at !== undefined) return view
    const before = await keysSequenceOf(access.api, key)
    await revokeKey(access, id, { at, reason })
    if (before !== undefined && !(await untilPodsKnow(access.api, key, { before }))) {
      printRemark('The key is revoked, but not every pod has confirmed it yet; see `gw status`.')
    }
    return known(recordOf(await findKey(access, id)), id)
  })
}

/** Returns the path of the file that now contains the record. */
export function storeInFile(record: ApiKeyRecord, file: string): string {
  const document = openKeysFile(file)
  if (document.records.some((other) => Object(other).id === record.id))
    throw new AnswerIsNo(`There is a key "${record.id}" already; choose another with --id.`)
  const { routes, tags } = document
  // A gateway would refuse the whole file because of either.
  const route = record.routes.find(
    (name) => !name.endsWith('*') && routes?.includes(name) === false,
  )
  if (route !== undefined) {
    const names = routes?.join(', ') || 'none'
    throw new AnswerIsNo(`There is no route "${route}" in ${file}; its routes: ${names}.`)
  }
  const tag = Object.keys(record.tags ?? {}).find((name) => tags?.includes(name) === false)
  if (tag !== undefined) {
    const names = tags?.join(', ') || 'none'
    throw new AnswerIsNo(`usage.tags of ${file} does not declare "${tag}"; its tags: ${names}.`)
  }
  document.add(record)
  document.save()
  return document.path
}

/** A key that the operator stored in a Secret, which the tool does not read. */
export interface Regenerated {
  readonly id: string
  readonly secret: string
  readonly prefix: string | undefined
  /** When the former key ends. */
  readonly formerUntil: string | undefined
}

export async function rotate(
  { id, newId, graceMs }: Rotation,
  file: string | undefined,
  place: Place,
): Promise<Made | Regenerated> {
  const until = graceMs === undefined ? undefined : momentFrom(graceMs)
  if (file !== undefined) {
    const document = openKeysFile(file)
    const { index, view } = recordAt(document.records, id, file)
    const made = successorOf(view, newId)
    if (document.records.some((record) => Object(record).id === made.record.id))
      throw new AnswerIsNo(
        `There is a key "${made.record.id}" already; choose another with --new-id.`,
      )
    document.set(
      index,
      until === undefined ? { rotated_to: made.record.id } : { expires_at: until },
    )
    document.add(made.record)
    document.save()
    return made
  }
  if (place.kind === 'stand-alone') throw new Error(WHERE)
  return await withCluster(place, async (access) => {
    const old = await findKey(access, id)
    if (isGenerated(old)) return await regenerate(access, old, { id, newId, graceMs })
    const made = successorOf(known(recordOf(old), id), newId)
    // The new record first, so that one of the keys always works.
    const { namespace = access.namespace } = old.metadata
    const gateway = String(valueBelow(old, 'spec', 'gateway'))
    await createKey({ ...access, namespace, gateway }, inCluster(made.record))
    await endKey(access, id, until ? { expiresAt: until } : { rotatedTo: made.record.id })
    return made
  })
}

async function regenerate(
  access: ClusterAccess,
  old: KubeObject,
  { id, newId, graceMs }: Rotation,
): Promise<Regenerated> {
  if (newId !== undefined)
    throw new AnswerIsNo('The operator creates this key under its present name: omit --new-id.')
  known(recordOf(old), id)
  const hashes = listBelow(old, 'status', 'hashes').map((one) => valueBelow(one, 'revision'))
  const revisions = [valueBelow(old, 'spec', 'generate', 'revision'), ...hashes].map(Number)
  const revision = Math.max(1, ...revisions.filter(Number.isInteger)) + 1
  const overlapSeconds = graceMs === undefined ? undefined : Math.ceil(graceMs / 1000)
  await regenerateKey(access, id, { revision, overlapSeconds })
  const now = await untilGenerated(access, id, revision)
  if (now === undefined) {
    const why = listBelow(await findKey(access, id), 'status', 'conditions')
      .filter((one) => valueBelow(one, 'status') === 'False')
      .map((one) => ` ${valueBelow(one, 'message')}`)
    throw new AnswerIsNo(`The operator has not created the key yet.${why[0] ?? ''}`)
  }
  const all = listBelow(now, 'status', 'hashes')
  const former = all.find((one) => valueBelow(one, 'state') === 'Former')
  const { prefix } = known(recordOf(now), id)
  const formerUntil = textOf(valueBelow(former, 'notAfter'))
  return { id, secret: `gw-key-${now.metadata.name}`, prefix, formerUntil }
}

const WHERE =
  'A running gateway reads its keys from files: give the file with --file, or a cluster with -n and --gateway.'

/** Throws a sentence if it cannot be the name of an object. */
export function inCluster(record: ApiKeyRecord): ApiKeyRecord {
  if (isObjectName(record.id)) return record
  throw new Error(
    `"${record.id}" cannot be the name of a GatewayKey; give one of lower-case letters, digits and hyphens.`,
  )
}

function successorOf(old: KeyView, newId: string | undefined): Made {
  if (old.status === 'REVOKED' || old.status === 'ROTATED')
    throw new AnswerIsNo(
      `Key "${old.id}" is ${old.status}; make a new one with \`gw keys create\`.`,
    )
  const { tenant, prefix } = old
  const id = newId ?? nextId(old.id, tenant) ?? idFor(tenant)
  return make({ ...old, id, environment: environmentOf(prefix) })
}

function recordAt(records: readonly unknown[], id: string, file: string) {
  const index = records.findIndex((record) => Object(record).id === id)
  if (index === -1) throw new AnswerIsNo(`There is no key "${id}" in ${file}.`)
  return { index, view: known(records[index], id) }
}

function known(record: unknown, id: string): KeyView {
  const view = viewOf(record, Date.now())
  if (view !== undefined) return view
  throw new Error(`The record of key "${id}" is not valid; \`gw config validate\` says why.`)
}

/** Whole seconds, because Kubernetes stores no fractions. */
function momentFrom(laterMs: number): string {
  return `${new Date(Date.now() + laterMs).toISOString().slice(0, 19)}Z`
}
