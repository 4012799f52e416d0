/** `spec`: the Kubernetes shape of the data plane. It has no effect outside a cluster. */
import { z } from 'zod'
import { Egress, Peer, Route, Service } from './exposure.ts'
import {
  annotations,
  countOrShare,
  label,
  labels,
  line,
  namedList,
  objectName,
  ruled,
} from './fields.ts'
import {
  Affinity,
  ObjectReference,
  Resources,
  Toleration,
  TopologySpread,
  Variable,
  VariableSource,
} from './kubernetes.ts'
import { TenantGrant } from './tenant-policy.ts'
import { Volume } from './volumes.ts'

const REPLICAS_MAX = 1000

const Autoscaling = ruled(
  z.strictObject({
    mode: z
      .enum(['HorizontalPodAutoscaler', 'External'])
      .default('HorizontalPodAutoscaler')
      .describe('External: another program, such as KEDA, sets the replicas of the Deployment.'),
    minReplicas: z.int().min(1).max(REPLICAS_MAX).optional().describe('1 if absent.'),
    maxReplicas: z.int().min(1).max(REPLICAS_MAX).optional().describe('Needed unless External.'),
    targetCPUUtilizationPercentage: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe('Share of the requested CPU, over all pods; 70 if absent.'),
    targetStreamsPerPod: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .describe('Open streams of a pod, on average; needs an adapter for custom metrics.'),
  }),
  {
    rule: "(has(self.mode) && self.mode == 'External') || has(self.maxReplicas)",
    message: 'maxReplicas is required, except with mode: External',
    holds: ({ mode, maxReplicas }) => mode === 'External' || maxReplicas !== undefined,
  },
  {
    rule:
      "!(has(self.mode) && self.mode == 'External') || " +
      '!(has(self.minReplicas) || has(self.maxReplicas) || ' +
      'has(self.targetCPUUtilizationPercentage) || has(self.targetStreamsPerPod))',
    message:
      'with mode: External another program sets the number; remove minReplicas, maxReplicas and the targets',
    holds: ({ mode, ...numbers }) =>
      mode !== 'External' || Object.values(numbers).every((number) => number === undefined),
  },
  {
    rule: '!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas',
    message: 'minReplicas must not be above maxReplicas',
    holds: ({ minReplicas = 1, maxReplicas = REPLICAS_MAX }) => minReplicas <= maxReplicas,
  },
)

const PodDisruptionBudget = ruled(
  z.strictObject({
    enabled: z.boolean().default(true).describe('Whether there is one.'),
    minAvailable: countOrShare().optional().describe('Pods that must stay.'),
    maxUnavailable: countOrShare()
      .optional()
      .describe('Pods that may be unavailable at once; 1 if absent.'),
  }),
  {
    rule: '!(has(self.minAvailable) && has(self.maxUnavailable))',
    message: 'give minAvailable or maxUnavailable, not both',
    holds: ({ minAvailable, maxUnavailable }) =>
      minAvailable === undefined || maxUnavailable === undefined,
  },
)

const NetworkPolicy = z.strictObject({
  enabled: z.boolean().default(true).describe('Whether there is one.'),
  clients: z
    .array(Peer)
    .max(64)
    .optional()
    .describe('Peers that may call the client port; all if absent.'),
  metrics: z
    .array(Peer)
    .max(64)
    .optional()
    .describe('Peers that may read the metrics port; all if absent.'),
  egress: z
    .array(Egress)
    .max(64)
    .optional()
    .describe(
      'Allowed destinations of pods besides DNS; those of the configuration if absent, everywhere ' +
        'but link-local addresses if a reference names it.',
    ),
})

const EVERY = z.literal('*')

/** Which GatewayKeys of other namespaces are accepted. Those of the own namespace always are. */
const KeySource = z.strictObject({
  namespaces: z
    .array(z.union([EVERY, label()]))
    .min(1)
    .max(256)
    .describe('Namespaces whose GatewayKeys are accepted; ["*"] means all.'),
  tenants: z
    .array(z.union([EVERY, line().min(1)]))
    .min(1)
    .max(1024)
    .describe('Tenants that these keys may name; ["*"] means all.'),
})

export const WorkloadSpec = z.strictObject({
  replicas: z
    .int()
    .min(0)
    .max(REPLICAS_MAX)
    .default(1)
    .describe('Pods of the data plane; no effect with autoscaling.'),
  autoscaling: Autoscaling.optional().describe('The load sets the number of pods.'),
  image: line(1024)
    .regex(/^\S+$/, 'must be REGISTRY/NAME:TAG without spaces')
    .optional()
    .describe("Image of the data plane; the operator's own release if absent."),
  imagePullSecrets: namedList(ObjectReference, 16)
    .default([])
    .describe('Secrets for pulling the image.'),
  resources: Resources.optional().describe(
    'CPU and memory of a pod; one process uses one CPU. If absent: requests cpu 500m and memory 256Mi, limits memory 1Gi, ' +
      'for each of gw.gateway.workers.',
  ),
  service: Service.prefault({}).describe('The address that clients use.'),
  route: Route.optional().describe(
    'An HTTPRoute of the Gateway API to this gateway, which never cuts a stream; none if absent.',
  ),
  serviceAccount: z
    .strictObject({
      annotations: annotations()
        .default({})
        .describe('For the identity that a cloud gives to the pods.'),
    })
    .prefault({})
    .describe('The account of the pods, which has no rights in the cluster.'),
  envFrom: z
    .array(VariableSource)
    .max(32)
    .default([])
    .describe('Secrets and ConfigMaps whose entries ${env:NAME} can name.'),
  env: namedList(Variable, 128).default([]).describe('Variables that ${env:NAME} can name.'),
  volumes: namedList(Volume, 16)
    .refine((all) => new Set(all.map(({ mountPath }) => mountPath)).size === all.length, {
      error: 'has two entries with one mountPath',
    })
    .default([])
    .describe('Folders that pods mount, read-only.'),
  drainTimeoutSeconds: z
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe('Time for running requests when a pod ends; request_timeout_seconds + 10 if absent.'),
  podDisruptionBudget: PodDisruptionBudget.prefault({}).describe('Bounds voluntary evictions.'),
  networkPolicy: NetworkPolicy.prefault({}).describe(
    'Peers that may open each port of the pods, and the destinations of the pods.',
  ),
  nodeSelector: labels().default({}).describe('Labels of the nodes that may run a pod.'),
  tolerations: z.array(Toleration).max(64).default([]).describe('Taints that pods tolerate.'),
  affinity: Affinity.optional().describe('Preferred or required placement of pods.'),
  topologySpreadConstraints: z
    .array(TopologySpread)
    .max(16)
    .refine(
      (all) => {
        const kinds = all.map((one) => `${one.topologyKey} ${one.whenUnsatisfiable}`)
        return new Set(kinds).size === kinds.length
      },
      { error: 'has two entries with one topologyKey and whenUnsatisfiable' },
    )
    .default([])
    .describe('How pods are spread over zones and nodes.'),
  priorityClassName: objectName().optional().describe('PriorityClass of the pods.'),
  podAnnotations: annotations().default({}).describe('Added to every pod.'),
  podLabels: labels().default({}).describe("Added to every pod; the operator's own ones win."),
  paused: z
    .boolean()
    .default(false)
    .describe('true: the operator changes nothing, and the pods keep their state.'),
  keys: z
    .strictObject({
      from: z
        .array(KeySource)
        .max(64)
        .default([])
        .describe('Namespaces and tenants whose GatewayKeys are accepted.'),
    })
    .prefault({})
    .describe('Which GatewayKeys of other namespaces are accepted.'),
  tenants: z
    .strictObject({
      from: z
        .array(TenantGrant)
        .max(64)
        .default([])
        .describe('Namespaces and tenants whose TenantPolicies apply, and their largest amounts.'),
    })
    .prefault({})
    .describe('Which TenantPolicies apply; without an entry none, not even of this namespace.'),
})

export type WorkloadSpec = z.output<typeof WorkloadSpec>
