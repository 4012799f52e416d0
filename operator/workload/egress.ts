/** The allowed destinations of a gateway's pods: DNS, and those of their configuration. */
import { isIP } from 'node:net'
import { type Destinations, isOfCluster, namespacesOf } from '../compile/destinations.ts'
import type { WorkloadSettings } from './settings.ts'

const tcp = (port: number) => ({ port, protocol: 'TCP' })

/** Resolvers are on nodes, too, which have no namespace; some listen at 5353 behind their Service. */
const DNS = {
  ports: [53, 5353].flatMap((port) => [{ port, protocol: 'UDP' }, tcp(port)]),
}

/** No model server has a link-local address, and clouds serve credentials there. */
const OUTSIDE = [
  { ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16'] } },
  { ipBlock: { cidr: '::/0', except: ['fe80::/10'] } },
]

export function egressOf({ gateway, spec, needs }: WorkloadSettings): object[] {
  const { egress } = spec.networkPolicy
  if (egress !== undefined) return [DNS, ...egress]
  const { namespace = '' } = gateway.metadata
  return [DNS, ...rulesFor(needs.destinations, namespace)]
}

function rulesFor({ known, hasUnknown }: Destinations, own: string): object[] {
  // Ports in names of Services are those of the Service; a policy needs those of the pods.
  if (hasUnknown) return [{ to: [{ namespaceSelector: {} }, ...OUTSIDE] }]
  const namespaces = new Set<string>()
  const ports = new Set<number>()
  const addresses = new Map<string, number>()
  for (const { host, port } of known) {
    if (host === 'localhost') continue
    if (host !== undefined && isIP(host) !== 0) {
      addresses.set(`${host}/${isIP(host) === 6 ? 128 : 32} ${port}`, port)
      continue
    }
    for (const name of host === undefined ? [] : namespacesOf(host, own)) namespaces.add(name)
    if (host === undefined || !isOfCluster(host)) ports.add(port)
  }
  const peers = [...namespaces].sort().map((name) => ({
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
  }))
  const outside = [...ports].sort((one, other) => one - other).map(tcp)
  return [
    ...(peers.length === 0 ? [] : [{ to: peers }]),
    ...(outside.length === 0 ? [] : [{ to: OUTSIDE, ports: outside }]),
    ...[...addresses].sort().map(([address, port]) => ({
      to: [{ ipBlock: { cidr: address.slice(0, address.indexOf(' ')) } }],
      ports: [tcp(port)],
    })),
  ]
}
