/** What of a gateway's objects is the operator's alone, and the patch that takes away what somebody else put there. */
import { isObject, type KubeObject, RESOURCES, type Resource, valueBelow } from '../objects.ts'
import { covers } from './covers.ts'

type Path = readonly string[]

/** An entry too many here changes what is served: a selector finds other pods, a key may sign. */
const EXACT_MAPS: readonly (readonly [resource: Resource, path: Path])[] = [
  [RESOURCES.services, ['spec', 'selector']],
  [RESOURCES.configMaps, ['data']],
]

/** Of these the generation tells whether anything in `spec` has changed, so that nobody has to compare. */
const COUNTED: readonly Resource[] = [
  RESOURCES.deployments,
  RESOURCES.budgets,
  RESOURCES.networkPolicies,
]

/** What scales the Deployment sets this, and `kubectl rollout restart` writes one of these. */
const LEFT_ALONE = new Set(['spec.replicas', 'spec.template.metadata.annotations'])

export function hasGeneration(resource: Resource): boolean {
  return COUNTED.includes(resource)
}

/** Whether all that is desired is there, and nothing more where more would count. */
export function isExactly(resource: Resource, live: KubeObject, desired: KubeObject): boolean {
  if (!covers(live, desired)) return false
  return mapsOf(resource).every((path) => {
    const [there, wanted] = [valueBelow(live, ...path), valueBelow(desired, ...path)]
    return Object.keys(Object(there)).length === Object.keys(Object(wanted)).length
  })
}

/**
 * A merge patch that takes away what others have added; undefined where there is nothing to take away. Server-side apply
 * would leave every entry that somebody else has put into a list or a map. It sets nothing, because a field that this
 * patch set would stay when an apply no longer names it.
 */
export function restoring(
  resource: Resource,
  live: KubeObject,
  desired: KubeObject,
): Readonly<Record<string, unknown>> | undefined {
  const removed = (hasGeneration(resource) ? [['spec']] : mapsOf(resource)).map((path) => {
    const [there, wanted] = [valueBelow(live, ...path), valueBelow(desired, ...path)]
    return { path, found: removal(there, wanted, path.join('.')) }
  })
  const replaced =
    resource === RESOURCES.services ? [{ path: PORTS, found: ports(live, desired) }] : []
  const patches = [...removed, ...replaced].filter(({ found }) => found !== undefined)
  if (patches.length === 0) return undefined
  return patches.reduce<Tree>((patch, { path, found }) => within(patch, path, found), {})
}

type Tree = Readonly<Record<string, unknown>>

const PORTS: Path = ['spec', 'ports']

/** Server-side apply would add ours to a port that somebody wrote, and two of one name are refused. */
function ports(live: KubeObject, desired: KubeObject): unknown {
  const wanted = valueBelow(desired, ...PORTS)
  return covers(valueBelow(live, ...PORTS), wanted) ? undefined : wanted
}

function mapsOf(resource: Resource): Path[] {
  return EXACT_MAPS.filter(([one]) => one === resource).map(([, path]) => path)
}

/** Null is what the API server puts its default for, so that fields which nobody has set may be named too. */
function removal(live: unknown, desired: unknown, path: string): unknown {
  if (Array.isArray(desired)) {
    if (areNamed(desired) && Array.isArray(live)) return kept(live, desired)
    return covers(live, desired) ? undefined : desired
  }
  if (!isObject(desired) || !isObject(live)) return undefined
  const entries = Object.keys(live).flatMap((name): [string, unknown][] => {
    if (name in desired) {
      const found = removal(live[name], desired[name], `${path}.${name}`)
      return found === undefined ? [] : [[name, found]]
    }
    return LEFT_ALONE.has(path) || LEFT_ALONE.has(`${path}.${name}`) ? [] : [[name, null]]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Entries that are desired, one of each name. A merge patch takes a list as it is written, with no nulls below. */
function kept(live: readonly unknown[], desired: readonly unknown[]): unknown[] {
  const wanted = new Map(desired.map((entry) => [valueBelow(entry, 'name'), entry]))
  return live.flatMap((entry) => {
    const name = valueBelow(entry, 'name')
    const found = wanted.get(name)
    wanted.delete(name)
    return found === undefined ? [] : [literal(entry, found)]
  })
}

function literal(live: unknown, desired: unknown): unknown {
  if (Array.isArray(desired)) {
    return areNamed(desired) && Array.isArray(live) ? kept(live, desired) : desired
  }
  if (!isObject(desired) || !isObject(live)) return live
  // A member that is missing is set, or what is left may not be valid: a probe that asks nothing.
  return Object.fromEntries(
    Object.entries(desired).map(([name, value]) => [
      name,
      name in live ? literal(live[name], value) : value,
    ]),
  )
}

function areNamed(entries: readonly unknown[]): boolean {
  return entries.length > 0 && entries.every((entry) => valueBelow(entry, 'name') !== undefined)
}

function within(tree: Tree, [first = '', ...rest]: Path, value: unknown): Tree {
  const below = tree[first]
  const child = rest.length === 0 ? value : within(isObject(below) ? below : {}, rest, value)
  return { ...tree, [first]: child }
}
