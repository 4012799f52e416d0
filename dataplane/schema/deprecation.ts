/** `deprecated` of a route or an alias: when its name ends, and the name that replaces it. */
import { z } from 'zod'
import { name } from './fields.ts'

const DAY_OR_TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2}))?$/

/** A day begins at midnight UTC. May hold a `${env:NAME}` reference. */
export const time = () =>
  z
    .string()
    .max(64)
    .refine((value) => value.includes('${') || isTime(value), {
      error: 'must be a day such as 2026-12-31, or a time such as 2026-12-31T09:00:00Z',
    })

export const Deprecation = z.strictObject({
  since: time().describe('Day or time from which clients should no longer use the name.'),
  until: time()
    .optional()
    .describe('Day or time from which the name is no longer served; absent: it is served on.'),
  successor: name().optional().describe('Route or alias that clients should use instead.'),
  then: z
    .enum(['refuse', 'redirect'])
    .default('refuse')
    .describe(
      'After until. refuse: 404 that names the successor; redirect: the successor serves the request.',
    ),
})

function isTime(value: string): boolean {
  if (!DAY_OR_TIME.test(value)) return false
  const time = Date.parse(value)
  // February 30 would be read as March 2.
  return (
    !Number.isNaN(time) &&
    new Date(`${value.slice(0, 10)}T00:00:00Z`).toISOString().startsWith(value.slice(0, 10))
  )
}
