/** `fairness` of an upstream or a route: how tenants share an upstream that is full. */
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
