/** Parts of `spec` through which a gateway is reached: its Service, and a route of the Gateway API. */
import { z } from 'zod'
import { annotations, label, line, objectName, ruled } from './fields.ts'

export const Service = ruled(
  z.strictObject({
    type: z
      .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
      .default('ClusterIP')
      .describe('How the gateway is reached from outside the cluster, if at all.'),
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
      .describe('Local keeps the addresses of clients, and uses pods of the same node alone.'),
    trafficDistribution: z
      .enum(['PreferClose', 'PreferSameZone', 'PreferSameNode'])
      .optional()
      .describe('Which pods a client of the cluster is sent to first.'),
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
