/** Each selector of `limits[]` with each measure, over two gateways that share one Redis. */
import { after } from 'node:test'
import { startRedis } from '../../helpers/redis-server.ts'
import { testEveryDimension } from '../limits/every-dimension.ts'

const redis = await startRedis()
after(() => redis.stop())

const url = `unix://${redis.socket}`
await testEveryDimension({ backend: 'redis', redis: { url, timeout_ms: 10_000 } }, 2)
