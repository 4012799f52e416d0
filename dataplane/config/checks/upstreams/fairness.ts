/** Queues of tenants at upstreams that are full, and the shares of the tenants. */
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import type { FairnessSection } from '../../../schema/fairness.ts'
import type { Section, UpstreamSection } from '../../../schema/index.ts'
import { type Finding, type Path, refuse, warn } from '../../judgement/problems.ts'
import { fairRoutesOf, placesOf } from '../../upstreams/fairness.ts'
import { at, type Check, listed, quoted } from '../contract.ts'

interface WrittenFairness {
  readonly fairness: FairnessSection
  readonly path: Path
  /** The upstreams that have it. */
  readonly upstreams: readonly UpstreamSection[]
}

/** All that is written, at upstreams and at routes. */
export function writtenFairness(section: Section): WrittenFairness[] {
  const own = section.upstreams.flatMap((upstream, index): WrittenFairness[] => {
    const { fairness } = upstream
    if (fairness === undefined) return []
    return [{ fairness, path: at('upstreams', index, 'fairness'), upstreams: [upstream] }]
  })
  const ofRoutes = fairRoutesOf(section).map(({ index, fairness, upstreams }) => ({
    fairness,
    path: at('routes', index, 'fairness'),
    upstreams: section.upstreams.filter(({ name }) => upstreams.includes(name)),
  }))
  return [...own, ...ofRoutes]
}

const upstreamCanBeFull: Check = (section) =>
  writtenFairness(section).flatMap(({ fairness, path, upstreams }) => {
    if (fairness.max_reported_queue !== undefined) return []
    const never = upstreams.filter((upstream) => placesOf(upstream) === undefined)
    if (never.length === 0 || never.length < upstreams.length) return never.map(neverFull(path))
    const message = `cannot take effect: ${namesOf(never)} is never full`
    return [refuse(path, message, 'Give it a max_queue_depth, or max_reported_queue here.')]
  })

const neverFull =
  (path: Path) =>
  ({ name }: UpstreamSection): Finding =>
    warn(path, `${quoted(name)} is never full`, 'Give it a max_queue_depth.')

const queueIsReported: Check = (section) =>
  writtenFairness(section).flatMap(({ fairness, path, upstreams }) => {
    if (fairness.max_reported_queue === undefined) return []
    const silent = upstreams.filter(
      ({ provider, queue_metrics }) =>
        PROVIDER_FACTS[provider].queueGauges === undefined || queue_metrics?.enabled === false,
    )
    if (silent.length === 0) return []
    const message = `cannot take effect: the gateway reads no queue of ${namesOf(silent)}`
    const users = Object.values(PROVIDER_FACTS).filter(({ queueGauges }) => queueGauges)
    const fix = `Remove it, or allow queue_metrics; ${users.map(({ name }) => name).join(', ')} report their queue.`
    return [refuse([...path, 'max_reported_queue'], message, fix)]
  })

const guaranteesFit: Check = (section) =>
  writtenFairness(section).flatMap(({ fairness, path }) => {
    const sum = Object.values(fairness.guarantee).reduce((total, one) => total + one, 0)
    // Fractions such as 0.7, 0.2 and 0.1 add up to a little more than one.
    if (sum <= 1 + 1e-9) return []
    const message = `guarantees ${Math.round(sum * 1000) / 10} % of the upstream`
    return [refuse([...path, 'guarantee'], message, 'Lower the fractions until they sum up to 1.')]
  })

const waitFitsTheGateway: Check = (section) =>
  writtenFairness(section).flatMap(({ fairness, path }) => {
    const most = section.gateway.request_timeout_seconds
    if (fairness.max_wait_seconds < most) return []
    const message = `${fairness.max_wait_seconds} s leave no time for an answer: gateway.request_timeout_seconds is ${most}`
    const fix = `Write less than ${most}, or raise the gateway's.`
    return [warn([...path, 'max_wait_seconds'], message, fix)]
  })

/** One upstream has one queue, so the routes to it must agree. */
const routesAgree: Check = (section) => {
  const first = new Map<string, { readonly index: number; readonly text: string }>()
  return fairRoutesOf(section).flatMap(({ index, fairness, upstreams }) => {
    const path = at('routes', index, 'fairness')
    if (upstreams.length === 0) {
      const message = 'cannot take effect: each upstream of the route has its own'
      return [refuse(path, message, 'Remove it.')]
    }
    const text = JSON.stringify(fairness)
    return upstreams.flatMap((name) => {
      const before = first.get(name)
      if (before === undefined) first.set(name, { index, text })
      if (before === undefined || before.text === text) return []
      const other = section.routes[before.index]?.name ?? ''
      const message = `upstream ${quoted(name)} has another from route ${quoted(other)}`
      return [refuse(path, message, 'Write the same at both, or fairness at the upstream.')]
    })
  })
}

export const fairnessChecks = [
  upstreamCanBeFull,
  queueIsReported,
  guaranteesFit,
  waitFitsTheGateway,
  routesAgree,
]

function namesOf(upstreams: readonly UpstreamSection[]): string {
  return listed(upstreams.map(({ name }) => name))
}
