/** Settings that depend on another section and have no effect without it. Existing files may have them, so they are warnings. */
import { type Finding, warn } from '../judgement/problems.ts'
import { at, type Check, quoted } from './contract.ts'

const contextHasPassages: Check = ({ context, routes }) => {
  if (context === undefined || routes.some(({ retrieval }) => retrieval.length > 0)) return []
  const message = 'has no effect: it makes room for passages, and no route has retrieval'
  return [warn(at('context'), message, 'Name a retrieval section in a route, or remove context.')]
}

const weightIsAsked: Check = ({ upstreams, routes }) => {
  const weighted = new Set(
    routes.flatMap(({ strategy, upstreams: members }) =>
      strategy === 'weighted' ? members.map(({ name }) => name) : [],
    ),
  )
  return upstreams.flatMap(({ name, weight }, index): Finding[] => {
    if (weight === undefined || weighted.has(name)) return []
    const message = `has no effect: no route with the strategy weighted has ${quoted(name)}`
    return [warn(at('upstreams', index, 'weight'), message, 'Remove it, or use weighted.')]
  })
}

export const idleChecks: readonly Check[] = [contextHasPassages, weightIsAsked]
