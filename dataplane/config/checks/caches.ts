/** Cache marks that the gateway should set for an API that has none. */
import { PROVIDER_FACTS } from '../../providers/index.ts'
import { whyUnmarked } from '../../providers/unmarked.ts'
import { refuse } from '../judgement/problems.ts'
import { at, type Check, listed } from './contract.ts'
import { upstreamsOf } from './tenants/prices.ts'

const upstreamHasMarks: Check = ({ upstreams }) =>
  upstreams.flatMap((upstream, index) => {
    const reason = upstream.cache === undefined ? undefined : whyUnmarked(upstream)
    if (reason === undefined) return []
    const message = `cannot take effect: ${reason}`
    return [refuse(at('upstreams', index, 'cache'), message, `Remove it; ${users()} use it.`)]
  })

const routeHasMarks: Check = (section) =>
  section.routes.flatMap((route, index) => {
    const { cache } = route
    const members = upstreamsOf(section, route)
    if (cache === undefined || members.length === 0) return []
    const path = at('routes', index, 'cache')
    if (cache === 'none') {
      if (members.some((upstream) => upstream.cache !== undefined)) return []
      const message = 'cannot take effect: no upstream of the route has cache: auto'
      return [refuse(path, message, 'Remove it.')]
    }
    const reasons = new Set(members.map(whyUnmarked))
    if (reasons.has(undefined)) return []
    const message = `cannot take effect at ${listed(members.map(({ name }) => name))}: ${[...reasons].join(', ')}`
    return [refuse(path, message, `Remove it; upstreams of ${users()} use it.`)]
  })

function users(): string {
  const facts = Object.values(PROVIDER_FACTS).filter(({ cacheable }) => cacheable !== undefined)
  return facts.map(({ name }) => name).join(', ')
}

export const cacheChecks: readonly Check[] = [upstreamHasMarks, routeHasMarks]
