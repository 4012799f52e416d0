/** Quotas of upstreams in one gateway that counts in memory. */
import { testUpstreamQuotas } from './limits/upstream-quotas.ts'

await testUpstreamQuotas({}, 1)
