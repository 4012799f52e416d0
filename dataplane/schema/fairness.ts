/** `fairness` and `cold_start`: requests that wait for an upstream that is full, or has no endpoint. */
import { z } from 'zod'
import { count, name, seconds } from './fields.ts'

export const Fairness = z.strictObject({
  weights: z
    .record(name(), z.number().positive().max(1_000_000))
    .default({})
    .describe('Share of the output tokens by tenant, as a weight against those of the others.'),
  default_weight: z
    .number()
    .positive()
    .max(1_000_000)
    .default(1)
    .describe('Weight of each other tenant.'),
  guarantee: z
    .record(name(), z.number().positive().max(1))
    .default({})
    .describe(
      'Least fraction of the output tokens by tenant, however many others wait; lent to them while it is not used.',
    ),
  max_wait_seconds: seconds(600)
    .default(10)
    .describe('Seconds that a request waits for a place, within the timeout of the request.'),
  max_waiting: count(1000)
    .default(100)
    .describe(
      'Most requests of one replica that may wait; then the newest of the tenant with the most for its weight gets 503.',
    ),
  max_reported_queue: count(1_000_000)
    .optional()
    .describe(
      'The upstream is full, too, while its runtime reports this many waiting and running requests of all clients.',
    ),
})

export type FairnessSection = z.output<typeof Fairness>

export const ColdStart = z.strictObject({
  max_wait_seconds: seconds(600)
    .default(300)
    .describe('Seconds that a request waits for an endpoint, within the timeout of the request.'),
  max_waiting: count(1000)
    .default(100)
    .describe('Most requests of one replica that may wait; further ones get 503.'),
  prefer_wait: z
    .boolean()
    .default(false)
    .describe('Wait for this upstream as the primary, even if a fallback could answer.'),
})
