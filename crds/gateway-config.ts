/** The resource that users write: what the operator reads of it, and its status. */
import { z } from 'zod'
import { API_VERSION, KIND } from '../dataplane/schema/index.ts'
import { Condition } from './conditions.ts'
import { listMap, Metadata, moment, type SharedRule } from './fields.ts'
import { WorkloadSpec } from './workload.ts'

/** With more pods the status would be too large; those in trouble come first. */
export const PODS_MAX = 200
export const PROBLEMS_MAX = 20

/** On the whole object: its Service has the same name, and names of Services have the strictest rules. */
export const NAME_RULE: SharedRule<string> = {
  rule: "size(self.metadata.name) <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
  message:
    'metadata.name: the Service gets this name; use at most 63 lower-case letters, digits and -, beginning with a letter',
  holds: (name) => name.length <= 63 && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name),
}

const hash = () => z.string().max(128)
const sequence = () => z.int().min(0)

export const PodStatus = z.object({
  name: z.string().max(253).describe('Name of the pod.'),
  ready: z.boolean().describe('Whether it takes requests.'),
  state: z
    .enum(['Pending', 'Programmed', 'Rejected', 'Unreachable'])
    .optional()
    .describe('Its state regarding the newest configuration.'),
  hash: hash().optional().describe('The configuration that it enforces.'),
  generation: z.int().min(0).optional().describe('The generation of that configuration.'),
  sequence: sequence().optional().describe('Its number in the order of configurations.'),
  keysSequence: sequence().optional().describe('Number of the keys that it enforces.'),
  error: z
    .string()
    .max(4096)
    .optional()
    .describe('Why it refused the newest one, or does not answer.'),
})

export type PodStatus = z.output<typeof PodStatus>

const StatusProblem = z.object({
  severity: z.enum(['error', 'warning']).describe('Errors prevent the configuration.'),
  path: z.string().max(1024).describe('The field.'),
  message: z.string().max(4096).describe('The mistake.'),
  fix: z.string().max(4096).describe('The value to write instead.'),
})

export type StatusProblem = z.output<typeof StatusProblem>

const RolloutStatus = z.object({
  route: z.string().max(253).describe('The route.'),
  upstream: z.string().max(253).describe('The new upstream.'),
  phase: z.string().max(32).describe('running, paused, back, aborted or complete.'),
  share: z.string().max(16).describe('Percent of the requests that it gets.'),
  reason: z.string().max(1024).describe('Why it has this phase and share.'),
  changedAt: z.string().max(64).describe('Since when.'),
})

export type RolloutStatus = z.output<typeof RolloutStatus>

const KeysStatus = z.object({
  hash: hash().optional().describe('The keys that every pod should enforce.'),
  sequence: sequence().optional().describe('Their number in the order of keys.'),
  count: z.int().min(0).optional().describe('Number of keys, including revoked ones.'),
})

export const GatewayStatus = z.object({
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .describe('The generation that this status describes.'),
  conditions: z
    .array(Condition)
    .max(16)
    .default([])
    .meta(listMap('type'))
    .describe(
      'Accepted, ResolvedRefs, WorkloadAvailable, Programmed, Degraded, Ready; ' +
        'Exposed, CertificateValid, Verified, Stalled and Reconciling if they apply.',
    ),
  address: z.string().max(1024).optional().describe('Base address for clients, before /v1.'),
  replicas: z.int().min(0).optional().describe('Pods that exist.'),
  readyReplicas: z.int().min(0).optional().describe('Pods that take requests.'),
  programmedReplicas: z
    .int()
    .min(0)
    .optional()
    .describe('Pods that enforce the newest configuration.'),
  selector: z.string().max(4096).optional().describe('Labels of the pods, for /scale.'),
  activeHash: hash().optional().describe('The newest configuration that was accepted.'),
  activeGeneration: z.int().min(0).optional().describe('The generation of that configuration.'),
  activeSequence: sequence().optional().describe('Its number in the order of configurations.'),
  lastKnownGoodHash: hash()
    .optional()
    .describe('The last configuration that every ready pod acknowledged.'),
  programmedAt: moment().optional().describe('When every ready pod had acknowledged it.'),
  keys: KeysStatus.optional().describe(
    'The keys, which are sent separately from the configuration.',
  ),
  problems: z
    .array(StatusProblem)
    .max(PROBLEMS_MAX)
    .default([])
    .describe('Mistakes of the newest generation, errors first.'),
  rollouts: z
    .array(RolloutStatus)
    .max(64)
    .optional()
    .meta(listMap('route'))
    .describe('The rollouts of routes, as the pods report them.'),
  pods: z
    .array(PodStatus)
    .max(PODS_MAX)
    .default([])
    .meta(listMap('name'))
    .describe('The configuration that each pod enforces; pods in trouble first.'),
})

export type GatewayStatus = z.output<typeof GatewayStatus>

/** `gw` stays as written: `compile` checks it, and the pods get the user's text. */
export const GatewayConfig = z.looseObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.literal(KIND),
  metadata: Metadata,
  spec: WorkloadSpec.prefault({}),
  gw: z.record(z.string(), z.unknown()),
  status: GatewayStatus.prefault({}),
})

export type GatewayConfig = z.output<typeof GatewayConfig>
