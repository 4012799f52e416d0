/** Verified: whether every route with `verify: true` answers in every pod, as the pods' own probes found. */
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { PodState } from '../delivery/pusher.ts'
import { listed, no, type StatusFacts, unknown, yes } from './facts.ts'
import { judge, type Policy } from './policies.ts'
import { PROGRAMMED } from './programmed.ts'
import { WORKLOAD_AVAILABLE } from './workload-available.ts'

const ROUTES_SHOWN = 5
const WHY_LENGTH_MAX = 200

/** A failure counts even before the last pod has the configuration. */
const fails: Policy = (facts) => {
  const struck = verifiedRoutes(facts).flatMap((route) => {
    const failing = readyOf(facts).flatMap((pod) => {
      const verdict = verdictOf(route, pod, facts)
      return verdict?.state === 'fails' ? [{ pod: pod.target.name, why: verdict.why }] : []
    })
    return failing.length === 0 ? [] : [{ route, failing }]
  })
  if (struck.length === 0) return undefined
  const all = readyOf(facts).length
  const texts = struck
    .toSorted((one, other) => other.failing.length - one.failing.length)
    .map(({ route, failing }) => {
      const [first] = failing
      const why = first?.why.slice(0, WHY_LENGTH_MAX) || 'not said why'
      return `${route} does not answer in ${failing.length} of ${all} pods (${first?.pod}: ${why})`
    })
  return no('RouteFails', `${joined(texts)}. \`gw why --route ${struck[0]?.route}\` has the cause.`)
}

const notProgrammed: Policy = (facts) => {
  const { status, message } = judge(PROGRAMMED, facts)
  if (status === 'True') return undefined
  return unknown(`The pods do not all have this generation, so it is not verified: ${message}`)
}

const podsMissing: Policy = (facts) => {
  const { status, message } = judge(WORKLOAD_AVAILABLE, facts)
  return status === 'True'
    ? undefined
    : unknown(`Pods are missing, and their routes are not verified: ${message}`, 'PodsMissing')
}

/** A pod that does not answer the operator may not answer clients either. */
const silent: Policy = (facts) => {
  const pods = readyOf(facts).filter(({ isSilent }) => isSilent)
  if (pods.length === 0) return undefined
  const names = listed(pods.map(({ target }) => target.name))
  return unknown(`These pods do not answer the operator: ${names}.`, 'PodUnreachable')
}

const probing: Policy = (facts) => {
  const waiting = readyOf(facts).flatMap((pod) => {
    const routes = verifiedRoutes(facts).filter(
      (route) => verdictOf(route, pod, facts)?.state !== 'answers',
    )
    return routes.length === 0 ? [] : [`${pod.target.name} (${listed(routes)})`]
  })
  if (waiting.length === 0) return undefined
  return unknown(`These pods have not reported an answer yet: ${listed(waiting)}.`, 'Probing')
}

const verified: Policy = (facts) => {
  const routes = verifiedRoutes(facts)
  const names = listed(routes, ROUTES_SHOWN)
  const what = routes.length === 1 ? `Route ${names} answers` : `Routes ${names} answer`
  return yes('Verified', `${what} in all ${readyOf(facts).length} pods.`)
}

export const VERIFIED = [fails, notProgrammed, podsMissing, silent, probing, verified]

/** Absent if no route is verified. */
export function wantsVerification(facts: StatusFacts): boolean {
  return !facts.isPaused && verifiedRoutes(facts).length > 0
}

function verifiedRoutes({ gateway }: StatusFacts): string[] {
  const routes = valueBelow(gateway, 'gw', 'routes')
  const all = Array.isArray(routes) ? routes.filter(isRecord) : []
  return all.flatMap(({ verify, name }) =>
    verify === true && typeof name === 'string' ? [name] : [],
  )
}

/** undefined if the pod probed another configuration, or is of a release that does not probe. */
function verdictOf(route: string, { report }: PodState, { documents }: StatusFacts) {
  const { verification } = report ?? {}
  if (verification === undefined || verification.hash !== documents.configuration?.hash)
    return undefined
  return verification.routes.find((one) => one.route === route)
}

/** Also a pod that has not reported yet: it proves nothing. */
function readyOf({ pods }: StatusFacts): readonly PodState[] {
  return pods.filter(({ target }) => target.ready)
}

function joined(texts: readonly string[]): string {
  const more = texts.length - ROUTES_SHOWN
  const shown = texts.slice(0, ROUTES_SHOWN).join('; ')
  return more > 0 ? `${shown}; and ${more} more routes` : shown
}
