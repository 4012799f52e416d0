/** What the admin API answers to `gw explain`, as far as a table shows it. */
import { z } from 'zod'
import { Standing } from './limits-table.ts'

const Upstream = z.looseObject({
  name: z.string(),
  eligible: z.boolean(),
  health: z.string(),
  breaker: z.string(),
  in_flight: z.number(),
  queue: z.union([z.number(), z.string()]),
})

const Verdict = z.looseObject({
  id: z.string().optional(),
  tenant: z.string().optional(),
  status: z.number(),
  why: z.string(),
})

export const Explanation = z.looseObject({
  text: z.string(),
  key: Verdict.optional(),
  upstreams: z.array(Upstream).optional(),
  limits: Standing.optional(),
})

export const Refusal = z.object({ error: z.object({ message: z.string() }) })
