/** Each selector of `limits[]` with each measure, over two gateways that share a Redis cluster. */
import { after } from 'node:test'
import { testEveryDimension } from '../limits/every-dimension.ts'
import { startRedisCluster } from './a-redis-cluster.ts'

const cluster = await startRedisCluster()
after(() => cluster.stop())

await testEveryDimension({ backend: 'redis', redis: { url: cluster.url, timeout_ms: 10_000 } }, 2)
