/** The fields that each strategy requires, and the fields that it would ignore. */

import { compilePrices } from '../../../accounts/price.ts'
import { ANY_MODEL } from '../../../schema/constants.ts'
import type { RouteSection } from '../../../schema/index.ts'
import { type Finding, type Path, refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, quoted } from '../contract.ts'
import { upstreamsOf } from '../tenants/prices.ts'

type RouteCheck = (route: RouteSection, path: Path) => Finding[]

function forEachRoute(one: RouteCheck): Check {
  return ({ routes }) => routes.flatMap((route, index) => one(route, at('routes', index)))
}

/** Strategies that choose only among `upstreams`. */
const SPREADING = ['round_robin', 'least_queue', 'weighted', 'fastest', 'cheapest']

const singleHasOneUpstream: RouteCheck = ({ strategy, primary, upstreams }, path) => {
  if (strategy !== 'single' || primary !== undefined || upstreams.length === 1) return []
  const message = `single needs exactly one upstream, and has ${upstreams.length}`
  const fix = 'Name one upstream in primary, or list exactly one in upstreams.'
  return [refuse([...path, upstreams.length === 0 ? 'strategy' : 'upstreams'], message, fix)]
}

const spreadingHasUpstreams: RouteCheck = ({ strategy, upstreams }, path) =>
  SPREADING.includes(strategy) && upstreams.length === 0
    ? [refuse([...path, 'strategy'], `${strategy} needs upstreams`, 'List names in upstreams.')]
    : []

const primaryWithFallbackIsComplete: RouteCheck = (route, path) => {
  if (route.strategy !== 'primary_with_fallback') return []
  const strategy = [...path, 'strategy']
  return [
    ...(route.primary === undefined
      ? [refuse(strategy, 'primary_with_fallback needs primary', 'Name an upstream in primary.')]
      : []),
    ...(route.fallback.length === 0
      ? [
          warn(
            strategy,
            'primary_with_fallback has no fallback: requests fail when the primary does',
            'List upstreams in fallback, or use the strategy single.',
          ),
        ]
      : []),
  ]
}

const fallbackIsAnother: RouteCheck = (route, path) => {
  const { fallback, strategy } = route
  const own = strategy === 'primary_with_fallback' ? [route.primary] : ownMembers(route)
  return fallback.flatMap((name, index) => {
    if (!own.includes(name)) return []
    const message =
      name === route.primary
        ? `${quoted(name)} is the primary; a fallback is another upstream`
        : `${quoted(name)} is chosen by the strategy already; a fallback is another upstream`
    const fix = 'Remove it here; retry.max_attempts repeats attempts at one upstream.'
    return [refuse([...path, 'fallback', index], message, fix)]
  })
}

const primaryIsUsed: RouteCheck = ({ strategy, primary }, path) =>
  primary !== undefined && (SPREADING.includes(strategy) || strategy === 'semantic')
    ? [ignored([...path, 'primary'], 'primary', strategy)]
    : []

const overflowIsUsed: RouteCheck = ({ strategy, overflow, fallback }, path) => {
  if (overflow === undefined || fallback.length > 0 || strategy === 'primary_with_fallback')
    return []
  const message = 'overflow cannot take effect: the route has no fallback'
  return [refuse([...path, 'overflow'], message, 'Remove it, or list upstreams in fallback.')]
}

/** Listed upstreams that the strategy would never choose. */
const listedUpstreamsAreUsed: RouteCheck = (route, path) => {
  const chosen = chosenUpstreams(route)
  if (chosen === undefined) return []
  return route.upstreams.flatMap(({ name }, index) => {
    if (chosen.includes(name)) return []
    const message = `${route.strategy} never uses ${quoted(name)}`
    return [
      refuse([...path, 'upstreams', index, 'name'], message, UNUSED_FIX[route.strategy] ?? ''),
    ]
  })
}

const UNUSED_FIX: Record<string, string> = {
  single: 'Remove it, or use a strategy that spreads over upstreams such as round_robin.',
  primary_with_fallback: 'Remove it, or add it to fallback.',
  semantic: 'Remove it, or name it in semantic.easy or semantic.hard.',
}

function chosenUpstreams(route: RouteSection): string[] | undefined {
  const { strategy, primary, fallback, semantic } = route
  if (strategy === 'single' && primary !== undefined) return [primary]
  if (strategy === 'primary_with_fallback' && primary !== undefined) return [primary, ...fallback]
  if (strategy === 'semantic' && semantic !== undefined) return [semantic.easy, semantic.hard]
  return undefined
}

function ownMembers({ upstreams, primary, semantic }: RouteSection): (string | undefined)[] {
  return [primary, semantic?.easy, semantic?.hard, ...upstreams.map(({ name }) => name)]
}

function ignored(path: Path, field: string, strategy: string): Finding {
  const message = `${field} cannot take effect: the strategy ${strategy} has none`
  return refuse(path, message, 'Remove it, or use the strategy primary_with_fallback.')
}

const cheapestHasPrices: Check = (section) => {
  const prices = compilePrices(section.pricing)
  return section.routes.flatMap((route, index) => {
    if (route.strategy !== 'cheapest' || route.upstreams.length === 0) return []
    // A model that a client names is known only with its request.
    const isPriced = upstreamsOf(section, route).some(
      ({ model }) => model === ANY_MODEL || prices.has(model),
    )
    if (isPriced) return []
    const message = 'cheapest cannot take effect: no upstream of the route has a price'
    return [refuse(at('routes', index, 'strategy'), message, 'Add their models to pricing.')]
  })
}

export const strategyChecks = [
  cheapestHasPrices,
  forEachRoute(singleHasOneUpstream),
  forEachRoute(spreadingHasUpstreams),
  forEachRoute(primaryWithFallbackIsComplete),
  forEachRoute(fallbackIsAnother),
  forEachRoute(primaryIsUsed),
  forEachRoute(overflowIsUsed),
  forEachRoute(listedUpstreamsAreUsed),
]
