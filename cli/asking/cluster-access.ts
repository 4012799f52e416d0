/** The tool's access to a cluster: its API server, the gateway of the command, and the gateway's pods. */
import { valueBelow } from '../../dataplane/json/values.ts'
import { ApiClient } from '../../operator/kube/api.ts'
import { openCluster } from '../../operator/kube/cluster.ts'
import { GATEWAY_LABEL } from '../../operator/kube/names.ts'
import { type KubeObject, RESOURCES } from '../../operator/kube/objects.ts'
import { AnswerIsNo } from '../printing/output.ts'
import { explained, isUnknownKind } from './cluster-errors.ts'
import type { InCluster } from './place.ts'

export interface ClusterAccess {
  readonly api: ApiClient
  readonly server: string
  readonly namespace: string
  /** The name that the user gave. */
  readonly gateway: string | undefined
}

const DEADLINE_MS = 15_000
const LIST_LIMIT = 500
const NAMED_MAX = 10

export async function withCluster<T>(
  place: InCluster,
  use: (access: ClusterAccess) => Promise<T>,
): Promise<T> {
  const { kubeconfig, context } = place
  const cluster = await openCluster({ env: process.env, kubeconfig, context })
  const api = new ApiClient({ cluster, deadlineMs: DEADLINE_MS })
  const namespace = place.namespace ?? cluster.namespace
  try {
    return await use({ api, server: cluster.server, namespace, gateway: place.gateway })
  } catch (error) {
    throw explained(error, cluster.server)
  } finally {
    await api.close()
  }
}

/** The named gateway, or the only one of the namespace; throws a sentence if it does not exist. */
export async function findGateway(access: ClusterAccess): Promise<KubeObject> {
  const { api } = access
  const { namespace, gateway } = gatewayPlace(access)
  if (gateway !== undefined) {
    const found = await api.get(RESOURCES.gatewayConfigs, { namespace, name: gateway })
    if (found !== undefined) return found
    const there = await thereAre(api, namespace)
    throw new AnswerIsNo(
      `There is no GatewayConfig "${gateway}" in namespace "${namespace}"${there}.`,
    )
  }
  const all = await listAll(access, 'gatewayConfigs')
  const [only] = all
  if (only !== undefined && all.length === 1) return only
  const names = all.map(({ metadata }) => metadata.name).join(', ')
  const what = only === undefined ? 'is no GatewayConfig' : `are several: ${names}`
  throw new AnswerIsNo(`There ${what} in namespace "${namespace}". Choose with -n and --gateway.`)
}

/** Throws if the cluster lacks the kind, because the server's error would only report a missing object. */
async function thereAre(api: ApiClient, namespace: string): Promise<string> {
  const selection = { namespace }
  const { items } = await api
    .list(RESOURCES.gatewayConfigs, selection, { limit: NAMED_MAX })
    .catch((error: unknown) => {
      if (isUnknownKind(error)) throw error
      return { items: [] }
    })
  return items.length === 0
    ? ''
    : `; there are: ${items.map(({ metadata }) => metadata.name).join(', ')}`
}

/** `--gateway NAMESPACE/NAME` names a gateway of another namespace than -n. */
export function gatewayPlace({
  namespace,
  gateway,
}: Pick<ClusterAccess, 'namespace' | 'gateway'>): {
  readonly namespace: string
  readonly gateway: string | undefined
} {
  const [first = '', second] = gateway?.split('/') ?? []
  return second === undefined ? { namespace, gateway } : { namespace: first, gateway: second }
}

/** Running pods; ready pods come first. */
export async function podsOf({ api }: ClusterAccess, gateway: KubeObject): Promise<KubeObject[]> {
  const { namespace, name } = gateway.metadata
  const selection = { namespace, labelSelector: `${GATEWAY_LABEL}=${name}` }
  const { items } = await api.list(RESOURCES.pods, selection, { limit: LIST_LIMIT })
  const running = items.filter(
    (pod) =>
      valueBelow(pod, 'status', 'phase') === 'Running' &&
      pod.metadata.deletionTimestamp === undefined,
  )
  return running.sort((one, other) => Number(isReady(other)) - Number(isReady(one)))
}

function isReady(pod: KubeObject): boolean {
  const conditions = valueBelow(pod, 'status', 'conditions')
  if (!Array.isArray(conditions)) return false
  return conditions.some((one) => one?.type === 'Ready' && one?.status === 'True')
}

export async function listAll(
  { api, namespace }: { readonly api: ApiClient; readonly namespace: string | undefined },
  kind: 'gatewayConfigs' | 'gatewayKeys' | 'events',
): Promise<KubeObject[]> {
  const items: KubeObject[] = []
  let next: string | undefined
  do {
    const page = await api.list(RESOURCES[kind], { namespace }, { limit: LIST_LIMIT, next })
    items.push(...page.items)
    next = page.next
  } while (next !== undefined)
  return items
}
