/** Parts of a pod and of its objects that users may set, in the form of Kubernetes. */
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

/** The API server would accept the gateway, but refuse its Deployment. */
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

export const Toleration = z
  .strictObject({
    key: line(317).optional(),
    operator: z.enum(['Equal', 'Exists']).optional(),
    value: line(63).optional(),
    effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional(),
    tolerationSeconds: z.int().optional(),
  })
  .refine(({ operator, value }) => operator !== 'Exists' || !value, {
    error: 'operator: Exists takes any value; remove value, or write operator: Equal',
  })
  .refine(({ key, operator }) => Boolean(key) || operator === 'Exists', {
    error: 'needs key; without one operator: Exists tolerates every taint',
  })
  .refine(
    ({ effect, tolerationSeconds: seconds }) => seconds === undefined || effect === 'NoExecute',
    {
      error: 'tolerationSeconds needs effect: NoExecute',
    },
  )

interface Requires {
  readonly operator: string
  readonly values?: readonly string[] | undefined
}

/** The number of values that an operator takes: some, one, or none. */
function takesValues({ operator, values = [] }: Requires): boolean {
  if (operator === 'Gt' || operator === 'Lt')
    return values.length === 1 && /^-?\d+$/.test(values[0] ?? '')
  return values.length > 0 === (operator === 'In' || operator === 'NotIn')
}

const VALUES = {
  error:
    'In and NotIn need values, Gt and Lt one whole number, Exists and DoesNotExist take no values',
}

const Requirement = z
  .strictObject({
    key: line(317).min(1),
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: z.array(line(63)).max(64).optional(),
  })
  .refine(takesValues, VALUES)

export const LabelSelector = z.strictObject({
  matchLabels: map(64, 63).optional(),
  matchExpressions: z.array(Requirement).max(32).optional(),
})

const NodeRequirement = z
  .strictObject({
    key: line(317).min(1),
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']),
    values: z.array(line(63)).max(64).optional(),
  })
  .refine(takesValues, VALUES)

const NodeSelectorTerm = z.strictObject({
  matchExpressions: z.array(NodeRequirement).max(32).optional(),
  matchFields: z
    .array(
      NodeRequirement.refine(({ key }) => key === 'metadata.name', {
        error: 'the only selectable field of a node is metadata.name',
      }),
    )
    .max(32)
    .optional(),
})

interface Selects {
  readonly labelSelector?: object | undefined
  readonly matchLabelKeys?: readonly string[] | undefined
  readonly mismatchLabelKeys?: readonly string[] | undefined
}

function hasSelector({ labelSelector, matchLabelKeys, mismatchLabelKeys }: Selects): boolean {
  return labelSelector !== undefined || (!matchLabelKeys?.length && !mismatchLabelKeys?.length)
}

const SELECTOR = { error: 'matchLabelKeys and mismatchLabelKeys need labelSelector' }

const PodTerm = z
  .strictObject({
    labelSelector: LabelSelector.optional(),
    namespaceSelector: LabelSelector.optional(),
    namespaces: z.array(label()).max(64).optional(),
    topologyKey: line(317).min(1),
    matchLabelKeys: z.array(line(317)).max(16).optional(),
    mismatchLabelKeys: z.array(line(317)).max(16).optional(),
  })
  .refine(hasSelector, SELECTOR)

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

export const TopologySpread = z
  .strictObject({
    maxSkew: z.int().min(1).max(1000),
    topologyKey: line(317).min(1),
    whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway']),
    labelSelector: LabelSelector.optional(),
    matchLabelKeys: z.array(line(317)).max(16).optional(),
    minDomains: z.int().min(1).max(1000).optional(),
    nodeAffinityPolicy: z.enum(['Honor', 'Ignore']).optional(),
    nodeTaintsPolicy: z.enum(['Honor', 'Ignore']).optional(),
  })
  .refine(hasSelector, SELECTOR)
  .refine(
    ({ minDomains, whenUnsatisfiable }) =>
      minDomains === undefined || whenUnsatisfiable === 'DoNotSchedule',
    {
      error: 'minDomains needs whenUnsatisfiable: DoNotSchedule',
    },
  )
