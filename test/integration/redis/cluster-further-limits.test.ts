/** Entries of `limits[]` over two gateways that share a Redis cluster. */
import { after } from 'node:test'
import { testFurtherLimits } from '../limits/further-limits.ts'
import { startRedisCluster } from './a-redis-cluster.ts'

const cluster = await startRedisCluster()
after(() => cluster.stop())

await testFurtherLimits({ backend: 'redis', redis: { url: cluster.url, timeout_ms: 10_000 } }, 2)
