/** Parts of a pod and of its objects that users may set, in the shape Kubernetes gave them. */
import { z } from 'zod'
import { label, line, map, objectName, ruled } from './fields.ts'

const QUANTITY = /^[0-9]+(\.[0-9]{1,9})?([munkMGTPE]|[KMGTPE]i|[eE][0-9]{1,2})?$/

const quantity = () =>
  z
    .union([
      z.int().min(0),
      z.string().max(32).regex(QUANTITY, 'must be an amount such as 500m or 1Gi'),
    ])
    .meta({
      'x-kubernetes-int-or-string': true,
      maxLength: 32,
      pattern: QUANTITY.source,
    })

const quantities = () =>
  z
    .record(z.string().max(317), quantity())
    .meta({ maxProperties: 16 })
    .describe('Amounts by name, such as cpu: 500m and memory: 512Mi.')

/** Suffixes of amounts; without one it is a plain number. */
const SCALES: Readonly<Record<string, number>> = {
  ...{ n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
}

function amountOf(quantity: number | string): number {
  const [, number = '', suffix = ''] = /^([0-9.]+)(.*)$/.exec(String(quantity)) ?? []
  const scale = SCALES[suffix]
  return scale === undefined ? Number(`${number}${suffix}`) : Number(number) * scale
}

/** The API server takes the gateway, and would refuse its Deployment. */
export const Resources = z
  .strictObject({ requests: quantities().optional(), limits: quantities().optional() })
  .refine(
    ({ requests = {}, limits = {} }) =>
      Object.entries(requests).every(([name, amount]) => {
        const limit = limits[name]
        return limit === undefined || amountOf(amount) <= amountOf(limit)
      }),
    { error: 'a request is above its limit' },
  )

export const ObjectReference = z.strictObject({ name: objectName() })

const KeyReference = z.strictObject({
  name: objectName(),
  key: line().min(1),
  optional: z.boolean().optional(),
})

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/
const variableName = () => z.string().min(1).max(253).regex(VARIABLE, 'letters, digits and _')

const ValueFrom = ruled(
  z.strictObject({
    secretKeyRef: KeyReference.optional(),
    configMapKeyRef: KeyReference.optional(),
    fieldRef: z
      .strictObject({ fieldPath: line().min(1), apiVersion: line(32).optional() })
      .optional(),
  }),
  {
    rule: '[has(self.secretKeyRef), has(self.configMapKeyRef), has(self.fieldRef)].filter(x, x).size() == 1',
    message: 'valueFrom needs exactly one of secretKeyRef, configMapKeyRef, fieldRef',
    holds: (from) => Object.values(from).filter((source) => source !== undefined).length === 1,
  },
)

export const Variable = ruled(
  z.strictObject({
    name: variableName(),
    value: line(32_768).optional(),
    valueFrom: ValueFrom.optional(),
  }),
  {
    rule: '!(has(self.value) && has(self.valueFrom))',
    message: 'give value or valueFrom, not both',
    holds: ({ value, valueFrom }) => value === undefined || valueFrom === undefined,
  },
)

const SourceReference = z.strictObject({ name: objectName(), optional: z.boolean().optional() })

export const VariableSource = ruled(
  z.strictObject({
    prefix: line().optional(),
    secretRef: SourceReference.optional(),
    configMapRef: SourceReference.optional(),
  }),
  {
    rule: 'has(self.secretRef) != has(self.configMapRef)',
    message: 'needs exactly one of secretRef, configMapRef',
    holds: ({ secretRef, configMapRef }) =>
      (secretRef === undefined) !== (configMapRef === undefined),
  },
)

export const Toleration = z.strictObject({
  key: line(317).optional(),
  operator: z.enum(['Equal', 'Exists']).optional(),
  value: line(63).optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
  tolerationSeconds: z.int().optional(),
})

const Requirement = z.strictObject({
  key: line(317).min(1),
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
  values: z.array(line(63)).max(64).optional(),
})

export const LabelSelector = z.strictObject({
  matchLabels: map(64, 63).optional(),
  matchExpressions: z.array(Requirement).max(32).optional(),
})

const NodeRequirement = z.strictObject({
  key: line(317).min(1),
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
  values: z.array(line(63)).max(64).optional(),
})

const NodeSelectorTerm = z.strictObject({
  matchExpressions: z.array(NodeRequirement).max(32).optional(),
  matchFields: z.array(NodeRequirement).max(32).optional(),
})

const PodTerm = z.strictObject({
  labelSelector: LabelSelector.optional(),
  namespaceSelector: LabelSelector.optional(),
  namespaces: z.array(label()).max(64).optional(),
  topologyKey: line(317).min(1),
  matchLabelKeys: z.array(line(317)).max(16).optional(),
  mismatchLabelKeys: z.array(line(317)).max(16).optional(),
})

const weight = () => z.int().min(1).max(100)

const PodAffinity = z.strictObject({
  requiredDuringSchedulingIgnoredDuringExecution: z.array(PodTerm).max(16).optional(),
  preferredDuringSchedulingIgnoredDuringExecution: z
    .array(z.strictObject({ weight: weight(), podAffinityTerm: PodTerm }))
    .max(16)
    .optional(),
})

export const Affinity = z.strictObject({
  nodeAffinity: z
    .strictObject({
      requiredDuringSchedulingIgnoredDuringExecution: z
        .strictObject({ nodeSelectorTerms: z.array(NodeSelectorTerm).min(1).max(16) })
        .optional(),
      preferredDuringSchedulingIgnoredDuringExecution: z
        .array(z.strictObject({ weight: weight(), preference: NodeSelectorTerm }))
        .max(16)
        .optional(),
    })
    .optional(),
  podAffinity: PodAffinity.optional(),
  podAntiAffinity: PodAffinity.optional(),
})

export const TopologySpread = z.strictObject({
  maxSkew: z.int().min(1).max(1000),
  topologyKey: line(317).min(1),
  whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway']),
  labelSelector: LabelSelector.optional(),
  matchLabelKeys: z.array(line(317)).max(16).optional(),
  minDomains: z.int().min(1).max(1000).optional(),
  nodeAffinityPolicy: z.enum(['Honor', 'Ignore']).optional(),
  nodeTaintsPolicy: z.enum(['Honor', 'Ignore']).optional(),
})

const PolicyPort = z.strictObject({
  protocol: z.enum(['TCP', 'UDP', 'SCTP']).optional(),
  port: z.int().min(1).max(65535),
  endPort: z.int().min(1).max(65535).optional(),
})

const cidr = () =>
  z
    .string()
    .max(64)
    .regex(/^[0-9A-Fa-f:.]+\/[0-9]{1,3}$/, 'must be a block of addresses such as 10.0.0.0/8')

/** A peer in a rule of a NetworkPolicy. */
export const Peer = ruled(
  z.strictObject({
    podSelector: LabelSelector.optional(),
    namespaceSelector: LabelSelector.optional(),
    ipBlock: z
      .strictObject({ cidr: cidr(), except: z.array(cidr()).max(32).optional() })
      .optional(),
  }),
  {
    rule: 'has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))',
    message: 'needs podSelector, namespaceSelector or both, or else ipBlock alone',
    holds: ({ podSelector, namespaceSelector, ipBlock }) =>
      (ipBlock !== undefined) !== (podSelector !== undefined || namespaceSelector !== undefined),
  },
)

/** Where pods may connect to: these peers, at these ports; an absent list means all of them. */
export const Egress = z.strictObject({
  to: z.array(Peer).max(64).optional(),
  ports: z.array(PolicyPort).max(64).optional(),
})
