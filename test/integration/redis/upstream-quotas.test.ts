/** Quotas of upstreams over two gateways that share one Redis. */
import { after } from 'node:test'
import { startRedis } from '../../helpers/redis-server.ts'
import { testUpstreamQuotas } from '../limits/upstream-quotas.ts'

const redis = await startRedis()
after(() => redis.stop())

await testUpstreamQuotas(
  { backend: 'redis', redis: { url: `unix://${redis.socket}`, timeout_ms: 1000 } },
  2,
)
