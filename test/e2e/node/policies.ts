/**
 * Enforces NetworkPolicies, which the node's network ignores: the current policies for the current
 * pods, as kernel rules. A forbidden connection is refused at once, so that no test has to wait for
 * silence.
 */
import type { Kubectl } from '../../helpers/kubernetes/kubectl.ts'
import { inNetwork } from './layout.ts'
import { run } from './system.ts'

type Labels = Readonly<Record<string, string>>

interface Selector {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values?: readonly string[]
  }[]
}

interface Peer {
  readonly podSelector?: Selector
  readonly namespaceSelector?: Selector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}

interface Rule {
  readonly from?: readonly Peer[]
  readonly to?: readonly Peer[]
  readonly ports?: readonly { readonly port?: number | string; readonly protocol?: string }[]
}

interface Policy {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: {
    readonly podSelector: Selector
    readonly policyTypes: readonly string[]
    readonly ingress?: readonly Rule[]
    readonly egress?: readonly Rule[]
  }
}

interface Pod {
  readonly metadata: { readonly namespace: string; readonly labels?: Labels }
  readonly status: { readonly podIP?: string }
}

interface Cluster {
  readonly policies: readonly Policy[]
  readonly pods: readonly Pod[]
  readonly namespaces: ReadonlyMap<string, Labels>
}

const TABLE = 'inet gw-policies'
const DIRECTIONS = [
  { type: 'Egress', own: 'saddr', other: 'daddr' },
  { type: 'Ingress', own: 'daddr', other: 'saddr' },
] as const

export async function enforcePolicies(kubectl: Kubectl): Promise<void> {
  const items = async (kind: string) =>
    JSON.parse(await kubectl(['get', kind, '-A', '-o', 'json'])).items
  const spaces: { metadata: { name: string; labels: Labels } }[] = await items('namespaces')
  const namespaces = new Map(spaces.map(({ metadata }) => [metadata.name, metadata.labels]))
  const cluster = {
    policies: await items('networkpolicies'),
    pods: await items('pods'),
    namespaces,
  }
  await liftPolicies()
  await run(...inNetwork('nft', [rulesetOf(cluster)]))
}

export async function liftPolicies(): Promise<void> {
  // Declares the table first, so that it exists and can be deleted.
  await run(...inNetwork('nft', [`table ${TABLE} {}; delete table ${TABLE}`]))
}

/**
 * Packets between pods are forwarded, packets to the node's own programs arrive as input; packets
 * from the kubelet are not checked.
 */
function rulesetOf(cluster: Cluster): string {
  const chains: string[] = []
  const jumps = { Egress: [] as string[], Ingress: [] as string[] }
  for (const pod of cluster.pods) {
    const { podIP } = pod.status
    for (const { type, own, other } of podIP === undefined ? [] : DIRECTIONS) {
      const chosen = policiesFor(cluster, pod, type)
      if (chosen.length === 0) continue
      const name = `${type}-${podIP}`.replaceAll('.', '-')
      const allowed = chosen.flatMap((policy) => allowancesOf(cluster, policy, type, other))
      const refuse = 'reject with icmpx type admin-prohibited'
      chains.push(`chain ${name} { ${[...allowed, refuse].join('; ')}; }`)
      jumps[type].push(`ip ${own} ${podIP} jump ${name}`)
    }
  }
  const base = (hook: string, rules: readonly string[]) =>
    `chain ${hook} { type filter hook ${hook} priority 10; ${['ct state established,related accept', ...rules].join('; ')}; }`
  const forward = base('forward', [...jumps.Egress, ...jumps.Ingress])
  return `table ${TABLE} {\n${[...chains, forward, base('input', jumps.Egress)].join('\n')}\n}`
}

function policiesFor({ policies }: Cluster, { metadata }: Pod, type: string): Policy[] {
  return policies.filter(
    (policy) =>
      policy.metadata.namespace === metadata.namespace &&
      policy.spec.policyTypes.includes(type) &&
      matches(policy.spec.podSelector, metadata.labels),
  )
}

/** Continues with the rules of the other direction: both must allow it. */
function allowancesOf(
  cluster: Cluster,
  { metadata, spec }: Policy,
  type: 'Ingress' | 'Egress',
  other: string,
): string[] {
  const rules = (type === 'Ingress' ? spec.ingress : spec.egress) ?? []
  return rules.flatMap(({ from, to, ports }) => {
    const peers = (type === 'Ingress' ? from : to)?.flatMap((peer) =>
      addressesOf(cluster, peer, metadata.namespace, other),
    )
    const protocols = ports?.map(({ port, protocol = 'TCP' }) => {
      if (typeof port === 'string') throw new Error(`Ports by name are not known here: ${port}.`)
      const name = protocol.toLowerCase()
      return port === undefined ? `meta l4proto ${name}` : `${name} dport ${port}`
    })
    return (peers ?? ['']).flatMap((peer) =>
      (protocols ?? ['']).map((protocol) => `${peer} ${protocol} return`.trim()),
    )
  })
}

/** As nft writes it; no pod here has an address of the other family. */
function addressesOf(
  { pods, namespaces }: Cluster,
  peer: Peer,
  own: string,
  other: string,
): string[] {
  const { ipBlock, podSelector, namespaceSelector } = peer
  if (ipBlock !== undefined) {
    if (ipBlock.cidr.includes(':')) return []
    const { except = [] } = ipBlock
    const but = except.length > 0 ? ` ip ${other} != { ${except.join(', ')} }` : ''
    return [`ip ${other} ${ipBlock.cidr}${but}`]
  }
  const isMeant = ({ metadata }: Pod) => {
    const { namespace, labels } = metadata
    const isThere =
      namespaceSelector === undefined
        ? namespace === own
        : matches(namespaceSelector, namespaces.get(namespace))
    return isThere && matches(podSelector ?? {}, labels)
  }
  const found = pods.filter(isMeant).flatMap(({ status }) => status.podIP ?? [])
  return found.length === 0 ? [] : [`ip ${other} { ${[...new Set(found)].join(', ')} }`]
}

function matches(selector: Selector, labels: Labels = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key]
      if (operator === 'Exists') return value !== undefined
      if (operator === 'DoesNotExist') return value === undefined
      const isListed = value !== undefined && values.includes(value)
      return operator === 'In' ? isListed : !isListed
    })
  )
}
