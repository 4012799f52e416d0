/** A gateway in which everything happens that the console shows: load, failures, an open breaker, budgets, hostile texts. */
import { setTimeout as delay } from 'node:timers/promises'
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts'
import { aKey } from '../a-key.ts'
import { type Front, failing, startFront, startUpstream } from '../fake-upstream.ts'

/** A browser would run this if it were put into a page as HTML. */
export const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>'
export const SECRET = 'upstream-credential'

export interface BusyGateway {
  readonly front: Front
  /** Asks once as each tenant in turn, with a stream now and then. */
  round(): Promise<void>
  /** Rounds until it is stopped. */
  keepBusy(): void
  stop(): Promise<void>
}

/** `trouble` is the upstream's error, and the name of a model that does not exist. */
export async function startBusyGateway(trouble = HOSTILE): Promise<BusyGateway> {
  const fast = await startSimulator({ tokensPerSecond: 400, latencyMs: 30, tokens: 24 })
  const slow = await startSimulator({ tokensPerSecond: 120, latencyMs: 120, tokens: 24 })
  const broken = await startUpstream(failing(503, { message: trouble }))
  const tenants = ['search', 'support', 'research'].map((tenant) => aKey({ id: tenant, tenant }))
  const front = await startFront(documentOf([fast.url, slow.url, broken.url], tenants))
  let isStopped = false
  let busy = Promise.resolve()
  const round = () =>
    askAll(
      front,
      tenants.map(({ key }) => key),
      trouble,
    )
  return {
    front,
    round,
    keepBusy() {
      busy = (async () => {
        while (!isStopped) {
          await round()
          await delay(100)
        }
      })()
    },
    async stop() {
      isStopped = true
      await busy
      await front.process.stop()
      await Promise.all([fast, slow].map((each: Simulator) => each.stop()))
      await broken.close()
    },
  }
}

function documentOf(
  [fast = '', slow = '', broken = '']: readonly string[],
  tenants: readonly { readonly record: Readonly<Record<string, unknown>> }[],
) {
  const once = { circuit_breaker: { failure_threshold: 2, open_duration_seconds: 300 } }
  return {
    api_keys: tenants.map(({ record }) => record),
    upstreams: [
      { name: 'llama-a', endpoint: fast, provider: 'vllm', health_check: { interval_seconds: 1 } },
      { name: 'llama-b', endpoint: slow },
      { name: 'flaky', endpoint: broken, ...once },
    ],
    routes: [
      {
        name: 'chat',
        strategy: 'weighted',
        upstreams: [
          { name: 'llama-a', weight: 70 },
          { name: 'llama-b', weight: 30 },
        ],
      },
      {
        name: 'careful',
        strategy: 'primary_with_fallback',
        primary: 'flaky',
        fallback: ['llama-b'],
        retry: { max_attempts: 2 },
      },
      {
        name: 'quick',
        strategy: 'single',
        primary: 'llama-a',
        slo: { ttft_p95_ms: 5, window_seconds: 60 },
      },
    ],
    aliases: { 'gpt-4o': 'chat', 'claude-*': 'careful' },
    rate_limits: {
      default: { requests_per_minute: 6000, burst: 500, concurrent_requests: 64 },
      tenants: [{ tenant: 'research', requests_per_minute: 30, burst: 5, concurrent_requests: 2 }],
    },
    budgets: [
      { tenant: 'search', tokens_per_day: 1_000_000, spend_per_month_usd: 5 },
      { tenant: 'support', tokens_per_day: 50 },
    ],
    pricing: { models: [{ model: 'served', input: 2, output: 8 }] },
  }
}

/** Asks as every tenant, as a caller without a key, and for a model that is a script. */
async function askAll(front: Front, keys: readonly string[], trouble: string): Promise<void> {
  const as = (key: string) => ({ authorization: `Bearer ${key}` })
  const [search = '', support = '', research = ''] = keys
  const asked = [
    front.ask({ stream: true, max_tokens: 24 }, as(search)),
    front.ask({ model: 'quick', stream: true, max_tokens: 24 }, as(search)),
    front.ask({ model: 'careful', max_tokens: 24 }, as(search)),
    front.ask({ max_tokens: 24 }, as(support)),
    front.ask({ stream: true, max_tokens: 24 }, as(research)),
    front.ask({ model: trouble }, { ...as(search), 'x-request-id': trouble }),
  ]
  await Promise.all(asked.map(({ over }) => over))
}
