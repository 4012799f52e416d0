/** Exposed: whether the Gateways in `spec.route` send clients here, as their controllers report in the HTTPRoute. */
import { isRecord, valueBelow } from '../../dataplane/json/values.ts'
import type { KubeObject } from '../kube/objects.ts'
import { listed, no, type StatusFacts, unknown, yes } from './facts.ts'
import type { Policy } from './policies.ts'

const notServed: Policy = ({ hasHttpRoutes }) => {
  if (hasHttpRoutes) return undefined
  const message =
    'The cluster serves no HTTPRoute of the Gateway API (gateway.networking.k8s.io/v1), or the operator may not write it. ' +
    'Install the Gateway API, and set rbac.httpRoutes of the chart.'
  return no('NotServed', message)
}

const conflict: Policy = ({ workload }) =>
  'routeConflict' in workload && workload.routeConflict !== undefined
    ? no('Conflict', workload.routeConflict)
    : undefined

const requested: Policy = ({ httpRoute }) =>
  httpRoute === undefined ? unknown('The HTTPRoute has just been requested.') : undefined

const refused: Policy = ({ httpRoute }) => {
  for (const { parent, conditions } of parentsOf(httpRoute)) {
    const bad = conditions.find(
      ({ type, status }) => (type === 'Accepted' || type === 'ResolvedRefs') && status === 'False',
    )
    if (bad !== undefined) {
      return no(reasonOf(bad.reason), `Gateway ${parent}: ${bad.type} is False. ${bad.message}`)
    }
  }
  return undefined
}

const unanswered: Policy = ({ httpRoute, gateway }) => {
  const accepted = new Set(
    parentsOf(httpRoute)
      .filter(({ conditions }) =>
        conditions.some(({ type, status }) => type === 'Accepted' && status === 'True'),
      )
      .map(({ parent }) => parent),
  )
  const wanted = entriesBelow(gateway, 'spec', 'route', 'parentRefs').map((ref) =>
    nameOf(ref, gateway),
  )
  const missing = [...new Set(wanted)].filter((parent) => !accepted.has(parent))
  if (missing.length === 0) return undefined
  const fix = 'If this lasts, check that the Gateway exists and that its controller runs.'
  return unknown(`No controller has accepted the route for Gateway ${listed(missing)} yet. ${fix}`)
}

const exposed: Policy = ({ httpRoute }) => {
  const parents = [...new Set(parentsOf(httpRoute).map(({ parent }) => parent))]
  return yes('Exposed', `Clients come through Gateway ${listed(parents)}.`)
}

export const EXPOSED = [notServed, conflict, requested, refused, unanswered, exposed]

/** The base address for clients of the Gateway; absent if no complete host name is set. */
export function exposedAddress({ gateway }: StatusFacts): string | undefined {
  const names = valueBelow(gateway, 'spec', 'route', 'hostnames')
  const host = (Array.isArray(names) ? names : []).find((name) => !String(name).startsWith('*'))
  if (typeof host !== 'string') return undefined
  const isSecure = entriesBelow(gateway, 'spec', 'route', 'parentRefs').some(
    ({ port, sectionName }) => port === 443 || /https|tls/i.test(String(sectionName ?? '')),
  )
  return `${isSecure ? 'https' : 'http'}://${host}`
}

interface Said {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

/** The conditions that each controller set for this generation of the route. */
function parentsOf(
  route: KubeObject | undefined,
): { readonly parent: string; readonly conditions: readonly Said[] }[] {
  if (route === undefined) return []
  return entriesBelow(route, 'status', 'parents').map((entry) => ({
    parent: nameOf(entry.parentRef, route),
    conditions: entriesBelow(entry, 'conditions')
      .filter(
        ({ observedGeneration: seen }) => Number(seen ?? 0) >= (route.metadata.generation ?? 0),
      )
      .map(({ type, status, reason, message }) => ({
        type: String(type),
        status: String(status),
        reason: String(reason ?? ''),
        message: String(message ?? ''),
      })),
  }))
}

function entriesBelow(object: unknown, ...path: string[]): Readonly<Record<string, unknown>>[] {
  const entries = valueBelow(object, ...path)
  return Array.isArray(entries) ? entries.filter(isRecord) : []
}

function nameOf(reference: unknown, { metadata }: KubeObject): string {
  const namespace = valueBelow(reference, 'namespace') ?? metadata.namespace ?? ''
  const section = valueBelow(reference, 'sectionName')
  const name = `${namespace}/${valueBelow(reference, 'name')}`
  return section === undefined ? name : `${name}/${section}`
}

/** Another controller's message, in a form that the API server accepts. */
function reasonOf(reason: string): string {
  const word = reason.slice(0, 256)
  return /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(word) ? word : 'NotAccepted'
}

/** Absent if spec.route is absent. */
export function wantsRoute({ gateway, isPaused }: StatusFacts): boolean {
  return !isPaused && valueBelow(gateway, 'spec', 'route') !== undefined
}
