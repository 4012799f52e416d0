/** Rollouts that cannot take effect: the new upstream, the steps, and the measures that need a price. */
import { compilePrices } from '../../../accounts/price.ts'
import { ANY_MODEL } from '../../../schema/constants.ts'
import type { RolloutSection, RouteSection, Section } from '../../../schema/index.ts'
import { type Finding, type Path, refuse, warn } from '../../judgement/problems.ts'
import { routesIn, upstreamNamesOf } from '../../routes/members.ts'
import { at, type Check, listed, quoted } from '../contract.ts'
import { upstreamsOf } from '../tenants/prices.ts'

interface RolloutAt {
  readonly route: RouteSection
  readonly rollout: RolloutSection
  readonly path: Path
}

const newUpstreamIsNew: Check = (section) =>
  foundIn(section).flatMap(({ route, rollout: { to }, path }) => {
    if (!upstreamNamesOf(route, section.routes).includes(to)) return []
    const message = `upstream ${quoted(to)} is a member of the route already`
    return [refuse([...path, 'to'], message, 'Remove it from the route, or name another upstream.')]
  })

const newUpstreamHasModel: Check = (section) =>
  foundIn(section).flatMap(({ rollout: { to }, path }) => {
    const upstream = section.upstreams.find(({ name }) => name === to)
    if (upstream?.model !== ANY_MODEL) return []
    const message = `upstream ${quoted(to)} takes any model, so the new one is unknown`
    return [refuse([...path, 'to'], message, 'Name an upstream with a model.')]
  })

const stepsGrow: Check = (section) =>
  foundIn(section).flatMap(({ rollout: { steps }, path }) =>
    steps.flatMap((step, index) => {
      const before = steps[index - 1] ?? 0
      if (step > before) return []
      const message = `step ${step} does not follow ${before}`
      return [refuse([...path, 'steps', index], message, 'Make each step larger than the last.')]
    }),
  )

const costsHavePrices: Check = (section) => {
  const priced = compilePrices(section.pricing)
  return foundIn(section).flatMap(({ route, rollout, path }) => {
    if (rollout.back_on.cost === undefined) return []
    const models = upstreamsOf(section, route).map(({ model }) => model)
    const missing = new Set(models.filter((model) => !priced.has(model)))
    if (missing.size === 0) return []
    const message = `cannot take effect: no price for ${listed(missing)}`
    const fix = 'Add the models to pricing, with price 0 for free ones.'
    return [refuse([...path, 'back_on', 'cost'], message, fix)]
  })
}

/** A request of the outer route follows that route alone. */
const nestedRolloutsAreSeen: Check = (section) =>
  section.routes.flatMap((outer): Finding[] =>
    routesIn(outer, section.routes).flatMap((inner) => {
      if (inner.rollout === undefined) return []
      const index = section.routes.indexOf(inner)
      const requests = `requests of route ${quoted(outer.name)}, which has ${quoted(inner.name)} as a member,`
      const message = `${requests} do not follow this rollout`
      const fix = `Write the rollout at ${quoted(outer.name)} if its requests shall follow it.`
      return [warn(at('routes', index, 'rollout'), message, fix)]
    }),
  )

export const rolloutChecks: readonly Check[] = [
  newUpstreamIsNew,
  newUpstreamHasModel,
  stepsGrow,
  costsHavePrices,
  nestedRolloutsAreSeen,
]

function foundIn({ routes }: Section): RolloutAt[] {
  return routes.flatMap((route, index) => {
    const { rollout } = route
    return rollout === undefined ? [] : [{ route, rollout, path: at('routes', index, 'rollout') }]
  })
}
