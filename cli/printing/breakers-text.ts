/** Breakers that are not closed, in words: why, and until when. */
import { z } from 'zod'

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

/** A line for each that keeps requests away; none where all are closed. */
export function breakerLines(upstreams: readonly Breaker[]): string[] {
  return upstreams
    .filter(({ breaker }) => breaker !== 'closed')
    .map((one) => {
      const { name, breaker, breaker_open_until: until, breaker_seconds_left: left } = one
      const time =
        until === undefined ? '' : ` until ${until.replace(/\.\d+Z$/, 'Z')} (${left} s left)`
      const why = one.breaker_reason === undefined ? '' : `; last failure: ${one.breaker_reason}`
      return `breaker of ${name}: ${breaker.replace('_', ' ')}${time}${why}`
    })
}
