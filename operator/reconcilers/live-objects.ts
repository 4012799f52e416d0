/** The newest known objects: the watched version, or a newer answer of the API server. */
import { type KubeObject, keyOf, RESOURCES, type Resource } from '../kube/objects.ts'
import { trimOf } from '../kube/watch/trim.ts'
import type { Watched, World } from '../world.ts'

/** A watch delivers an apply later; until then, the answer to the apply is the newest version. */
export class LiveObjects {
  readonly #world: World
  readonly #answered = new Map<string, KubeObject>()

  constructor(world: World) {
    this.#world = world
    for (const kind of Object.keys(world.stores) as Watched[]) {
      world.stores[kind].onChange((before, after) => {
        const key = keyOf(after ?? before ?? NOTHING)
        const id = `${kind} ${key}`
        const answered = this.#answered.get(id)
        if (answered === undefined) return
        if (after === undefined || !isNewer(answered, after)) this.#answered.delete(id)
      })
    }
  }

  of(resource: Resource, key: string): KubeObject | undefined {
    const kind = kindOf(resource)
    if (kind === undefined) return undefined
    return this.#answered.get(`${kind} ${key}`) ?? this.#world.stores[kind].get(key)
  }

  /** The answer of the API server to the last write. */
  note(resource: Resource, object: KubeObject): void {
    const kind = kindOf(resource)
    if (kind === undefined) return
    const watched = this.#world.stores[kind].get(keyOf(object))
    if (watched !== undefined && !isNewer(object, watched)) return
    this.#answered.set(`${kind} ${keyOf(object)}`, trimOf(resource)(object))
  }
}

const NOTHING: KubeObject = { metadata: { name: '' } }

function kindOf(resource: Resource): Watched | undefined {
  // Only watched kinds have a store; others are never read here.
  return (Object.keys(RESOURCES) as Watched[]).find((one) => RESOURCES[one] === resource)
}

function isNewer({ metadata: one }: KubeObject, { metadata: other }: KubeObject): boolean {
  const [first = '', second = ''] = [one.resourceVersion, other.resourceVersion]
  if (!/^\d+$/.test(first) || !/^\d+$/.test(second)) return false
  return BigInt(first) > BigInt(second)
}
