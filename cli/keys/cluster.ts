/** Keys in a cluster: GatewayKeys, and those in the GatewayConfig itself. */

import { setTimeout as delay } from 'node:timers/promises'
import { listBelow, valueBelow } from '../../dataplane/json/values.ts'
import { membersInSpec, specOf } from '../../dataplane/schema/key-members.ts'
import type { ApiKeyRecord } from '../../dataplane/schema/keys.ts'
import { gatewayOf, isPermitted } from '../../operator/compile/compile-keys.ts'
import { ApiError } from '../../operator/kube/api-error.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { type ClusterAccess, findGateway, gatewayPlace, listAll } from '../asking/cluster-access.ts'
import { AnswerIsNo, printRemark } from '../printing/output.ts'

const LOOK_MS = 200
/** The operator creates a key within a second, if it has the permission. */
const GENERATED_MS = 15_000

const MANAGER = 'gw'
/** Separate field managers: their fields stay when the author applies the key again. */
const REVOKER = 'gw-revoke'
const ROTATOR = 'gw-rotate'

/** Records in the form of a file. The id of a key from another namespace contains the namespace, as in logs. */
export async function recordsIn(access: ClusterAccess): Promise<readonly unknown[]> {
  const gateway = await findGateway(access)
  const own = valueBelow(gateway, 'gw', 'api_keys')
  const keys = await keysOf(access, gateway)
  return [
    ...keys.map((key) => ({ ...Object(recordOf(key)), id: idOf(key, gateway) })),
    ...(Array.isArray(own) ? own : []),
  ]
}

function idOf({ metadata }: KubeObject, gateway: KubeObject): string {
  const isOwn = metadata.namespace === gateway.metadata.namespace
  return isOwn ? metadata.name : `${metadata.namespace}/${metadata.name}`
}

/** GatewayKeys of this gateway: those of its namespace, and those that spec.keys.from admits. */
async function keysOf(access: ClusterAccess, gateway: KubeObject): Promise<KubeObject[]> {
  const { namespace = '' } = gateway.metadata
  const all = await Promise.all(
    [...namespacesOf(gateway)].map(async (one) => {
      try {
        return await listAll({ api: access.api, namespace: one }, 'gatewayKeys')
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 403 || one === namespace) throw error
        const where = one === undefined ? 'other namespaces' : `namespace "${one}"`
        printRemark(`warning: you may not list the keys of ${where}, so they are omitted`)
        return one === undefined ? await listAll({ api: access.api, namespace }, 'gatewayKeys') : []
      }
    }),
  )
  const name = `${namespace}/${gateway.metadata.name}`
  return all
    .flat()
    .filter((key) => gatewayOf(key) === name)
    .filter((key) => isPermitted(gateway, key, String(valueBelow(key, 'spec', 'tenant'))))
}

/** undefined means all of them. */
function namespacesOf(gateway: KubeObject): ReadonlySet<string | undefined> {
  const from = valueBelow(gateway, 'spec', 'keys', 'from')
  const named = (Array.isArray(from) ? from : []).flatMap((grant: unknown) => {
    const names = valueBelow(grant, 'namespaces')
    return Array.isArray(names) ? names.map(String) : []
  })
  if (named.includes('*')) return new Set([undefined])
  return new Set([gateway.metadata.namespace ?? '', ...named])
}

export function recordOf(key: KubeObject): unknown {
  const { metadata, spec } = key
  const members = membersInSpec(spec)
  const current = currentOf(key)
  const revoked = valueBelow(spec, 'revoked')
  const isRevoked = revoked !== undefined && revoked !== null
  return {
    id: metadata.name,
    ...members,
    ...(isGenerated(key) && { hash: current.hash, prefix: current.prefix }),
    revoked_at: isRevoked ? (members.revoked_at ?? metadata.creationTimestamp) : undefined,
  }
}

/** Whether the operator creates the key. */
export function isGenerated(key: KubeObject): boolean {
  return valueBelow(key, 'spec', 'generate') !== undefined
}

/** The hash of the current key; until it exists, a hash that no key has. */
function currentOf(key: KubeObject): { readonly hash?: unknown; readonly prefix?: unknown } {
  const hashes = listBelow(key, 'status', 'hashes')
  const current = hashes.find((one) => valueBelow(one, 'state') === 'Current')
  return Object(current ?? { hash: `sha256:${'0'.repeat(64)}` })
}

/** Throws a sentence if a key with this name exists. */
export async function createKey(access: ClusterAccess, record: ApiKeyRecord): Promise<KubeObject> {
  const place = gatewayPlace(access)
  const isForeign = place.namespace !== access.namespace
  const gateway = isForeign ? await readableGateway(access) : await findGateway(access)
  const name = gateway?.metadata.name ?? place.gateway
  const key = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayKey',
    metadata: { name: record.id, namespace: access.namespace },
    spec: { gateway: isForeign ? `${place.namespace}/${name}` : name, ...specOf(record) },
  }
  if (gateway !== undefined) warnOf(key, record, gateway)
  try {
    return await access.api.create(RESOURCES.gatewayKeys, key, MANAGER)
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'AlreadyExists')
      throw new AnswerIsNo(
        `There is a GatewayKey "${record.id}" already; choose another with --id.`,
      )
    throw error
  }
}

/** The author may lack the permission to read a gateway in another namespace; the key is created anyway. */
async function readableGateway(access: ClusterAccess): Promise<KubeObject | undefined> {
  try {
    return await findGateway(access)
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined
    throw error
  }
}

/** A key may exist before its routes and tags, so a missing one is no reason for a refusal. */
function warnOf(
  key: KubeObject,
  { tenant, routes, tags = {} }: ApiKeyRecord,
  gateway: KubeObject,
): void {
  const { name, namespace } = gateway.metadata
  const known = listBelow(gateway, 'gw', 'routes').map((route) => valueBelow(route, 'name'))
  for (const route of routes.filter((one) => one !== '*' && !known.includes(one)))
    printRemark(`warning: gateway "${name}" has no route "${route}"; an alias is no route`)
  const declared = listBelow(gateway, 'gw', 'usage', 'tags')
  for (const tag of Object.keys(tags).filter((one) => !declared.includes(one)))
    printRemark(
      `warning: usage.tags of gateway "${name}" does not declare "${tag}", so no usage is counted by it`,
    )
  if (isPermitted(gateway, key, tenant)) return
  printRemark(
    `warning: gateway "${namespace}/${name}" does not accept this key yet; its spec.keys.from must list ` +
      `namespace "${key.metadata.namespace}" and the tenant`,
  )
}

/** Throws a sentence if the GatewayKey does not exist. `NAMESPACE/NAME` names one of another namespace. */
export async function findKey(access: ClusterAccess, id: string): Promise<KubeObject> {
  const place = keyPlace(access, id)
  const key = await access.api.get(RESOURCES.gatewayKeys, place)
  if (key !== undefined) return key
  throw new AnswerIsNo(
    `There is no GatewayKey "${place.name}" in namespace "${place.namespace}"; change a key of a ` +
      'GatewayConfig in its file, and apply the file.',
  )
}

function keyPlace({ namespace }: ClusterAccess, id: string) {
  const [first = '', second] = id.split('/')
  return second === undefined ? { namespace, name: id } : { namespace: first, name: second }
}

export async function revokeKey(
  access: ClusterAccess,
  id: string,
  revoked: { readonly at: string; readonly reason?: string | undefined },
): Promise<void> {
  const { at, reason } = revoked
  await setInSpec(access, id, REVOKER, { revoked: reason === undefined ? { at } : { at, reason } })
}

/** With a replacement the key ends now; with a time it ends then. */
export async function endKey(
  access: ClusterAccess,
  id: string,
  end: { readonly rotatedTo: string } | { readonly expiresAt: string },
): Promise<void> {
  await setInSpec(access, id, ROTATOR, end)
}

export interface Regeneration {
  readonly revision: number
  /** The value in the GatewayKey, if absent. */
  readonly overlapSeconds?: number | undefined
}

/** Requests that the operator stores a new key in the Secret. */
export async function regenerateKey(
  access: ClusterAccess,
  id: string,
  { revision, overlapSeconds }: Regeneration,
): Promise<void> {
  const generate = { revision, ...(overlapSeconds !== undefined && { overlapSeconds }) }
  await setInSpec(access, id, ROTATOR, { generate })
}

/** The GatewayKey once the Secret contains the key of this revision; undefined after a timeout. */
export async function untilGenerated(
  access: ClusterAccess,
  id: string,
  revision: number,
): Promise<KubeObject | undefined> {
  const end = performance.now() + GENERATED_MS
  while (performance.now() < end) {
    const key = await findKey(access, id)
    if (valueBelow(currentOf(key), 'revision') === revision) return key
    await delay(LOOK_MS)
  }
  return undefined
}

async function setInSpec(access: ClusterAccess, id: string, manager: string, spec: object) {
  const metadata = keyPlace(access, id)
  await access.api.apply(RESOURCES.gatewayKeys, { metadata, spec }, { manager })
}
