/** Parts of `spec` for connections to and from a gateway: Service, route, peers of a NetworkPolicy. */
import { BlockList, isIP } from 'node:net'
import { z } from 'zod'
import { annotations, label, line, objectName, ruled } from './fields.ts'
import { LabelSelector } from './kubernetes.ts'

export const Service = ruled(
  z.strictObject({
    type: z
      .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
      .default('ClusterIP')
      .describe('How clients outside the cluster reach the gateway, if at all.'),
    port: z
      .int()
      .min(1)
      .max(65535)
      .optional()
      .describe('Port that clients call; 80 if absent, and 443 with gw.gateway.tls.'),
    annotations: annotations().default({}).describe('For the load balancer of the cloud.'),
    loadBalancerClass: line()
      .min(1)
      .optional()
      .describe('Which controller makes the load balancer; it cannot be changed later.'),
    externalTrafficPolicy: z
      .enum(['Cluster', 'Local'])
      .optional()
      .describe('Local keeps the addresses of clients, and uses only pods of the same node.'),
    trafficDistribution: z
      .enum(['PreferClose', 'PreferSameZone', 'PreferSameNode'])
      .optional()
      .describe('Which pods a client of the cluster prefers.'),
    ipFamilyPolicy: z
      .enum(['SingleStack', 'PreferDualStack', 'RequireDualStack'])
      .optional()
      .describe('Whether the Service has addresses of IPv4 and IPv6.'),
  }),
  {
    rule: "!has(self.externalTrafficPolicy) || (has(self.type) && self.type != 'ClusterIP')",
    message: 'externalTrafficPolicy needs type NodePort or LoadBalancer',
    holds: ({ type, externalTrafficPolicy }) =>
      externalTrafficPolicy === undefined || type !== 'ClusterIP',
  },
  {
    rule: "!has(self.loadBalancerClass) || (has(self.type) && self.type == 'LoadBalancer')",
    message: 'loadBalancerClass needs type LoadBalancer',
    holds: ({ type, loadBalancerClass }) =>
      loadBalancerClass === undefined || type === 'LoadBalancer',
  },
)

const ParentReference = z.strictObject({
  name: objectName().describe('Name of the Gateway.'),
  namespace: label().optional().describe('Its namespace; that of this gateway if absent.'),
  sectionName: line().min(1).optional().describe('One of its listeners; all if absent.'),
  port: z.int().min(1).max(65535).optional().describe('Its listeners at this port; all if absent.'),
  group: line().optional().describe('gateway.networking.k8s.io if absent.'),
  kind: line(63).min(1).optional().describe('Gateway if absent.'),
})

const hostname = () =>
  z
    .string()
    .min(1)
    .max(253)
    .regex(
      /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
      'must be a host name such as models.example.com, in lower case',
    )

export const Route = z.strictObject({
  parentRefs: z
    .array(ParentReference)
    .min(1)
    .max(32)
    .describe('The Gateways of the Gateway API through which clients come.'),
  hostnames: z
    .array(hostname())
    .max(16)
    .default([])
    .describe('Host names that clients call; every name of the Gateway if empty.'),
  annotations: annotations().default({}).describe('For the controller of the Gateway.'),
})

const PolicyPort = z
  .strictObject({
    protocol: z.enum(['TCP', 'UDP', 'SCTP']).optional(),
    port: z.int().min(1).max(65535),
    endPort: z.int().min(1).max(65535).optional(),
  })
  .refine(({ port, endPort = port }) => endPort >= port, { error: 'endPort is below port' })

const cidr = () =>
  z
    .string()
    .max(64)
    .regex(/^[0-9A-Fa-f:.]+\/[0-9]{1,3}$/, 'must be a block of addresses such as 10.0.0.0/8')

/** Address and length of a block; undefined if it is not a block. */
function blockOf(text: string) {
  const [address = '', length = ''] = text.split('/')
  const version = isIP(address)
  if (version === 0 || Number(length) > (version === 4 ? 32 : 128)) return undefined
  return { address, length: Number(length), family: version === 4 ? 'ipv4' : 'ipv6' } as const
}

function isWithin(outer: string, inner: string): boolean {
  const [block, part] = [blockOf(outer), blockOf(inner)]
  if (block === undefined || part === undefined || block.family !== part.family) return false
  const list = new BlockList()
  list.addSubnet(block.address, block.length, block.family)
  return part.length > block.length && list.check(part.address, part.family)
}

/** A peer in a rule of a NetworkPolicy. */
export const Peer = ruled(
  z.strictObject({
    podSelector: LabelSelector.optional(),
    namespaceSelector: LabelSelector.optional(),
    ipBlock: z
      .strictObject({ cidr: cidr(), except: z.array(cidr()).max(32).optional() })
      .refine(({ cidr }) => blockOf(cidr) !== undefined, {
        error: 'cidr is not a block of addresses; write one such as 10.0.0.0/8',
      })
      .refine(({ cidr, except = [] }) => except.every((one) => isWithin(cidr, one)), {
        error: 'except must contain smaller blocks within cidr',
      })
      .optional(),
  }),
  {
    rule: 'has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))',
    message: 'needs podSelector, namespaceSelector or both, or only ipBlock',
    holds: ({ podSelector, namespaceSelector, ipBlock }) =>
      (ipBlock !== undefined) !== (podSelector !== undefined || namespaceSelector !== undefined),
  },
)

/** Allowed destinations of pods: these peers, at these ports; an absent list means all of them. */
export const Egress = z.strictObject({
  to: z.array(Peer).max(64).optional(),
  ports: z.array(PolicyPort).max(64).optional(),
})
