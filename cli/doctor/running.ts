/** Checks of a running gateway: what it knows about its upstreams and its store. */
import { z } from 'zod'
import { type Check, found } from './check.ts'

const Status = z.looseObject({
  store: z.unknown(),
  upstreams: z
    .array(
      z.looseObject({
        name: z.string(),
        eligible: z.boolean(),
        health: z.string(),
        why: z.string().optional(),
      }),
    )
    .default([]),
})

export function upstreamChecks(body: unknown): Check[] {
  const { upstreams, store } = Status.parse(body)
  const { backend, state } = Object(store)
  const redis = found('redis', 'of the running gateway')
  const isAway = state === 'away'
  return [
    ...upstreams.map(({ name, eligible, health, why }) => {
      const { ok, failed } = found('upstream', `${name}, of the running gateway`)
      if (eligible) return ok(health)
      return failed(why ?? health, `See what it answers: gw upstream test ${name} --verbose`)
    }),
    ...(backend === 'redis'
      ? [
          isAway
            ? redis.failed('away', 'Start Redis, or correct gw.rate_limits.redis.url.')
            : redis.ok('connected'),
        ]
      : []),
  ]
}
