/** A route as requests use it: its upstreams, the order of attempts, and its clocks. */
import type { RouteSection, Section } from '../../schema/index.ts'
import type { Strategy } from '../../strategies/contract.ts'
import { STRATEGIES } from '../../strategies/index.ts'
import type { UpstreamSettings } from '../upstreams/settings.ts'
import { groupOf, isGroup, type RouteGroup } from './group.ts'
import { attemptsOf, upstreamNamesOf } from './members.ts'
import { type RolloutPlan, rolloutPlan } from './rollout.ts'

export interface RouteMember {
  readonly upstream: UpstreamSettings
  readonly weight: number
}

export interface Route {
  readonly name: string
  readonly section: RouteSection
  readonly strategy: Strategy
  readonly members: readonly RouteMember[]
  /** The models of its upstreams. */
  readonly models: readonly string[]
  /** The name that the client sent, if an upstream gets the model that the client names. */
  readonly sent?: string
  /** Timeout of a request, the smaller of the route's and the gateway's. */
  readonly timeoutMs: number
  /** The same for an answer that is not a stream, which sends nothing to the load balancer before its end. */
  readonly silenceMs: number
  /** Present if the order of attempts needs more than its strategy. */
  readonly group?: RouteGroup | undefined
  /** Bound of all attempts of one request. */
  readonly attemptsMax: number
  /** Present while a new upstream, the last member, gets a share of the requests. */
  readonly rollout?: RolloutPlan | undefined
}

/** Margin for the 100 ms sweep of deadlines and for the delivery of an answer. */
const SILENCE_MARGIN_MS = 250

const STRATEGIES_BY_NAME = new Map(Object.entries(STRATEGIES))

/** With the objective of the gateway, if the route has none and leaves slow upstreams. */
function withObjective(route: RouteSection, { slo }: Section): RouteSection {
  const isMissing = route.slo === undefined && route.overflow?.on_slo_breach === 'fallback'
  return isMissing && slo !== undefined ? { ...route, slo } : route
}

/** Without the members of weight 0, which get no requests, not even while all others are unavailable. */
function withoutIdle(route: RouteSection, upstreams: Upstreams): RouteSection {
  if (route.strategy !== 'weighted') return route
  const weightOf = (name: string) => upstreams.get(name)?.section.weight
  const used = route.upstreams.filter(({ name, weight }) => (weight ?? weightOf(name)) !== 0)
  return used.length === route.upstreams.length ? route : { ...route, upstreams: used }
}

type Upstreams = ReadonlyMap<string, UpstreamSettings>

/** The routes of a section in its order. */
export function routesOf(gateway: Section, upstreams: Upstreams): readonly Route[] {
  const routes = gateway.routes.map((route) =>
    withoutIdle(withObjective(route, gateway), upstreams),
  )
  const whole = { ...gateway, routes }
  return routes.map((route) => routeOf(route, whole, upstreams))
}

function routeOf(section: RouteSection, whole: Section, upstreams: Upstreams): Route {
  const strategy = known(STRATEGIES_BY_NAME, section.strategy)
  const isNested = isGroup(section)
  const own = isNested ? upstreamNamesOf(section, whole.routes) : strategy.members(section)
  const { rollout } = section
  const names = rollout === undefined ? own : [...own, rollout.to]
  const members = names.map((name) => {
    const upstream = known(upstreams, name)
    const listed = section.upstreams.find((entry) => entry.name === name)
    return { upstream, weight: listed?.weight ?? upstream.section.weight ?? 1 }
  })
  const ceiling = whole.gateway.request_timeout_seconds
  const timeoutMs = Math.min(section.timeout_seconds ?? ceiling, ceiling) * 1000
  return Object.freeze({
    name: section.name,
    section,
    strategy,
    members,
    models: modelsOf(members),
    timeoutMs,
    silenceMs: Math.min(timeoutMs, silenceMsBefore(whole.gateway.load_balancer_idle_seconds)),
    group: isNested ? groupOf(section, whole.routes) : undefined,
    attemptsMax: section.retry?.max_attempts ?? attemptsOf(section, whole.routes),
    rollout: rollout && rolloutPlan(section.name, rollout, known(upstreams, rollout.to)),
  })
}

export function modelsOf(members: readonly RouteMember[]): readonly string[] {
  return [...new Set(members.map(({ upstream }) => upstream.model))]
}

/** Throws only for a mistake of the checks. */
export function known<V>(map: ReadonlyMap<string, V>, name: string): V {
  const value = map.get(name)
  if (value === undefined) throw new Error(`"${name}" passed the checks but does not exist`)
  return value
}

/** A little less than the load balancer waits, so that the client gets a 504 and not a closed connection. */
function silenceMsBefore(idleSeconds: number | undefined): number {
  if (idleSeconds === undefined) return Number.POSITIVE_INFINITY
  const idleMs = idleSeconds * 1000
  return idleMs - Math.min(SILENCE_MARGIN_MS, idleMs / 20)
}
