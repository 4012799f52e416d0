/** Which upstream is asked first, and what happens when it fails. */

import { ANY_MODEL, nestedRoute } from '../../schema/constants.ts'
import type { FairnessSection } from '../../schema/fairness.ts'
import type { RouteSection, Section, UpstreamSection } from '../../schema/index.ts'
import { attemptsOf, upstreamNamesOf } from '../routes/members.ts'
import { fairnessOf } from '../upstreams/fairness.ts'

export function explainOrder(
  section: Section,
  route: RouteSection,
  pods: number | undefined,
): string[] {
  const show = (name: string) => showUpstream(section, name, pods)
  const members = route.upstreams.map(({ name }) => show(name))
  const own = explainStrategy(section, route, { show, members })
  if (route.fallback.length === 0) return own
  const first = route.strategy === 'primary_with_fallback' ? 'the primary is' : 'all of them are'
  return [
    ...own,
    ...route.fallback.map((name, index) => `fallback ${index + 1}: ${show(name)}`),
    `goes to a fallback: ${spillReasons(route)}, and at once while ${first} unhealthy`,
  ]
}

interface Shown {
  readonly show: (name: string) => string
  readonly members: readonly string[]
}

function explainStrategy(
  section: Section,
  route: RouteSection,
  { show, members }: Shown,
): string[] {
  switch (route.strategy) {
    case 'single':
      return [`upstream: always ${route.primary === undefined ? members[0] : show(route.primary)}`]
    case 'primary_with_fallback':
      return [`upstream: ${show(route.primary ?? '')} first`]
    case 'weighted':
      return ['upstream: chosen by weight', ...shares(section, route).map((one) => `  ${one}`)]
    case 'semantic':
      return [
        `upstream: ${show(route.semantic?.easy ?? '')} for easy prompts`,
        `upstream: ${show(route.semantic?.hard ?? '')} for hard prompts, score at least ${route.semantic?.threshold}`,
        ...classifierOf(route),
      ]
    default:
      return [`upstream: ${STRATEGY_WORDS[route.strategy]} ${members.join(', ')}`]
  }
}

function classifierOf({ semantic }: RouteSection): string[] {
  const { embedding } = semantic ?? {}
  if (embedding === undefined) return []
  const { easy, hard } = embedding.exemplars
  const many = `${easy.length} easy and ${hard.length} hard exemplars`
  return [
    `  judged by meaning: vectors of ${embedding.upstream}, ${many}; by text while it is away`,
  ]
}

const STRATEGY_WORDS: Record<string, string> = {
  round_robin: 'in even rotation over',
  least_queue: 'the one with the shortest queue of',
  fastest: 'by time to first content the faster of two of',
  cheapest: 'the one with the lowest price of',
}

export function explainAttempts(route: RouteSection, routes: readonly RouteSection[]): string[] {
  const { retry, fallback } = route
  const attempts = attemptsMax(route, routes)
  if (attempts === 1) return ['attempts: 1, a failure is not repeated']
  const isBounded = retry?.max_attempts !== undefined
  const each = route.strategy === 'primary_with_fallback' ? 'fallback' : 'upstream'
  const source = isBounded ? 'retry.max_attempts' : `each ${each} once`
  const wait = retry?.respect_retry_after === false ? 'ignored' : 'honoured'
  const reached = Math.min(fallback.length, attempts - 1)
  return [
    `attempts: ${attempts} in all (${source}), only before the first byte is sent`,
    ...(fallback.length > reached
      ? [`  of ${fallback.length} fallbacks ${reached} can be reached after a failure`]
      : []),
    ...(isBounded
      ? [
          `  after 5xx, 429, a lost connection: a delay of 0 to ${retry.initial_delay_ms} ms, doubling; Retry-After is ${wait}`,
          '  after a timeout: never the same upstream again',
        ]
      : []),
  ]
}

/** How often a request is tried in all. */
export function attemptsMax(route: RouteSection, routes: readonly RouteSection[]): number {
  return route.retry?.max_attempts ?? attemptsOf(route, routes)
}

export function explainUnsupported({ on_unsupported }: RouteSection): string[] {
  const fate =
    on_unsupported === 'drop'
      ? 'left out, and named in X-Gw-Dropped-Parameters'
      : 'the next upstream is asked without a failed attempt; 400 when none can'
  return [`a parameter that an upstream cannot do: ${fate}`]
}

function spillReasons({ overflow }: RouteSection): string {
  const reasons = [
    ['on_queue_saturated', 'when it is full'],
    ['on_upstream_error', 'when it fails'],
    ['on_timeout', 'when it is silent too long'],
  ] as const
  const usual = reasons.flatMap(([field, words]) =>
    overflow === undefined || overflow[field] === 'fallback' ? [words] : [],
  )
  const isForSlow = overflow?.on_slo_breach === 'fallback'
  const spilled = isForSlow ? [...usual, 'while it misses the objective'] : usual
  return spilled.length === 0 ? 'for no other reason' : spilled.join(', ')
}

function shares({ upstreams }: Section, route: RouteSection): string[] {
  const weights = route.upstreams.map(({ name, weight }) => ({
    name,
    weight: weight ?? upstreams.find((one) => one.name === name)?.weight ?? 0,
  }))
  const sum = weights.reduce((total, { weight }) => total + weight, 0)
  return weights.map(({ name, weight }) => `${name}: ${Math.round((weight / sum) * 1000) / 10} %`)
}

function showUpstream(section: Section, name: string, pods: number | undefined): string {
  const nested = nestedRoute(name)
  if (nested !== undefined) {
    const inner = section.routes.find((one) => one.name === nested)
    const names = inner === undefined ? [] : upstreamNamesOf(inner, section.routes)
    return `${name} (${inner?.strategy} over ${names.join(', ')})`
  }
  const upstream = section.upstreams.find((one) => one.name === name)
  if (upstream === undefined) return name
  const fairness = fairnessOf(section).get(name)
  return `${name} (${traitsOf(upstream, pods, fairness).join(', ')})`
}

/** The first patterns, because there may be hundreds. */
const PATTERNS_SHOWN_MAX = 5

function modelWords({ model, models = [] }: UpstreamSection): string {
  if (model !== ANY_MODEL) return model
  const shown = models.slice(0, PATTERNS_SHOWN_MAX).join(' ')
  const more = models.length > PATTERNS_SHOWN_MAX ? ' and more' : ''
  return `with the model that the client names${shown === '' ? '' : `: ${shown}${more}`}`
}

const PLACES: Readonly<Record<string, string | undefined>> = {
  dns: 'the addresses of its name',
  pods: 'the pods of its Service',
  pool: 'the pods of its InferencePool',
}

function traitsOf(
  upstream: UpstreamSection,
  pods: number | undefined,
  fairness: FairnessSection | undefined,
): string[] {
  const { provider, max_queue_depth, circuit_breaker } = upstream
  const places = PLACES[upstream.endpoints ?? 'url']
  const hasSeveral = places !== undefined
  const balance = upstream.balance === 'affinity' ? 'by conversation one' : 'the less loaded'
  const failures = circuit_breaker?.failure_threshold ?? 5
  const pause = circuit_breaker?.open_duration_seconds ?? 30
  return [
    `${provider} ${modelWords(upstream)}`,
    ...(hasSeveral ? [`${balance} of ${places}`] : []),
    max_queue_depth === undefined ? 'no queue limit' : placesOf(max_queue_depth, hasSeveral, pods),
    ...(fairness === undefined
      ? []
      : [`${fairness.max_waiting} requests may wait for it, ${fairness.max_wait_seconds} s each`]),
    `out for ${pause} s after ${failures} failures`,
  ]
}

/** Each endpoint has these places in each pod; the number of endpoints is not known here. */
function placesOf(depth: number, hasSeveral: boolean, pods: number | undefined): string {
  const whose = `${pods === undefined ? '' : ' from each pod'}${hasSeveral ? ' at each endpoint' : ''}`
  const factors = [
    ...(pods === undefined ? [] : [`${pods} ${pods === 1 ? 'pod' : 'pods'}`]),
    ...(hasSeveral ? ['endpoints'] : []),
  ]
  const sum = hasSeveral || pods === undefined ? '' : ` = ${pods * depth}`
  const product = factors.length === 0 ? '' : `: ${[...factors, depth].join(' x ')}${sum}`
  return `full at ${depth} in flight${whose}${product}`
}
