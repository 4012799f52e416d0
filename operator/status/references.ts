/** ResolvedRefs: whether the pods can resolve every reference of the configuration. */
import { splitReferences } from '../../dataplane/config/document/reference-syntax.ts'
import type { Stored } from '../delivery/bundle.ts'
import type { PodState } from '../delivery/pusher.ts'
import type { PoolFault } from '../endpoints/pools.ts'
import { distinct, listed, no, unknown, yes } from './facts.ts'
import { shownProblem, unusableIn } from './pod-troubles.ts'
import { type Policy, worstOf } from './policies.ts'

const REASONS = { missing: 'PoolNotFound', unserved: 'PoolNotServed', refused: 'PoolNotSupported' }

/** This policy reports a fault before any pod can. */
const poolsLacking: Policy = ({ endpointsTrouble: { pools } }) => {
  const [first] = pools
  if (first === undefined) return undefined
  return no(REASONS[first.kind], listed(pools.map(faultOf)))
}

function faultOf({ upstream, key, kind, why }: PoolFault): string {
  const pool = `Upstream ${upstream}: InferencePool ${key}`
  if (kind === 'refused') return `${pool} cannot be served: ${why} The upstream has no endpoints.`
  if (kind === 'missing') {
    const where = 'does not exist, or is in a namespace that the operator does not watch.'
    return `${pool} ${where} The upstream has no endpoints.`
  }
  const cause =
    'cannot be read: the cluster serves no InferencePool (inference.networking.k8s.io/v1), or the operator may not watch it.'
  return `${pool} ${cause} Install the kind, and set rbac.inferencePools of the chart.`
}

const servicesLacking: Policy = ({ endpointsTrouble: { services } }) => {
  if (services.length === 0) return undefined
  const faults = services.map(({ upstream, key, nearest }) => {
    const meant = nearest === undefined ? '' : `; did you mean "${nearest}"?`
    return `Upstream ${upstream}: Service ${key} does not exist${meant}`
  })
  const fix =
    'Correct endpoint of the upstream, or create the Service. The upstream has no endpoints.'
  return no('ServiceNotFound', `${listed(faults).replace(/(?<!\?)$/, '.')} ${fix}`)
}

const noReport: Policy = ({ pods }) =>
  pods.every(({ report }) => report === undefined)
    ? unknown('No pod has reported yet which references it can resolve.')
    : undefined

const unresolved: Policy = ({ pods, gateway, documents }) => {
  const refused = refusedFor(pods)
  const lost = lostSince(pods, documents)
  const found = distinct([
    ...refused,
    ...lost,
    ...pods.flatMap(({ report }) =>
      (report?.unresolved ?? []).map(
        ({ upstream, reference, why }) => `upstream ${upstream}: ${reference} (${why})`,
      ),
    ),
  ])
  if (found.length === 0) return undefined
  const cost =
    refused.length > 0
      ? 'The pods refuse the configuration until the references resolve.'
      : lost.length > 0
        ? 'The running pods serve with the earlier values; a new pod cannot start.'
        : 'Only these upstreams get no requests.'
  const { namespace = '' } = gateway.metadata
  return no('SecretUnresolved', `${listed(found)}. ${cost} ${remedyOf(found, namespace)}`)
}

const noConfiguration: Policy = ({ pods }) =>
  pods.every(({ report }) => report?.configuration.hash === undefined)
    ? unknown('No pod has accepted a configuration yet.')
    : undefined

const resolved: Policy = () => yes('ResolvedRefs', 'Every reference resolves.')

export const RESOLVED_REFS = [
  worstOf([poolsLacking, servicesLacking, unresolved]),
  noReport,
  noConfiguration,
  resolved,
]

/** References outside of upstreams: the pods refuse the whole document for them. */
function refusedFor(pods: readonly PodState[]): string[] {
  const problems = pods.flatMap(({ configuration }) =>
    configuration.state === 'rejected' ? (configuration.problems ?? []) : [],
  )
  return problems.filter(({ isUnresolved }) => isUnresolved).map(shownProblem)
}

/** The same for a document that the pods enforce, if its references stopped resolving later. */
function lostSince(pods: readonly PodState[], documents: Stored): string[] {
  return pods
    .flatMap((pod) => unusableIn(pod, documents))
    .filter(({ isUnresolved }) => isUnresolved)
    .map(shownProblem)
}

/** Pods pick up a new Secret without an edit; the variables of a pod are fixed at its start. */
function remedyOf(found: readonly string[], namespace: string): string {
  const references = found
    .flatMap((text) => splitReferences(text))
    .flatMap((piece) => ('reference' in piece ? [piece.reference] : []))
  const secrets = new Set<string>()
  const variables = new Set<string>()
  for (const { kind, target } of references) {
    const [name = '', key = ''] = target.split('/')
    if (kind === 'secret') secrets.add(`${name} with the key ${key}`)
    if (kind === 'env') variables.add(target)
  }
  const remedies = [
    ...(secrets.size === 0
      ? []
      : [
          `Create the Secret ${listed([...secrets])} in namespace ${namespace}; the pods take it within seconds.`,
        ]),
    ...(variables.size === 0 ? [] : [`Set ${listed([...variables])} in spec.env or spec.envFrom.`]),
  ]
  return remedies.length === 0 ? 'Correct the reference.' : remedies.join(' ')
}
