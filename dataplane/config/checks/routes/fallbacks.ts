/** Retries and fallbacks of a route. */
import { refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, quoted } from '../contract.ts'

const ATTEMPTS_ADVISED_MAX = 3

const fallbacksAreReachable: Check = ({ routes }) =>
  routes.flatMap(({ strategy, fallback, retry }, index) => {
    const attempts = retry?.max_attempts
    if (attempts === undefined) return []
    // A strategy may leave each of its members at once, so only one attempt reaches no fallback.
    const reached =
      strategy === 'primary_with_fallback' || attempts === 1 ? attempts - 1 : fallback.length
    return fallback
      .slice(reached)
      .map((name, offset) =>
        warn(
          at('routes', index, 'fallback', reached + offset),
          `after a failure ${quoted(name)} is never reached: retry.max_attempts is ${attempts}`,
          `Raise retry.max_attempts to ${fallback.length + 1}, or remove the fallback.`,
        ),
      )
  })

const attemptsAreRepeated: Check = ({ routes }) =>
  routes.flatMap(({ strategy, retry, fallback }, index) => {
    if (retry === undefined || retry.max_attempts !== undefined) return []
    // Without max_attempts each fallback is still tried once, and the delays before it are set here.
    if (strategy === 'primary_with_fallback' || fallback.length > 0) return []
    const message = 'nothing is repeated: max_attempts is absent'
    return [warn(at('routes', index, 'retry'), message, 'Add max_attempts: 2, as advised.')]
  })

const attemptsAreFew: Check = ({ routes }) =>
  routes.flatMap(({ retry }, index) =>
    (retry?.max_attempts ?? 0) > ATTEMPTS_ADVISED_MAX
      ? [
          warn(
            at('routes', index, 'retry', 'max_attempts'),
            `more than ${ATTEMPTS_ADVISED_MAX} attempts multiply the load on a failing upstream`,
            'Use 2, as advised.',
          ),
        ]
      : [],
  )

const fallbacksHaveQueueLimit: Check = ({ upstreams, routes }) => {
  const unlimited = new Set(
    upstreams.filter((one) => one.max_queue_depth === undefined).map(({ name }) => name),
  )
  return routes.flatMap(({ fallback }, index) =>
    fallback.flatMap((name, entry) =>
      unlimited.has(name)
        ? [
            warn(
              at('routes', index, 'fallback', entry),
              `fallback ${quoted(name)} has no max_queue_depth: it takes all that spills`,
              'Give that upstream a max_queue_depth.',
            ),
          ]
        : [],
    ),
  )
}

const saturationCanHappen: Check = ({ upstreams, routes }) =>
  routes.flatMap(({ primary, overflow }, index) => {
    const upstream = upstreams.find(({ name }) => name === primary)
    if (upstream === undefined || upstream.max_queue_depth !== undefined) return []
    if (overflow?.on_queue_saturated !== 'fallback') return []
    const message = `never happens: the primary ${quoted(upstream.name)} has no max_queue_depth`
    const fix = 'Give the primary a max_queue_depth.'
    return [warn(at('routes', index, 'overflow', 'on_queue_saturated'), message, fix)]
  })

/** A route without a fallback is refused with its whole overflow, unless a primary promises one. */
const breachHasObjective: Check = ({ routes, slo: shared }) =>
  routes.flatMap(({ overflow, fallback, slo }, index) => {
    if (overflow?.on_slo_breach !== 'fallback') return []
    const path = at('routes', index, 'overflow', 'on_slo_breach')
    const objective =
      (slo ?? shared) === undefined
        ? [
            refuse(
              path,
              'cannot take effect: neither the route nor the gateway has an objective',
              'Add slo: {ttft_p95_ms: MILLISECONDS} to the route, or remove it.',
            ),
          ]
        : []
    if (fallback.length > 0) return objective
    const message = 'cannot take effect: the route has no fallback'
    return [...objective, refuse(path, message, 'Remove it, or list upstreams in fallback.')]
  })

export const fallbackChecks = [
  breachHasObjective,
  fallbacksAreReachable,
  attemptsAreRepeated,
  attemptsAreFew,
  fallbacksHaveQueueLimit,
  saturationCanHappen,
]
