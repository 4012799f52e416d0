/**
 * The memory of a limit for each end user: in Redis, and in the gateway. `node test/bench/end-users.ts [USERS]` asks once
 * for each of that many users, then for as many others, and prints a table.
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { aKey } from '../helpers/a-key.ts'
import { aDocument, anUpstream, startUpstream } from '../helpers/fake-upstream.ts'
import { PLENTY, startGateway } from '../helpers/gateway-process.ts'
import { startRedis } from '../helpers/redis-server.ts'

const USERS = Number(process.argv[2] ?? 100_000)
const AT_ONCE = 64

const [redis, upstream] = await Promise.all([startRedis(), startUpstream()])
const { key, record } = aKey({ id: 'k', tenant: 'chatbot', routes: ['*'] })
const gateway = await startGateway({
  env: { UPSTREAM_KEY: 'upstream-credential' },
  config: aDocument({
    api_keys: [record],
    upstreams: [anUpstream({ name: 'up', endpoint: upstream.url })],
    routes: [{ name: 'chat', strategy: 'single', primary: 'up', max_tokens_default: 3 }],
    rate_limits: {
      backend: 'redis',
      redis: { url: `unix://${redis.socket}`, timeout_ms: 10_000 },
      default: PLENTY,
    },
    limits: [
      {
        name: 'users',
        for: { each: 'user' },
        requests_per_minute: 20,
        concurrent_requests: 4,
        budget: { tokens: 1000, per: 'day' },
      },
    ],
    telemetry: { access_log: false },
  }),
})
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })

console.log('users | Redis, MiB | keys | bytes a user | gateway, MiB')
await show(0)
for (const round of ['first', 'second']) {
  await askAs(round)
  // The upstream of this process remembers requests.
  upstream.asked.length = 0
  await show(round === 'first' ? USERS : 2 * USERS)
}
await Promise.all([gateway.stop(), upstream.close()])
agent.destroy()
await redis.stop()

async function askAs(round: string): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < USERS) await ask(`${round}-user-${next++}@example.com`)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

function ask(user: string): Promise<void> {
  const body = JSON.stringify({
    model: 'chat',
    user,
    max_tokens: 3,
    messages: [{ role: 'user', content: 'hi' }],
  })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = request(`${gateway.url}/v1/chat/completions`, { method: 'POST', agent, headers })
    sent.on('error', reject)
    sent.on('response', (answer) => {
      answer.resume()
      answer.on('end', () => {
        // A busy machine may be late.
        if (answer.statusCode === 503) ask(user).then(resolve, reject)
        else if (answer.statusCode === 200) resolve()
        else reject(new Error(`${answer.statusCode}`))
      })
    })
    sent.end(body)
  })
}

async function show(users: number): Promise<void> {
  const memory = Number(/used_memory:(\d+)/.exec(await redis.ask('INFO', 'memory'))?.[1])
  const size = Number(/:(\d+)/.exec(await redis.ask('DBSIZE'))?.[1])
  const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8')
  const rss = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
  const perUser = users === 0 ? '' : Math.round(memory / users)
  console.log([users, (memory / 2 ** 20).toFixed(1), size, perUser, rss.toFixed(0)].join(' | '))
}
