/** Upstreams in words beside their table: breakers that are not closed, why and until when, and endpoints. */
import { z } from 'zod'
import { relativeTime } from './ages.ts'

/** As the admin API tells an upstream's breaker; older gateways tell its state alone. */
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

/** A line for each that keeps requests away; none if all are closed. */
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

/** As the admin API tells them; an upstream with its name alone has none. */
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
