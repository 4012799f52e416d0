/** Entries of `limits[]` over two gateways that share one Redis. */
import { after } from 'node:test'
import { startRedis } from '../../helpers/redis-server.ts'
import { testFurtherLimits } from '../limits/further-limits.ts'

const redis = await startRedis()
after(() => redis.stop())

await testFurtherLimits(
  { backend: 'redis', redis: { url: `unix://${redis.socket}`, timeout_ms: 1000 } },
  2,
)
