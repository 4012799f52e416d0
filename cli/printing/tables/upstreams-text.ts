/** Upstreams in words beside their table: breakers that are not closed, why and until when, endpoints, shares of tenants. */
import { z } from 'zod'
import { relativeTime } from '../ages.ts'

/** As the admin API reports an upstream's breaker; older gateways report only its state. */
export const BREAKER = {
  breaker: z.string(),
  breaker_reason: z.string().optional(),
  breaker_open_until: z.string().optional(),
  breaker_seconds_left: z.number().optional(),
}

interface Breaker {
  readonly name: string
  readonly breaker: string
  readonly breaker_reason?: string | undefined
  readonly breaker_open_until?: string | undefined
  readonly breaker_seconds_left?: number | undefined
}

/** A line for each breaker that blocks requests; empty if all are closed. */
export function breakerLines(upstreams: readonly Breaker[]): string[] {
  return upstreams
    .filter(({ breaker }) => breaker !== 'closed')
    .map((one) => {
      const { name, breaker, breaker_open_until: until, breaker_seconds_left: left } = one
      const end = left === undefined ? relativeTime(until) : `in ${left} s`
      const time = end === undefined ? '' : `, tries again ${end}`
      const why = one.breaker_reason === undefined ? '' : `; last failure: ${one.breaker_reason}`
      return `breaker of ${name}: ${breaker.replace('_', ' ')}${time}${why}`
    })
}

/** As the admin API reports them; an upstream with only a host name has none. */
export const ENDPOINTS = {
  endpoints: z
    .array(
      z.looseObject({
        address: z.string(),
        state: z.string(),
        in_flight: z.number(),
        queue: z.number().optional(),
      }),
    )
    .optional(),
  cold_start: z.object({ has_endpoint: z.boolean(), waiting: z.number() }).optional(),
}

interface Upstream {
  readonly name: string
  readonly why?: string | undefined
  readonly endpoints?:
    | readonly {
        readonly address: string
        readonly state: string
        readonly in_flight: number
        readonly queue?: number | undefined
      }[]
    | undefined
  readonly cold_start?: { readonly has_endpoint: boolean; readonly waiting: number } | undefined
}

const SHOWN_MAX = 16

export function endpointLines(upstreams: readonly Upstream[]): string[] {
  return upstreams.flatMap(({ name, why, endpoints, cold_start: cold }) => {
    if (cold?.has_endpoint === false)
      return [`endpoints of ${name}: none; waiting requests: ${cold.waiting}`]
    if (endpoints === undefined) return []
    if (endpoints.length === 0) {
      return [
        `endpoints of ${name}: none${why === undefined ? ' yet; requests go to its name' : `; ${why}`}`,
      ]
    }
    const lines = endpoints.slice(0, SHOWN_MAX).map(({ address, state, in_flight, queue }) => {
      const reported = queue === undefined ? '' : `, reports ${queue}`
      return `  ${address}  ${state}, ${in_flight} in flight${reported}`
    })
    const more = endpoints.length - SHOWN_MAX
    return [
      `endpoints of ${name}: ${endpoints.length}`,
      ...lines,
      ...(more > 0 ? [`  and ${more} more`] : []),
    ]
  })
}

export const TenantShare = z.object({
  tenant: z.string(),
  waiting: z.number(),
  running: z.number(),
  tokens_per_second: z.number().describe('output tokens of the last ten seconds'),
  share: z.number().describe('of the output tokens of the last ten seconds, from 0 to 1'),
  entitled: z.number().describe('by weight and guarantee, among the tenants that use it now'),
})

export type TenantShare = z.output<typeof TenantShare>

/** As the admin API tells it; absent without fairness. */
export const SHARES = {
  fairness: z.object({ waiting: z.number(), tenants: z.array(TenantShare) }).optional(),
}

interface Shared {
  readonly name: string
  readonly fairness?:
    | { readonly waiting: number; readonly tenants: readonly TenantShare[] }
    | undefined
}

const TENANTS_MAX = 5

export function sharesLines(upstreams: readonly Shared[]): string[] {
  return upstreams.flatMap(({ name, fairness }) => {
    if (fairness === undefined || fairness.tenants.length === 0) return []
    const shown = fairness.tenants
      .slice(0, TENANTS_MAX)
      .map(({ tenant, waiting, share, entitled }) => {
        const has = `${tenant} has ${percent(share)} of ${percent(entitled)}`
        return waiting === 0 ? has : `${has}, ${waiting} wait`
      })
    const more = fairness.tenants.length - TENANTS_MAX
    const rest = more > 0 ? [`${more} more tenants`] : []
    return [`shares of ${name} (${fairness.waiting} wait): ${[...shown, ...rest].join('; ')}`]
  })
}

export function percent(fraction: number): string {
  return `${Math.round(fraction * 100)} %`
}

/** The shares at one upstream over all gateways, those with the most requests that wait first. */
export function sharesTogether(lists: readonly (readonly TenantShare[])[]): TenantShare[] {
  const all = lists.flat()
  const tokens = all.reduce((sum, one) => sum + one.tokens_per_second, 0)
  const tenants = [...Map.groupBy(all, ({ tenant }) => tenant)].map(([tenant, views]) => {
    const sumOf = (member: 'waiting' | 'running' | 'tokens_per_second' | 'entitled') =>
      views.reduce((sum, view) => sum + view[member], 0)
    const own = sumOf('tokens_per_second')
    const users = views.filter(({ entitled }) => entitled > 0).length
    return {
      tenant,
      waiting: sumOf('waiting'),
      running: sumOf('running'),
      tokens_per_second: rounded(own),
      share: tokens > 0 ? rounded(own / tokens) : 0,
      entitled: users > 0 ? rounded(sumOf('entitled') / users) : 0,
    }
  })
  return tenants.toSorted(
    (one, other) => other.waiting - one.waiting || other.tokens_per_second - one.tokens_per_second,
  )
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
