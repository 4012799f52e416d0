/** Keys in a cluster: GatewayKeys, and those that stand in the GatewayConfig itself. */
import { ApiError } from '../../operator/api-error.ts'
import { type KubeObject, RESOURCES, valueBelow } from '../../operator/objects.ts'
import { type ClusterAccess, findGateway, listAll } from '../cluster-access.ts'
import { AnswerIsNo, printRemark } from '../output.ts'

const MANAGER = 'gw'
/** Managers of their own: what they set stays when the writer of the key applies it again. */
const REVOKER = 'gw-revoke'
const ROTATOR = 'gw-rotate'

/** Records as they would stand in a file. */
export async function recordsIn(access: ClusterAccess): Promise<readonly unknown[]> {
  const gateway = await findGateway(access)
  const own = valueBelow(gateway, 'gw', 'api_keys')
  const all = await listAll(access, 'gatewayKeys')
  const mine = all.filter((key) => isFor(key, gateway))
  return [...mine.map(recordOf), ...(Array.isArray(own) ? own : [])]
}

function isFor(key: KubeObject, { metadata }: KubeObject): boolean {
  const named = valueBelow(key, 'spec', 'gateway')
  return named === metadata.name || named === `${metadata.namespace}/${metadata.name}`
}

export function recordOf({ metadata, spec }: KubeObject): unknown {
  const { tenant, hash, prefix, scopes, routes, expiresAt, revoked, rotatedTo } = Object(spec)
  const isRevoked = revoked !== undefined && revoked !== null
  return {
    id: metadata.name,
    tenant,
    hash,
    prefix,
    scopes,
    routes,
    expires_at: expiresAt,
    revoked_at: isRevoked ? (revoked.at ?? metadata.creationTimestamp) : undefined,
    reason: isRevoked ? revoked.reason : undefined,
    rotated_to: rotatedTo,
  }
}

export interface NewKey {
  readonly id: string
  readonly tenant: string
  readonly hash: string
  readonly prefix?: string | undefined
  readonly scopes: readonly string[]
  readonly routes: readonly string[]
  readonly expires_at?: string | undefined
}

/** Throws a sentence where a key of the name is there. */
export async function createKey(access: ClusterAccess, record: NewKey): Promise<KubeObject> {
  const gateway = await findGateway(access)
  const { metadata } = gateway
  const { id, tenant, hash, prefix, scopes, routes, expires_at } = record
  const key = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayKey',
    metadata: { name: id, namespace: access.namespace },
    spec: {
      gateway: metadata.name,
      tenant,
      hash,
      ...(prefix === undefined ? {} : { prefix }),
      scopes,
      routes,
      ...(expires_at === undefined ? {} : { expiresAt: expires_at }),
    },
  }
  for (const name of missingOf(routes, gateway))
    printRemark(`warning: gateway "${metadata.name}" has no route "${name}"; an alias is no route`)
  try {
    return await access.api.create(RESOURCES.gatewayKeys, key, MANAGER)
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'AlreadyExists')
      throw new AnswerIsNo(`There is a GatewayKey "${id}" already; choose another with --id.`)
    throw error
  }
}

/** A key may come before its routes, so that this is no reason to refuse it. */
function missingOf(names: readonly string[], gateway: KubeObject): readonly string[] {
  const routes = valueBelow(gateway, 'gw', 'routes')
  const known = Array.isArray(routes) ? routes.map((route) => valueBelow(route, 'name')) : []
  return names.filter((name) => name !== '*' && !known.includes(name))
}

/** Throws a sentence where there is no such GatewayKey. */
export async function findKey(access: ClusterAccess, id: string): Promise<KubeObject> {
  const place = { namespace: access.namespace, name: id }
  const key = await access.api.get(RESOURCES.gatewayKeys, place)
  if (key !== undefined) return key
  throw new AnswerIsNo(
    `There is no GatewayKey "${id}" in namespace "${access.namespace}"; a key that stands in a ` +
      'GatewayConfig is changed in its file, and applied.',
  )
}

export async function revokeKey(
  access: ClusterAccess,
  id: string,
  revoked: { readonly at: string; readonly reason?: string | undefined },
): Promise<void> {
  const { at, reason } = revoked
  await setInSpec(access, id, REVOKER, { revoked: reason === undefined ? { at } : { at, reason } })
}

/** With a replacement it ends now; with a moment it ends then. */
export async function endKey(
  access: ClusterAccess,
  id: string,
  end: { readonly rotatedTo: string } | { readonly expiresAt: string },
): Promise<void> {
  await setInSpec(access, id, ROTATOR, end)
}

async function setInSpec(access: ClusterAccess, id: string, manager: string, spec: object) {
  const metadata = { name: id, namespace: access.namespace }
  await access.api.apply(RESOURCES.gatewayKeys, { metadata, spec }, { manager })
}
