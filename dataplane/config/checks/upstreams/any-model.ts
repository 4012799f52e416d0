/** Upstreams that get the model that the client names, and the settings that need a known model. */
import { PROVIDER_FACTS } from '../../../providers/index.ts'
import { ANY_MODEL } from '../../../schema/constants.ts'
import type { Section, UpstreamSection } from '../../../schema/index.ts'
import { type Finding, type Path, refuse } from '../../judgement/problems.ts'
import { at, type Check, quoted } from '../contract.ts'
import { upstreamsOf } from '../tenants/prices.ts'

const OF_ANY = ['models', 'list_models', 'context_windows'] as const

function isAny({ model }: Pick<UpstreamSection, 'model'>): boolean {
  return model === ANY_MODEL
}

const settingsOfAnyModel: Check = ({ upstreams }) =>
  upstreams.flatMap((upstream, index) => {
    if (isAny(upstream)) return []
    return OF_ANY.filter((field) => upstream[field] !== undefined).map((field) => {
      const message = `cannot take effect: the model is always ${quoted(upstream.model)}`
      return refuse(at('upstreams', index, field), message, 'Remove it, or write model: "*".')
    })
  })

const settingsOfOneModel: Check = ({ upstreams }) =>
  upstreams.flatMap((upstream, index) => {
    if (!isAny(upstream)) return []
    const { deployment, embeddings, tokenizer, tokenizer_revision, tokenizer_autodetect } = upstream
    const written: (readonly [unknown, Path])[] = [
      [deployment, ['deployment']],
      [embeddings?.model, ['embeddings', 'model']],
      [embeddings?.dimensions, ['embeddings', 'dimensions']],
      [tokenizer?.upstream, ['tokenizer', 'upstream']],
      [tokenizer_revision, ['tokenizer_revision']],
      [tokenizer_autodetect, ['tokenizer_autodetect']],
    ]
    return written.flatMap(([value, field]) => {
      if (value === undefined) return []
      const message = 'cannot take effect: it is for one model, and clients name many'
      const fix = 'Remove it, or make an upstream with that model.'
      return [refuse([...at('upstreams', index), ...field], message, fix)]
    })
  })

const listIsShown: Check = (section) => {
  const behind = Object.entries(section.aliases).flatMap(([alias, name]) =>
    alias.endsWith('*') ? section.routes.filter((route) => route.name === name) : [],
  )
  const listed = new Set(behind.flatMap((route) => upstreamsOf(section, route)))
  return section.upstreams.flatMap((upstream, index) => {
    if (upstream.list_models !== true || !isAny(upstream)) return []
    const path = at('upstreams', index, 'list_models')
    if (PROVIDER_FACTS[upstream.provider].modelList === false) {
      const message = `cannot take effect: ${upstream.provider} has no list of models that requests may name`
      return [refuse(path, message, 'Remove it.')]
    }
    if (listed.has(upstream)) return []
    const message = 'cannot take effect: no alias that ends with * leads to this upstream'
    return [refuse(path, message, `Add one, such as aliases: {"${upstream.name}/*": ROUTE}.`)]
  })
}

/** The gateway itself names no model there. */
const modelIsKnown: Check = (section) => {
  const any = new Set(section.upstreams.filter(isAny).map(({ name }) => name))
  const fix = 'Name an upstream that has one model.'
  const found: Finding[] = []
  const judge = (name: string | undefined, path: Path, what: string) => {
    if (name !== undefined && any.has(name))
      found.push(refuse(path, `upstream ${quoted(name)} has no fixed model for ${what}`, fix))
  }
  for (const [index, { semantic }] of section.routes.entries()) {
    const { embedding } = semantic ?? {}
    const path = at('routes', index, 'semantic', 'embedding', 'upstream')
    if (embedding?.model === undefined) judge(embedding?.upstream, path, 'the classifier')
  }
  for (const [index, { embedding }] of section.vector_stores.entries()) {
    const path = at('vector_stores', index, 'embedding', 'upstream')
    judge(embedding?.upstream, path, 'questions')
  }
  return [...found, ...downgrades(section, any)]
}

function downgrades(section: Section, any: ReadonlySet<string>): Finding[] {
  const budgets = [
    ...section.budgets.map((budget, index) => [budget, at('budgets', index)] as const),
    ...section.limits.map(({ budget }, index) => [budget, at('limits', index, 'budget')] as const),
  ]
  return budgets.flatMap(([budget, path]) => {
    const route = section.routes.find(({ name }) => name === budget?.downgrade_route)
    const open = route && upstreamsOf(section, route).find(({ name }) => any.has(name))
    if (open === undefined) return []
    const message = `upstream ${quoted(open.name)} of the route gets the model that the client names`
    const fix = 'Name a route whose upstreams have one model each.'
    return [refuse([...path, 'downgrade_route'], message, fix)]
  })
}

export const anyModelChecks = [settingsOfAnyModel, settingsOfOneModel, listIsShown, modelIsKnown]
