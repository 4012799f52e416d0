/** Weights of the `weighted` strategy. */

import type { Section } from '../../../schema/index.ts'
import { refuse, warn } from '../../judgement/problems.ts'
import { at, type Check, quoted } from '../contract.ts'

const weightsAreGiven: Check = (section) =>
  section.routes.flatMap((route, index) => {
    if (route.strategy !== 'weighted' || route.upstreams.length === 0) return []
    const weights = weightsOf(section, index)
    const path = at('routes', index, 'strategy')
    const fix = 'Write upstreams as {name, weight}, or give the upstreams a weight.'
    if (weights.every((weight) => weight === undefined)) {
      return [refuse(path, 'weighted needs weights, and no upstream has one', fix)]
    }
    if (weights.every((weight) => !weight)) {
      return [refuse(path, 'all weights are 0: nothing would be served', 'Raise one of them.')]
    }
    return route.upstreams.flatMap(({ name }, entry) =>
      weights[entry] === undefined
        ? [
            refuse(
              at('routes', index, 'upstreams', entry, 'name'),
              `${quoted(name)} has no weight and would get no traffic`,
              'Give it a weight, or 0 to keep it idle.',
            ),
          ]
        : [],
    )
  })

const weightsAreUsed: Check = ({ routes }) =>
  routes.flatMap((route, index) =>
    route.upstreams.flatMap(({ weight }, entry) =>
      weight !== undefined && route.strategy !== 'weighted'
        ? [
            refuse(
              at('routes', index, 'upstreams', entry, 'weight'),
              `weight cannot take effect: the strategy is ${route.strategy}`,
              'Remove the weight, or use the strategy weighted.',
            ),
          ]
        : [],
    ),
  )

const weightsSumToHundred: Check = (section) =>
  section.routes.flatMap((route, index) => {
    if (route.strategy !== 'weighted') return []
    const weights = weightsOf(section, index)
    const sum = weights.reduce<number>((total, weight) => total + (weight ?? 0), 0)
    if (sum === 0 || Math.abs(sum - 100) < 1e-6) return []
    const message = `weights sum to ${Number(sum.toFixed(6))}, not 100; they are taken as shares`
    return [warn(at('routes', index, 'upstreams'), message, 'Make them percentages.')]
  })

export const weightChecks = [weightsAreGiven, weightsAreUsed, weightsSumToHundred]

/** The weight in the route's entry wins over the upstream's own. */
function weightsOf({ upstreams, routes }: Section, index: number): (number | undefined)[] {
  return (routes[index]?.upstreams ?? []).map(
    ({ name, weight }) => weight ?? upstreams.find((upstream) => upstream.name === name)?.weight,
  )
}
