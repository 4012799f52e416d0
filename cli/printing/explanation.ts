/** The answer of the admin API to `gw explain`, as far as a table shows it. */
import { z } from 'zod'
import { GuardrailStatus } from './auxiliaries.ts'
import { TenantLimits } from './limits-table.ts'
import { TOKENS } from './tokens-text.ts'
import { BREAKER, ENDPOINTS } from './upstreams-text.ts'

const Upstream = z.looseObject({
  name: z.string(),
  eligible: z.boolean(),
  health: z.string(),
  ...BREAKER,
  in_flight: z.number(),
  queue: z.union([z.number(), z.string()]),
  ...TOKENS,
  ...ENDPOINTS,
})

const Rights = z.looseObject({
  id: z.string().optional(),
  tenant: z.string().optional(),
  status: z.number(),
  why: z.string(),
})

const ExplainedVerdict = z.looseObject({
  status: z.number(),
  code: z.string().nullish(),
  message: z.string(),
  retry_after_seconds: z.number().nullish(),
})
type ExplainedVerdict = z.output<typeof ExplainedVerdict>

export const ExplainAnswer = z.looseObject({
  text: z.string(),
  key: Rights.optional(),
  upstreams: z.array(Upstream).optional(),
  guardrails: z.array(GuardrailStatus).default([]),
  estimates: z.object({ ascii: z.number().optional(), other: z.number().optional() }).optional(),
  limits: TenantLimits.optional(),
  verdict: ExplainedVerdict.optional(),
})
export type ExplainAnswer = z.output<typeof ExplainAnswer>

export const ExplainRefusal = z.object({
  error: z.object({ message: z.string() }),
  verdict: ExplainedVerdict.optional(),
})

/** The answer to the next request in one line. */
export function wordsOf({
  status,
  code,
  message,
  retry_after_seconds: wait,
}: ExplainedVerdict): string {
  if (!code) return `now: ${status}, ${message}`
  // Until a breaker lets a request through: known to the second, and nothing helps before.
  if (code === 'ERR_GW_NO_HEALTHY_UPSTREAM' && wait && wait > 1)
    return `now: ${status} for ${wait} s more, ${code}: ${message}`
  return `now: ${status}, ${code}: ${message}${wait ? ` Retry-After ${wait} s` : ''}`
}
