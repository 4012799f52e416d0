/** `gw.tenants[]` and `upstreams[].labels`: which upstreams the requests of a tenant may go to. */
import { z } from 'zod'
import { tenantOrEach } from './limits.ts'

const label = () =>
  z
    .string()
    .max(63)
    .regex(
      /^[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?$/,
      'must begin and end with a letter or digit and hold only letters, digits and . _ / -',
    )

export const labels = () => z.record(label(), label())

export const Tenant = z.strictObject({
  name: tenantOrEach().describe('The tenant; "*": each tenant without an entry.'),
  requires: labels().describe(
    'Labels that an upstream must have. Requests of the tenant go to no other upstream, in any strategy, fallback or repeat, ' +
      'and no other upstream makes vectors of their texts.',
  ),
})
