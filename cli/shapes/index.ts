/** The JSON that each command prints, for its page and for the tests that read real output. */
import { z } from 'zod'
import { GatewayStatus } from '../../crds/gateway-config.ts'
import { KeyView } from '../keys/view.ts'
import { ExplainAnswer } from '../printing/tables/explanation.ts'
import { TenantLimits } from '../printing/tables/limits-table.ts'
import { ENDPOINTS } from '../printing/tables/upstreams-text.ts'
import { Models } from '../status/models.ts'
import { Rollouts, Shadows } from '../status/rollouts.ts'
import { StandAloneStatus } from '../status/stand-alone.ts'
import { Listing } from '../traces/list.ts'
import { TraceAnswer } from '../traces/tree.ts'
import { ContextAnswer } from '../trials/context-answer.ts'
import { GuardrailTrial } from '../trials/guardrail.ts'
import { RouteResult } from '../trials/route.ts'
import { TokensTrial } from '../trials/tokens.ts'
import { UpstreamsTrial } from '../trials/upstream.ts'
import { VectorTrial } from '../trials/vector-store.ts'
import { UsageAnswer } from '../usage/table.ts'
import { WhyAnswer } from '../why/show.ts'
import * as documents from './documents.ts'
import * as moving from './moving.ts'

const ClusterStatus = z.looseObject({
  name: z.string(),
  namespace: z.string(),
  generation: z.number(),
  ...GatewayStatus.shape,
  stores: z
    .array(
      z.looseObject({
        pod: z.string(),
        state: z.string(),
        failOpen: z.boolean(),
        settlementsWaiting: z.number().describe('charges that the store has not taken yet'),
      }),
    )
    .describe('whether the shared store answers each pod'),
  upstreams: z
    .array(
      z.looseObject({
        name: z.string(),
        provider: z.string(),
        eligible: z.boolean().describe('in every pod'),
        health: z.string(),
        breaker: z.string(),
        in_flight: z.number().describe('over all pods'),
        why: z.string().optional().describe('why it is not eligible, in most pods'),
        ...ENDPOINTS,
        differing: z
          .array(
            z.looseObject({
              pod: z.string(),
              eligible: z.boolean(),
              health: z.string(),
              breaker: z.string(),
              why: z.string().optional(),
            }),
          )
          .describe('the pods whose view differs from most'),
      }),
    )
    .describe('the view of most pods; empty if the pods cannot be reached'),
})

type Variants = Readonly<Record<string, z.ZodType>>

/** By the command; several shapes if its options decide. */
export const SHAPES: Readonly<Record<string, z.ZodType | Variants>> = {
  import: moving.Imported,
  'config validate': documents.Validated,
  'config show': documents.Configuration,
  diff: { 'of a file': documents.Differences, 'of traffic': moving.TrafficCompared },
  apply: { 'on this machine': documents.AppliedHere, 'in a cluster': documents.AppliedInCluster },
  expose: documents.Manifests,
  status: {
    'on this machine': StandAloneStatus,
    'in a cluster': ClusterStatus,
    'of several gateways': documents.GatewayList,
  },
  why: WhyAnswer,
  wait: documents.Waited,
  models: Models,
  'rollout status': Rollouts,
  'rollout pause': Rollouts,
  'rollout resume': Rollouts,
  'rollout promote': Rollouts,
  'rollout abort': Rollouts,
  'shadow status': Shadows,
  top: documents.Busy,
  logs: { 'of each line': documents.LogLine },
  'keys create': documents.NewKey,
  'keys list': z.looseObject({ keys: z.array(KeyView) }),
  'keys inspect': { 'of one key': KeyView, 'of several keys': z.array(KeyView) },
  'keys test': documents.KeyVerdict,
  'keys revoke': KeyView,
  'keys rotate': { 'of a key': documents.NewKey, 'of a key in a Secret': documents.KeyInSecret },
  'keys import': moving.TakenKeys,
  'auth test': documents.Authorized,
  'limits show': TenantLimits,
  'limits test': documents.LimitsHeld,
  usage: UsageAnswer,
  'pricing import': documents.ImportedPrices,
  'pricing check': documents.CheckedPrices,
  explain: ExplainAnswer,
  'trace get': TraceAnswer,
  'trace list': Listing,
  'context inspect': ContextAnswer,
  'upstream test': UpstreamsTrial,
  'upstream drain': documents.Drained,
  'upstream resume': documents.Drained,
  'vector test': VectorTrial,
  'guardrail test': GuardrailTrial,
  'tokens verify': TokensTrial,
  'gateway test': z.looseObject({ routes: z.array(RouteResult) }),
  simulate: documents.SimulatorFacts,
  doctor: documents.Examined,
  version: documents.Versions,
}

export function variantsOf(shape: z.ZodType | Variants): readonly [name: string, z.ZodType][] {
  return shape instanceof z.ZodType ? [['', shape]] : Object.entries(shape)
}
