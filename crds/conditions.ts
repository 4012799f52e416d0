/** A status in sentences: each condition with its generation, its reason, and what to do. */
import { z } from 'zod'
import { moment } from './fields.ts'

/** Messages longer than this would be refused by the API server. */
export const MESSAGE_LENGTH_MAX = 32_768

export const Condition = z.object({
  type: z.string().min(1).max(316).describe('Which condition it is.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .describe('The metadata.generation that was checked.'),
  lastTransitionTime: moment().describe('When status last changed.'),
  reason: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .describe('One word for programs.'),
  message: z.string().max(MESSAGE_LENGTH_MAX).describe('A sentence that says what to do.'),
})

export type Condition = z.output<typeof Condition>

/** Before an operator has checked it: tools that wait for objects take one without a status for ready. */
export const INITIAL_STATUS = {
  conditions: [
    {
      type: 'Ready',
      status: 'Unknown',
      reason: 'Pending',
      message: 'Waiting for the operator.',
      lastTransitionTime: '1970-01-01T00:00:00Z',
    },
  ],
}

/** Conditions of a GatewayConfig, and the reasons that each may have. */
export const CONDITIONS = {
  /** Schema and checks passed for this generation. */
  Accepted: ['Accepted', 'Pending', 'Invalid', 'Paused'],
  /** Every Secret, Service and InferencePool that the configuration names could be read. */
  ResolvedRefs: [
    'ResolvedRefs',
    'Pending',
    'SecretUnresolved',
    'ServiceNotFound',
    'PoolNotFound',
    'PoolNotServed',
    'PoolNotSupported',
  ],
  /** The pods that the gateway needs exist and are ready. */
  WorkloadAvailable: [
    'Available',
    'Pending',
    'RolloutInProgress',
    'NoReplicasAvailable',
    'NoEndpoints',
    'ApplyFailed',
    'Conflict',
  ],
  /** Every ready pod has acknowledged the configuration of this generation. */
  Programmed: [
    'Programmed',
    'Pending',
    'Paused',
    'Progressing',
    'Invalid',
    'Rejected',
    'PodUnreachable',
    'NoPods',
  ],
  /** True: the gateway serves, but not the whole configuration. */
  Degraded: [
    'AsConfigured',
    'Pending',
    'UsingLastKnownGood',
    'SecretUnusable',
    'FieldsIgnored',
    'StoreAway',
    'WaitsForNewPods',
    'UpstreamsDisabled',
    'NoEndpoints',
    'CredentialRejected',
    'EndpointsRefused',
    'RolloutBack',
  ],
  /** The summary: its reason is that of the first other condition that is not met. StoreAway: requests are refused. */
  Ready: ['Ready', 'Pending', 'StoreAway'],
  /** Only with spec.route: the Gateways accept the route. Other reasons are those of their controllers. */
  Exposed: [
    'Exposed',
    'Pending',
    'NotServed',
    'Conflict',
    'NotAccepted',
    'NotAllowedByListeners',
    'NoMatchingListenerHostname',
    'NoMatchingParent',
    'UnsupportedValue',
    'RefNotPermitted',
    'InvalidKind',
    'BackendNotFound',
    'UnsupportedProtocol',
  ],
  /** Only with gw.gateway.tls: clients accept the certificate of the pods. The message has its expiry. */
  CertificateValid: ['Valid', 'ExpiresSoon', 'Pending', 'NotYetValid', 'Expired'],
  /** Only if a route has verify: true: each of these routes answers the probes of every pod. Ready ignores it. */
  Verified: ['Verified', 'Pending', 'RouteFails', 'PodsMissing', 'PodUnreachable', 'Probing'],
  /** Only True, if waiting cannot help: the configuration is not Accepted. */
  Stalled: ['Invalid', 'CompilationTimedOut'],
  /** Only True, while pods are replaced. */
  Reconciling: ['RolloutInProgress'],
} as const satisfies Readonly<Record<string, readonly string[]>>

export type ConditionType = keyof typeof CONDITIONS
