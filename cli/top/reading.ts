/** Counters of all gateways at one time. */
import { z } from 'zod'
import { withGateways } from '../asking/asked-gateways.ts'
import type { Place } from '../asking/place.ts'
import { TenantShare } from '../printing/tables/upstreams-text.ts'

const Count = z.number()

const Activity = z.object({
  at_ms: Count,
  first_token_bounds: z.array(Count),
  routes: z.array(
    z.object({
      name: z.string(),
      requests: Count,
      errors: Count,
      in_flight: Count,
      tokens: Count,
      first_tokens: z.array(Count),
    }),
  ),
  tenants: z.array(z.object({ name: z.string(), admitted: Count, refused: Count })),
  /** Absent in older gateways. */
  shares: z.array(TenantShare.extend({ upstream: z.string() })).default([]),
  usage: z.array(z.object({ tenant: z.string(), hour: z.string(), errors: Count, tokens: Count })),
})

export type Activity = z.output<typeof Activity>

export interface ActivityReading {
  /** By the name of the gateway; absent if it did not answer. */
  readonly gateways: ReadonlyMap<string, Activity>
  readonly asked: number
}

/** Throws only if no gateway answers. */
export async function read(place: Place): Promise<ActivityReading> {
  return await withGateways(place, async (gateways) => {
    const answers = await Promise.allSettled(
      gateways.map(async ({ name, ask }) => {
        const { status, body } = await ask('/activity')
        if (status === 200) return [name, Activity.parse(body)] as const
        throw new Error(
          `The gateway at ${name} answered with ${status}; is it older than this tool?`,
        )
      }),
    )
    const found = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const [first] = answers
    if (found.length === 0 && first?.status === 'rejected') throw first.reason
    return { gateways: new Map(found), asked: gateways.length }
  })
}
