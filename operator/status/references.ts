/** Whether every reference leads somewhere, as the pods find: those that cost an upstream, and those that cost all. */
import { splitReferences } from '../../dataplane/config/document/reference-syntax.ts'
import type { PodState } from '../delivery/pusher.ts'
import { type Judgement, listed, no, type StatusFacts, unknown, yes } from './facts.ts'

export function judgeReferences({ pods, gateway }: StatusFacts): Judgement {
  const reports = pods.flatMap(({ report }) => report ?? [])
  const refused = refusedFor(pods)
  if (reports.length === 0) return unknown('No pod has said yet which references it can resolve.')
  const unresolved = reports.flatMap((report) => report.unresolved)
  if (unresolved.length === 0 && refused.length === 0) {
    const isKnown = pods.some(({ report }) => report?.configuration.hash !== undefined)
    return isKnown
      ? yes('ResolvedRefs', 'Every reference leads somewhere.')
      : unknown('No pod has taken a configuration yet.')
  }
  const texts = [
    ...refused,
    ...unresolved.map(
      ({ upstream, reference, why }) => `upstream ${upstream}: ${reference} (${why})`,
    ),
  ]
  const found = [...new Set(texts)]
  const cost =
    refused.length > 0
      ? 'The configuration is refused until this is there.'
      : 'Only these upstreams are out.'
  const { namespace = '' } = gateway.metadata
  return no('SecretUnresolved', `${listed(found)}. ${cost} ${remedyOf(found, namespace)}`)
}

/** What is not an upstream's: the pods refuse the whole document for it. */
function refusedFor(pods: readonly PodState[]): string[] {
  const problems = pods.flatMap(({ configuration }) =>
    configuration.state === 'rejected' ? (configuration.problems ?? []) : [],
  )
  return problems
    .filter(({ isUnresolved }) => isUnresolved)
    .map(({ pointer, message }) => `${pointer.slice(1).replaceAll('/', '.')}: ${message}`)
}

/** Whatever comes without an edit heals by itself; the variables of a pod are those of its start. */
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
