/** Vectors of two models cannot be compared, so a route has one embedding model. */

import type { UpstreamSection } from '../../../schema/index.ts'
import { refuse } from '../../judgement/problems.ts'
import { at, type Check, listed } from '../contract.ts'
import { upstreamsOf } from '../tenants/prices.ts'

const embeddingsCompare: Check = (section) =>
  section.routes.flatMap((route, index) => {
    const members = upstreamsOf(section, route).filter(isEmbedding)
    const models = new Set(members.map(({ embeddings, model }) => embeddings?.model ?? model))
    const lengths = new Set(members.flatMap(({ embeddings }) => embeddings?.dimensions ?? []))
    if (models.size > 1) {
      const message = `leads to several embedding models, whose vectors cannot be compared: ${listed(models)}`
      const fix = 'Make a route for each, or give upstreams of one model the same embeddings.model.'
      return [refuse(at('routes', index), message, fix)]
    }
    if (lengths.size < 2) return []
    const message = `leads to vectors of several lengths: ${[...lengths].join(', ')}`
    return [refuse(at('routes', index), message, 'Make a route for each.')]
  })

/** The model's common name, if it is set, else its name. */
function isEmbedding({ embeddings, model }: UpstreamSection): boolean {
  return embeddings !== undefined || /embed/i.test(model)
}

export const embeddingsChecks: readonly Check[] = [embeddingsCompare]
