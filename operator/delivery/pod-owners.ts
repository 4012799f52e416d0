/** Decides which pods belong to a gateway: those of a ReplicaSet of its Deployment, whichever labels other pods carry. */
import type { ApiClient } from '../kube/api.ts'
import { isOwnedBy } from '../kube/names.ts'
import { type KubeObject, RESOURCES } from '../kube/objects.ts'

/** Looked up at once; further unknown ReplicaSets wait for the next check. */
const LOOKUPS_MAX = 20

export class PodOwners {
  readonly #api: Pick<ApiClient, 'get'>
  /** By gateway: uid of a ReplicaSet, and of the object that controls it. */
  readonly #known = new Map<string, Map<string, string>>()

  constructor(api: Pick<ApiClient, 'get'>) {
    this.#api = api
  }

  /** Returns the pods that carry the gateway's label and belong to it: only these receive documents. */
  async ownedBy(
    gateway: KubeObject,
    deployment: KubeObject | undefined,
    pods: readonly KubeObject[],
  ): Promise<KubeObject[]> {
    const key = `${gateway.metadata.namespace}/${gateway.metadata.name}`
    const uid = deployment?.metadata.uid
    if (deployment === undefined || uid === undefined || !isOwnedBy(deployment, gateway)) return []
    const known = this.#known.get(key) ?? new Map<string, string>()
    const named = new Map(pods.flatMap((pod) => replicaSetOf(pod) ?? []))
    const unknown = [...named].filter(([set]) => !known.has(set)).slice(0, LOOKUPS_MAX)
    const found = await Promise.all(
      unknown.map(async ([set, name]) => {
        const owner = await this.#ownerOf(gateway, set, name)
        return owner === undefined ? [] : [[set, owner] as const]
      }),
    )
    const kept = [...known].filter(([set]) => named.has(set))
    const all = new Map([...kept, ...found.flat()])
    this.#known.set(key, all)
    return pods.filter((pod) => {
      const [set] = replicaSetOf(pod)?.[0] ?? []
      return set !== undefined && all.get(set) === uid
    })
  }

  forget(gateway: string): void {
    this.#known.delete(gateway)
  }

  async #ownerOf(
    { metadata: { namespace } }: KubeObject,
    uid: string,
    name: string,
  ): Promise<string | undefined> {
    const set = await this.#api.get(RESOURCES.replicaSets, { namespace, name })
    if (set === undefined || set.metadata.uid !== uid) return undefined
    return controllerOf(set, 'Deployment')?.uid
  }
}

/** Uid and name. */
function replicaSetOf(pod: KubeObject): [readonly [string, string]] | undefined {
  const owner = controllerOf(pod, 'ReplicaSet')
  return owner === undefined ? undefined : [[owner.uid, owner.name]]
}

function controllerOf({ metadata }: KubeObject, kind: string) {
  const owners = metadata.ownerReferences ?? []
  return owners.find(
    (owner) => owner.controller === true && owner.kind === kind && owner.apiVersion === 'apps/v1',
  )
}
