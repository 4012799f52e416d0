/** The rollouts in a pod's report, read without trusting it, and those of all pods as one list. */
import { valueBelow } from '../../dataplane/json/values.ts'

export interface ReportedRollout {
  readonly route: string
  readonly to: string
  readonly phase: string
  readonly share: number
  readonly changedAt: string
  readonly reason: string
}

const ROLLOUTS_MAX = 64

export function readRollouts(value: unknown): ReportedRollout[] {
  const entries = Array.isArray(value) ? value.slice(0, ROLLOUTS_MAX) : []
  return entries.map((entry) => ({
    route: textOf(valueBelow(entry, 'route'), 253),
    to: textOf(valueBelow(entry, 'to'), 253),
    phase: textOf(valueBelow(entry, 'phase'), 32),
    share: shareOf(valueBelow(entry, 'share')),
    changedAt: textOf(valueBelow(entry, 'changed_at'), 64),
    reason: textOf(valueBelow(entry, 'reason'), 1024),
  }))
}

/** One for each route: that of the pod in which it changed last. */
export function rolloutsOf(
  reports: readonly { readonly rollouts: readonly ReportedRollout[] }[],
): ReportedRollout[] {
  const byRoute = new Map<string, ReportedRollout>()
  for (const one of reports.flatMap(({ rollouts }) => rollouts)) {
    const known = byRoute.get(one.route)
    if (known === undefined || known.changedAt < one.changedAt) byRoute.set(one.route, one)
  }
  return [...byRoute.values()]
    .toSorted((one, other) => (one.route < other.route ? -1 : 1))
    .slice(0, ROLLOUTS_MAX)
}

function textOf(value: unknown, most: number): string {
  return typeof value === 'string' ? value.slice(0, most) : ''
}

function shareOf(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value <= 100 ? value : 0
}
