/** The upstreams of a route whose members are routes too, or that has fallbacks behind its strategy. */
import type { RouteGroup } from '../../config/routes/group.ts'
import type { Candidate, Choice, Strategy } from '../../strategies/contract.ts'
import type { AttemptTarget } from '../attempt/attempts.ts'
import { objectiveOf, type Spill, spillReasons } from '../attempt/spill.ts'

export interface Group<T extends Candidate> {
  readonly section: RouteGroup['section']
  readonly strategy: Strategy
  readonly members: readonly Member<T>[]
  readonly fallbacks: readonly Member<T>[]
  /** Number of earlier requests, for rotation. */
  readonly turns: { next: number }
}

interface Member<T extends Candidate> {
  readonly name: string
  readonly weight: number
  /** One of both. */
  readonly target?: T
  readonly group?: Group<T>
}

/** `turns`: a group with the same section, whose turns go on. Members without a target are left out. */
export function groupFor<T extends Candidate>(
  { section, strategy, members, fallbacks }: RouteGroup,
  targets: ReadonlyMap<string, T>,
  turns?: Group<T>,
): Group<T> {
  const made = (list: RouteGroup['members'], before: readonly Member<T>[] = []) =>
    list.flatMap(({ name, weight, group }): Member<T>[] => {
      const same = before.find((one) => one.name === name)?.group
      if (group !== undefined)
        return [{ name, weight: weight ?? 1, group: groupFor(group, targets, same) }]
      const target = targets.get(name)
      return target === undefined ? [] : [{ name, weight: weight ?? target.weight, target }]
    })
  return {
    section,
    strategy,
    members: made(members, turns?.members),
    fallbacks: made(fallbacks, turns?.fallbacks),
    turns: turns?.turns ?? { next: 0 },
  }
}

type Ordering<T extends Candidate> = Pick<Choice<T>, 'request' | 'difficulty' | 'random'>

/** The eligible upstreams in the order of attempts, each once. */
export function orderedIn<T extends Candidate>(
  group: Group<T>,
  eligible: ReadonlySet<T>,
  choice: Ordering<T>,
): readonly T[] {
  const { section, strategy, members, fallbacks, turns } = group
  const candidates = members.flatMap((member) => candidateOf(member, eligible))
  const turn = turns.next++
  const first =
    candidates.length === 0
      ? candidates
      : strategy.order({ ...choice, route: section, eligible: candidates, turn })
  const rest = fallbacks.flatMap((member) => candidateOf(member, eligible))
  const targets = [...first, ...rest].flatMap(({ member: { target, group: inner } }) => {
    if (target !== undefined) return [target]
    return inner === undefined ? [] : orderedIn(inner, eligible, choice)
  })
  return [...new Set(targets)]
}

interface MemberCandidate<T extends Candidate> extends Candidate {
  readonly member: Member<T>
}

/** A route is the sum of its upstreams that may be tried; empty if there are none. */
function candidateOf<T extends Candidate>(
  member: Member<T>,
  eligible: ReadonlySet<T>,
): MemberCandidate<T>[] {
  const ready = targetsOf(member).filter((target) => eligible.has(target))
  if (ready.length === 0) return []
  const { name, weight } = member
  const reports = ready.flatMap(({ reportedQueue }) => reportedQueue ?? [])
  return [
    {
      member,
      name,
      weight,
      inFlight: sum(ready.map(({ inFlight }) => inFlight)),
      reportedQueue: reports.length === 0 ? undefined : sum(reports),
      firstContentMs: least(ready.map(({ firstContentMs }) => firstContentMs)),
      price: least(ready.map(({ price }) => price)),
      replicas: sum(ready.map(({ replicas = 1 }) => replicas)),
    },
  ]
}

function least(numbers: readonly (number | undefined)[]): number | undefined {
  const known = numbers.filter((one) => one !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

function targetsOf<T extends Candidate>({ target, group }: Member<T>): T[] {
  if (target !== undefined) return [target]
  return group === undefined ? [] : [...group.members, ...group.fallbacks].flatMap(targetsOf)
}

interface Spills<T extends AttemptTarget> {
  /** undefined if the route has no fallbacks. */
  readonly spill: Spill<T> | undefined
  /** Those of routes within the route; undefined if there are none. */
  readonly innerSpills: readonly Spill<T>[] | undefined
}

/** When a request may leave the members of a group for its fallbacks. */
export function spillsOf<T extends Candidate & AttemptTarget>(group: Group<T>): Spills<T> {
  const inner = [...group.members, ...group.fallbacks].flatMap((member) => innerSpills(member))
  const primaries = new Set(group.members.flatMap(targetsOf))
  const [primary] = primaries
  const reasons = spillReasons(group.section.overflow)
  const objective = objectiveOf(group.section)
  const hasSpill = group.fallbacks.length > 0 && primary !== undefined
  return {
    spill: hasSpill ? { primary, primaries, reasons, ...(objective && { objective }) } : undefined,
    innerSpills: inner.length === 0 ? undefined : inner,
  }
}

function innerSpills<T extends Candidate & AttemptTarget>({ group }: Member<T>): Spill<T>[] {
  if (group === undefined) return []
  const { spill, innerSpills: inner = [] } = spillsOf(group)
  if (spill === undefined) return [...inner]
  const fallbacks = new Set(group.fallbacks.flatMap(targetsOf))
  return [{ ...spill, fallbacks: fallbacks.difference(spill.primaries ?? new Set()) }, ...inner]
}

/** The routes through which a request reaches each upstream: `outer > inner`. */
export function pathsIn<T extends Candidate>(group: Group<T>): ReadonlyMap<T, string> {
  const paths = new Map<T, string>()
  const walk = ({ section, members, fallbacks }: Group<T>, before: readonly string[]) => {
    const path = [...before, section.name]
    for (const { target, group: inner } of [...members, ...fallbacks]) {
      if (target !== undefined && path.length > 1 && !paths.has(target))
        paths.set(target, path.join(' > '))
      if (inner !== undefined) walk(inner, path)
    }
  }
  walk(group, [])
  return paths
}
