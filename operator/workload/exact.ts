/** The fields of a gateway's objects that only the operator may write, and the patch that removes foreign entries. */
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import { type KubeObject, RESOURCES, type Resource } from '../kube/objects.ts'
import { covers } from './covers.ts'

type ObjectPath = readonly string[]

/** An additional entry here changes the behaviour: a selector finds other pods, a key may sign. */
const EXACT_MAPS: readonly (readonly [resource: Resource, path: ObjectPath])[] = [
  [RESOURCES.services, ['spec', 'selector']],
  [RESOURCES.configMaps, ['data']],
]

/** The generation shows whether anything in the `spec` of these has changed, so that no comparison is needed. */
const COUNTED: readonly Resource[] = [
  RESOURCES.deployments,
  RESOURCES.budgets,
  RESOURCES.networkPolicies,
  RESOURCES.httpRoutes,
]

/** An autoscaler sets this, and `kubectl rollout restart` writes one of these. */
const LEFT_ALONE = new Set(['spec.replicas', 'spec.template.metadata.annotations'])

export function hasGeneration(resource: Resource): boolean {
  return COUNTED.includes(resource)
}

/** Whether all desired fields are there, and no additional ones that would have an effect. */
export function isExactly(resource: Resource, live: KubeObject, desired: KubeObject): boolean {
  // The items of a list have neither.
  const { apiVersion: _, kind: __, ...wanted } = desired
  if (!covers(live, wanted)) return false
  return mapsOf(resource).every((path) => {
    const [there, wanted] = [valueBelow(live, ...path), valueBelow(desired, ...path)]
    return Object.keys(Object(there)).length === Object.keys(Object(wanted)).length
  })
}

/**
 * A merge patch after which the object is as desired, without fields of other writers. Server-side apply would leave
 * every foreign entry of a list or a map. Policies check the whole result, so values and entries are corrected in one
 * write.
 */
export function restoring(
  resource: Resource,
  live: KubeObject,
  desired: KubeObject,
): Readonly<Record<string, unknown>> {
  if (hasGeneration(resource)) return { spec: replaced(live.spec, desired.spec, 'spec') }
  const ports = valueBelow(desired, ...PORTS)
  const lists = ports === undefined ? {} : { spec: { ports } }
  return mapsOf(resource).reduce<Tree>((patch, path) => {
    const [there, wanted] = [valueBelow(live, ...path), valueBelow(desired, ...path)]
    return within(patch, path, replaced(there, wanted, path.join('.')))
  }, lists)
}

type Tree = Readonly<Record<string, unknown>>

const PORTS: ObjectPath = ['spec', 'ports']

function mapsOf(resource: Resource): ObjectPath[] {
  return EXACT_MAPS.filter(([one]) => one === resource).map(([, path]) => path)
}

/** Lists whole, of maps every entry; undesired ones become null, which the API server replaces with its default. */
function replaced(live: unknown, desired: unknown, path: string): unknown {
  if (!isRecord(desired) || !isRecord(live)) return desired
  const extra = Object.keys(live).filter((name) => {
    const isLeft = LEFT_ALONE.has(path) || LEFT_ALONE.has(`${path}.${name}`)
    return !(name in desired || isLeft)
  })
  return Object.fromEntries([
    ...extra.map((name) => [name, null] as const),
    ...Object.entries(desired).map(
      ([name, value]) => [name, replaced(live[name], value, `${path}.${name}`)] as const,
    ),
  ])
}

function within(tree: Tree, [first = '', ...rest]: ObjectPath, value: unknown): Tree {
  const below = tree[first]
  const child = rest.length === 0 ? value : within(isRecord(below) ? below : {}, rest, value)
  return { ...tree, [first]: child }
}
