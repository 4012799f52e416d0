/** The semantic strategy and its classifier. */

import { PROVIDERS } from '../../../providers/index.ts'
import type { RouteSection } from '../../../schema/index.ts'
import { type Finding, type Path, refuse } from '../../judgement/problems.ts'
import { at, type Check } from '../contract.ts'

const semanticGoesWithItsStrategy: Check = ({ routes }) =>
  routes.flatMap(({ strategy, semantic }, index) => {
    if (strategy === 'semantic' && semantic === undefined) {
      const fix = 'Add semantic: with easy and hard, the two upstreams.'
      return [refuse(at('routes', index, 'strategy'), 'semantic needs the field semantic', fix)]
    }
    if (strategy !== 'semantic' && semantic !== undefined) {
      const message = `semantic cannot take effect: the strategy is ${strategy}`
      const fix = 'Remove it, or use the strategy semantic.'
      return [refuse(at('routes', index, 'semantic'), message, fix)]
    }
    return []
  })

const sidesDiffer: Check = ({ routes }) =>
  routes.flatMap(({ semantic }, index) =>
    semantic !== undefined && semantic.easy === semantic.hard
      ? [
          refuse(
            at('routes', index, 'semantic', 'hard'),
            'easy and hard are the same upstream: the classifier decides nothing',
            'Name two upstreams, or use the strategy single.',
          ),
        ]
      : [],
  )

const classifierIsComplete: Check = ({ routes }) =>
  routes.flatMap(({ semantic }, index) =>
    semantic === undefined ? [] : judgeClassifier(semantic, at('routes', index, 'semantic')),
  )

const classifierEmbeds: Check = ({ routes, upstreams }) =>
  routes.flatMap(({ semantic }, index) => {
    const { embedding } = semantic ?? {}
    const upstream = upstreams.find(({ name }) => name === embedding?.upstream)
    if (upstream === undefined) return []
    if (PROVIDERS.get(upstream.provider)?.operations.embeddings !== undefined) return []
    const message = `upstream "${upstream.name}" makes no vectors: ${upstream.provider} has no embeddings`
    const path = at('routes', index, 'semantic', 'embedding', 'upstream')
    return [refuse(path, message, 'Name an upstream with an embedding model.')]
  })

export const semanticChecks = [
  semanticGoesWithItsStrategy,
  sidesDiffer,
  classifierIsComplete,
  classifierEmbeds,
]

type Semantic = NonNullable<RouteSection['semantic']>

function judgeClassifier({ classifier, embedding }: Semantic, path: Path): Finding[] {
  if (classifier === 'builtin' && embedding !== undefined) {
    const message = 'embedding cannot take effect: the classifier is builtin'
    return [refuse([...path, 'embedding'], message, 'Remove it, or write classifier: embedding.')]
  }
  if (classifier === 'embedding' && embedding === undefined) {
    const fix = 'Add embedding: with upstream and exemplars, or use classifier: builtin.'
    return [refuse([...path, 'classifier'], 'classifier embedding needs embedding', fix)]
  }
  const exemplars = embedding?.exemplars
  if (exemplars === undefined || (exemplars.easy.length > 0 && exemplars.hard.length > 0)) return []
  const message = 'exemplars need at least one easy and one hard prompt'
  return [refuse([...path, 'embedding', 'exemplars'], message, 'Add prompts of both kinds.')]
}
