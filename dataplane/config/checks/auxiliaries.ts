/** Retrieval, guardrails, alerts and context windows. */
import { knownWindow } from '../../providers/facts-of-models.ts'
import type { RouteSection, Section } from '../../schema/index.ts'
import { refuse, warn } from '../judgement/problems.ts'
import { at, type Check, listed, oneOf, quoted } from './contract.ts'
import { unknownName } from './names.ts'
import { upstreamsOf } from './tenants/prices.ts'

const routeSectionsExist: Check = ({ routes, retrieval, guardrails }, { suggestions }) => {
  const retrievals = new Set(retrieval.map(({ name }) => name))
  const guards = new Set(guardrails.map(({ name }) => name))
  return routes.flatMap((route, index) => [
    ...route.retrieval.flatMap((name, entry) =>
      unknownName(name, at('routes', index, 'retrieval', entry), 'retrieval', {
        known: retrievals,
        suggestions,
      }),
    ),
    ...route.guardrails.flatMap((name, entry) =>
      unknownName(name, at('routes', index, 'guardrails', entry), 'guardrail', {
        known: guards,
        suggestions,
      }),
    ),
  ])
}

const everyGuardrailIsUsed: Check = ({ routes, guardrails }) => {
  const used = new Set(routes.flatMap((route) => route.guardrails))
  return guardrails.flatMap(({ name }, index) => {
    if (used.has(name)) return []
    const message = `guardrail ${quoted(name)} is not used by any route`
    return [warn(at('guardrails', index, 'name'), message, 'Name it in a route, or remove it.')]
  })
}

/** A retrieval section without a route needs no store; another check warns about it. */
const retrievalHasStore: Check = ({ retrieval, routes, vector_stores }, { suggestions }) => {
  const stores = new Set(vector_stores.map(({ name }) => name))
  const asked = new Set(routes.flatMap((route) => route.retrieval))
  return retrieval.flatMap(({ name, store }, index) => {
    const path = at('retrieval', index)
    if (store !== undefined) {
      const place = [...path, 'store']
      return unknownName(store, place, 'vector store', { known: stores, suggestions })
    }
    if (stores.has(name) || stores.size === 1 || !asked.has(name)) return []
    const message =
      stores.size === 0 ? 'there is no vector store' : 'several vector stores, and none is named'
    const fix = stores.size === 0 ? 'Add vector_stores: with one.' : `Add store:. ${oneOf(stores)}`
    return [refuse([...path, 'store'], message, fix)]
  })
}

const storeEmbeddingsExist: Check = ({ vector_stores, upstreams }, { suggestions }) => {
  const known = new Set(upstreams.map(({ name }) => name))
  return vector_stores.flatMap(({ embedding }, index) => {
    const path = at('vector_stores', index, 'embedding', 'upstream')
    if (embedding === undefined) return []
    return unknownName(embedding.upstream, path, 'upstream', { known, suggestions })
  })
}

const alertHeadersAreSent: Check = ({ alerts }) =>
  alerts?.headers !== undefined && alerts.webhook_url === undefined
    ? [
        refuse(
          at('alerts', 'headers'),
          'cannot take effect: there is no webhook_url',
          'Add webhook_url:, or remove headers.',
        ),
      ]
    : []

const tokenDefaultFitsWindow: Check = (section) =>
  section.routes.flatMap((route, index) => {
    const largest = largestWindow(section, route)
    const { max_tokens_default } = route
    if (largest === undefined || max_tokens_default === undefined) return []
    if (max_tokens_default < largest) return []
    const message = `leaves no room for a prompt: the largest context window is ${largest}`
    return [refuse(at('routes', index, 'max_tokens_default'), message, `Write under ${largest}.`)]
  })

/** Retrieval has no effect if its passages get no room. */
const reserveLeavesRoom: Check = (section) => {
  const reserved = section.context?.reserve_completion_tokens ?? 0
  const crowded = section.routes.flatMap((route) => {
    const largest = route.retrieval.length === 0 ? undefined : largestWindow(section, route)
    return largest === undefined || reserved < largest ? [] : [{ name: route.name, largest }]
  })
  const [first] = crowded
  if (first === undefined) return []
  const message =
    `leaves passages no room on ${listed(crowded.slice(0, 5).map(({ name }) => name))}: ` +
    `the largest context window is ${first.largest}`
  const fix = `Write less than ${first.largest}, as much as an answer needs.`
  return [warn(at('context', 'reserve_completion_tokens'), message, fix)]
}

const parallelOnlyJudges: Check = ({ guardrails }) =>
  guardrails.flatMap(({ parallel, redact, stage }, index) => {
    const path = at('guardrails', index, 'parallel')
    if (parallel && stage === 'output') {
      const message = 'parallel cannot take effect: answers are judged after the upstream sent them'
      return [refuse(path, message, 'Remove it, or write stage: input.')]
    }
    if (!parallel || !redact) return []
    const message = 'the upstream would get the request before its texts are changed'
    return [refuse(path, message, 'Remove parallel, or write redact: false.')]
  })

export const auxiliaryChecks = [
  parallelOnlyJudges,
  routeSectionsExist,
  everyGuardrailIsUsed,
  retrievalHasStore,
  storeEmbeddingsExist,
  alertHeadersAreSent,
  tokenDefaultFitsWindow,
  reserveLeavesRoom,
]

/** The largest window among the route's upstreams; undefined if one of them is unknown. */
function largestWindow(section: Section, route: RouteSection): number | undefined {
  const windows = upstreamsOf(section, route).map(knownWindow)
  const known = windows.filter((window) => window !== undefined)
  return known.length === 0 || known.length < windows.length ? undefined : Math.max(...known)
}
