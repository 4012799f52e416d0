/** A gateway with everything that the console shows: load, failures, an open breaker, budgets, hostile texts. */
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts'
import { aKey } from '../a-key.ts'
import { type Asking, type Front, failing, startFront, startUpstream } from '../fake-upstream.ts'
import { startSidecar } from '../guardrail-sidecar.ts'

/** A browser would run this if it were put into a page as HTML. */
export const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>'
export const SECRET = 'upstream-credential'
/** The addresses of one upstream. */
const POOL = ['127.0.0.2', '127.0.0.3']

export interface BusyGateway {
  readonly front: Front
  /** The console of its admin port, with the token. */
  readonly consoleUrl: string
  readonly token: string
  /** A key of each team. */
  readonly keys: readonly string[]
  /** Requests a stream of a minute. */
  askLong(): Asking
  /** Sends one request as each tenant in turn, with a stream now and then. */
  round(): Promise<void>
  /** Rounds until it is stopped. */
  keepBusy(): void
  stop(): Promise<void>
}

export interface BusyOptions {
  /** At least three; the first ones have limits and budgets. */
  readonly teams?: readonly string[]
  /** With what an earlier process has left there. */
  readonly stateDir?: string
}

/** `trouble` is the upstream's error, and the name of a model that does not exist. */
export async function startBusyGateway(
  trouble = HOSTILE,
  { teams = ['search', 'support', 'research'], stateDir }: BusyOptions = {},
): Promise<BusyGateway> {
  const fast = await startSimulator({ tokensPerSecond: 400, latencyMs: 30, tokens: 24 })
  const slow = await startSimulator({ tokensPerSecond: 120, latencyMs: 120, tokens: 24 })
  const broken = await startUpstream(failing(503, { message: trouble }))
  const pool = await startPool()
  const sidecar = await startSidecar()
  const tenants = teams.map((tenant) =>
    aKey({ id: `${tenant}-app`, tenant, prefix: `gw_live_${tenant}` }),
  )
  const places = [fast.url, slow.url, broken.url, pool.url, sidecar.url]
  const document = { ...documentOf(places, tenants), ...(stateDir && { state_dir: stateDir }) }
  const front = await startFront(document, { env: pool.env })
  let isStopped = false
  let busy: Promise<unknown> = Promise.resolve()
  const keys = tenants.map(({ key }) => key)
  const round = () => askAll(front, keys, trouble)
  // Streams that are visible while they run.
  const askFor = (max_tokens: number) =>
    front.ask(
      { model: 'batch', stream: true, max_tokens },
      { authorization: `Bearer ${tenants[0]?.key}` },
    )
  const { adminUrl, adminHeaders } = front.process
  const token = String(adminHeaders.authorization).replace('Bearer ', '')
  return {
    front,
    token,
    keys,
    consoleUrl: `${adminUrl}/console/#token=${token}`,
    askLong: () => askFor(1200),
    round,
    keepBusy() {
      const repeated = async (ask: () => Promise<unknown>) => {
        while (!isStopped) {
          await ask()
          await delay(100)
        }
      }
      const long = () => askFor(48).over
      busy = Promise.all([repeated(round), repeated(long), repeated(long)])
    },
    async stop() {
      isStopped = true
      await busy
      await front.process.stop()
      await Promise.all([fast, slow].map((each: Simulator) => each.stop()))
      await Promise.all([broken.close(), sidecar.close(), pool.stop()])
    },
  }
}

/** Two model servers behind one name. */
async function startPool() {
  const folder = await mkdtemp(join(tmpdir(), 'gw-names-'))
  const names = join(folder, 'names.json')
  writeFileSync(names, JSON.stringify({ 'pool.test': POOL }))
  const settings = { tokensPerSecond: 20, latencyMs: 60, tokens: 2000 }
  const [host = '', ...others] = POOL
  const first = await startSimulator({ ...settings, host })
  const { port } = first
  const rest = others.map((other) => startSimulator({ ...settings, host: other, port }))
  const all = [first, ...(await Promise.all(rest))]
  return {
    url: `http://pool.test:${port}`,
    env: {
      TEST_NAMES: names,
      NODE_OPTIONS: `--import=${join(import.meta.dirname, '../names/preload.ts')}`,
    },
    async stop() {
      await Promise.all(all.map((each) => each.stop()))
      await rm(folder, { recursive: true })
    },
  }
}

function documentOf(
  [fast = '', slow = '', broken = '', pool = '', sidecar = '']: readonly string[],
  tenants: readonly { readonly record: Readonly<Record<string, unknown>> }[],
) {
  const once = { circuit_breaker: { failure_threshold: 2, open_duration_seconds: 300 } }
  return {
    api_keys: tenants.map(({ record }) => record),
    upstreams: [
      { name: 'llama-a', endpoint: fast, provider: 'vllm', health_check: { interval_seconds: 1 } },
      { name: 'llama-b', endpoint: slow },
      { name: 'flaky', endpoint: broken, ...once },
      { name: 'pool', endpoint: pool, provider: 'vllm', endpoints: 'dns' },
    ],
    guardrails: [{ name: 'pii', endpoint: sidecar, on_error: 'allow' }],
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
      { name: 'batch', strategy: 'single', primary: 'pool', guardrails: ['pii'] },
    ],
    aliases: { 'gpt-4o': 'chat', 'claude-*': 'careful' },
    rate_limits: {
      default: { requests_per_minute: 6000, burst: 500, concurrent_requests: 64 },
      tenants: [{ tenant: 'research', requests_per_minute: 30, burst: 5, concurrent_requests: 2 }],
    },
    budgets: [
      { tenant: 'search', tokens_per_day: 1_000_000, spend_per_month_usd: 5 },
      { tenant: 'support', tokens_per_day: 50 },
      { tenant: '*', tokens_per_day: 2_000_000 },
      { tenants: ['search', 'support'], name: 'product', spend_per_month_usd: 0.5 },
      { key: 'research-app', spend_per_month_usd: 20 },
    ],
    pricing: { models: [{ model: 'served', input: 2, output: 8 }] },
  }
}

/** Sends requests as every tenant, as a caller without a key, and for a model that is a script. */
async function askAll(front: Front, keys: readonly string[], trouble: string): Promise<void> {
  const as = (key: string) => ({ authorization: `Bearer ${key}` })
  const [search = '', support = '', research = '', ...others] = keys
  const asked = [
    front.ask({ stream: true, max_tokens: 24 }, as(search)),
    front.ask({ model: 'quick', stream: true, max_tokens: 24 }, as(search)),
    front.ask({ model: 'careful', max_tokens: 24 }, as(search)),
    front.ask({ max_tokens: 24 }, as(support)),
    front.ask({ stream: true, max_tokens: 24 }, as(research)),
    ...others.map((key) => front.ask({ stream: true, max_tokens: 24 }, as(key))),
    front.ask({ model: trouble }, { ...as(search), 'x-request-id': trouble }),
  ]
  await Promise.all(asked.map(({ over }) => over))
}
