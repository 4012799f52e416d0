/** `gw console` with two pods whose answers never change and contain everything that the page can show. */
import type { AskedGateway } from '../../../cli/asking/asked-gateways.ts'
import { type ConsoleServer, startConsole } from '../../../cli/console/server.ts'

type Fields = Readonly<Record<string, unknown>>

const TOKEN = 'scripted'
const MINUTE_MS = 60_000

/** `changed` is applied to every body that a browser gets. */
export async function startScriptedConsole(
  changed: (body: unknown) => unknown = (body) => body,
): Promise<ConsoleServer> {
  const server = await startConsole({
    port: 0,
    token: TOKEN,
    onSilence() {},
    readResource: async () => changed(RESOURCE),
  })
  server.follow(['gw-0', 'gw-1'].map((name, index) => aPod(name, index, changed)))
  return server
}

function aPod(name: string, index: number, changed: (body: unknown) => unknown): AskedGateway {
  let seconds = 0
  return {
    name,
    clientUrl: async () => 'http://127.0.0.1:1',
    ask: async (path) => {
      if (path === '/activity') seconds++
      const body = bodyOf(path, index, seconds)
      if (body !== undefined) return { status: 200, body: changed(body) }
      return { status: 404, body: changed({ error: { message: `nothing at ${path}` } }) }
    },
  }
}

function bodyOf(path: string, index: number, seconds: number): Fields | undefined {
  const [place = '', query = ''] = path.split('?')
  if (place === '/usage') return usageBy(new URLSearchParams(query).get('by') ?? '')
  if (place === '/traces') return { traces: query.includes('running') ? [running()] : traces() }
  const bodies: Readonly<Record<string, () => Fields>> = {
    '/status': () => statusOf(index),
    '/activity': () => activityOf(seconds),
    '/history': history,
    '/config': () => ({ gw: { upstreams: [{ name: 'local', api_key: '***' }] } }),
    '/models': () => MODELS,
    '/changes': () => ({
      changes: [change('breaker', 'The breaker of upstream "local" is open.')],
    }),
    '/limits': limits,
    '/keys': () => ({ total: 1, keys: [KEY] }),
    '/explain': () => ({
      verdict: { status: 503, code: 'ERR_GW_NO_HEALTHY_UPSTREAM' },
      text: 'chat',
    }),
    '/traces/r-1': () => traces()[0] ?? {},
    '/rollouts': () => ({ rollouts: [rollout()] }),
    '/shadows': () => ({ shadows: [SHADOW] }),
  }
  return bodies[place]?.()
}

const before = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS).toISOString()
const change = (event: string, message: string) => ({
  time: before(3),
  level: 'warn',
  event,
  message,
})

/** Three minutes; the second has a refusal and a failure. */
function history(): Fields {
  const counts = (by: string, name: string) => ({
    ...{
      by,
      name,
      requests: [60, 120, 60],
      client: [0, 0, 0],
      limit: [0, 6, 0],
      upstream: [0, 3, 0],
    },
    ...{
      gateway: [0, 0, 0],
      left: [0, 0, 0],
      input_tokens: [600, 900, 600],
      output_tokens: [60, 90, 60],
    },
    ...{
      cost_nano_usd: [1e7, 2e7, 1e7],
      whole: [[1], [2], [1]],
      first_token: [
        [40, 20],
        [60, 40],
        [50, 10],
      ],
    },
  })
  const last = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS
  return {
    ...{ kept_in: 'redis', step_ms: MINUTE_MS, bounds: [0.5] },
    times: [3, 2, 1].map((minutes) => last - minutes * MINUTE_MS),
    counted_ms: [MINUTE_MS, MINUTE_MS, MINUTE_MS],
    series: [counts('route', 'chat'), counts('tenant', 'acme'), counts('upstream', 'local')],
    events: [{ ...change('breaker', 'The breaker of upstream "local" is open.'), replica: 'gw-0' }],
  }
}

function statusOf(index: number): Fields {
  const breaker = {
    breaker: index === 0 ? 'open' : 'closed',
    breaker_reason: 'reset',
    breaker_seconds_left: 9,
  }
  const endpoint = (address: string, state: string) => ({ address, state, in_flight: 2, queue: 5 })
  return {
    version: '9.9.9',
    state: 'serving',
    config: {
      file: 'pushed',
      hash: index === 0 ? 'aaaaaaaaaaaaaaaa' : 'bbbbbbbbbbbbbbbb',
      routes: 1,
      keys: 1,
      last_reload: {
        result: index === 0 ? 'failure' : 'success',
        at: before(4),
        errors: index === 0 ? ['routes[0]: no'] : [],
      },
    },
    listeners: { clients: 'http://0.0.0.0:8080', metrics: 'http://0.0.0.0:9090', admin: [] },
    requests_in_flight: 1,
    streams_open: 1,
    store: { backend: 'redis', state: 'away', since: before(2) },
    upstreams: [
      {
        ...{
          name: 'local',
          provider: 'vllm',
          eligible: index === 1,
          health: 'healthy',
          in_flight: 4,
          queue: 10,
        },
        ...breaker,
        endpoints: [endpoint('10.0.0.1:80', 'ready'), endpoint('10.0.0.2:80', 'out')],
      },
    ],
    issuers: [{ name: 'sso', issuer: 'https://sso.test', keys: 2, reason: 'timed out' }],
    guardrails: [
      { name: 'pii', endpoint: 'http://pii', stage: 'input', on_error: 'block', breaker: 'closed' },
    ],
    vector_stores: [{ name: 'docs', provider: 'qdrant', endpoint: 'http://docs', breaker: 'open' }],
    classifiers: [{ route: 'chat', upstream: 'local', ready: true, exemplars: 8, embedded: 8 }],
    objectives: [{ route: 'chat', p95_ms: 900, target_ms: 500, breached: true }],
  }
}

function activityOf(seconds: number): Fields {
  const counts = { tokens: seconds * 40, first_tokens: [seconds * 2, 0] }
  return {
    at_ms: seconds * 1000,
    first_token_bounds: [0.5],
    routes: [
      {
        name: 'chat',
        requests: seconds * 2,
        errors: seconds,
        in_flight: 1,
        overflow: { queue: 3 },
        ...counts,
      },
    ],
    upstreams: [
      {
        name: 'local',
        attempts: seconds * 2,
        outcomes: { ok: seconds, reset: seconds },
        ...counts,
      },
    ],
    tenants: [{ name: 'acme', admitted: seconds, refused: seconds, reasons: { rpm: 7 } }],
  }
}

const MODELS = {
  models: [
    {
      name: 'chat',
      kind: 'route',
      route: 'chat',
      strategy: 'single',
      upstreams: [{ name: 'local', eligible: false }],
    },
    { name: 'gpt-4o', kind: 'alias', route: 'chat' },
  ],
}

const KEY = {
  id: 'app',
  tenant: 'acme',
  status: 'ACTIVE',
  prefix: 'gw_live_app',
  routes: ['*'],
  scopes: ['models:invoke'],
}

function limits(): Fields {
  const day = { window: 'day', resets_at: before(-240), reserved: 1 }
  const month = { window: 'month', resets_at: '2999-01-01T00:00:00.000Z', reserved: '0' }
  const tenant = {
    tenant: 'acme',
    requests_per_minute: { window: 'minute', limit: 60, burst: 10, used: 4, remaining: 6 },
    concurrent_requests: { window: 'running', limit: 8, used: 2, remaining: 6 },
    tokens_per_minute: { window: 'minute', limit: 900, used: 300, remaining: 600 },
    tokens_per_day: { ...day, limit: 1000, used: 1000 },
    'group:product spend_per_month_usd': { ...month, limit: '10', used: '9' },
    'key:app tokens_per_day': { ...day, limit: 1000, used: 900 },
  }
  return { total: 1, tenants: [tenant] }
}

function usageBy(by: string): Fields {
  const hour = `${new Date().toISOString().slice(0, 13)}:00:00Z`
  const value =
    { key: 'app', day: hour.slice(0, 10), hour: hour.slice(0, 13), upstream: 'local' }[by] ?? 'acme'
  const amounts = {
    ...{ requests: 12, errors: 1, input_tokens: 34_000, cached_tokens: 5, cache_write_tokens: 0 },
    ...{ output_tokens: 600, reasoning_tokens: 7, cost_nano_usd: 1_234_000_000, estimated: 1 },
  }
  return {
    from: hour,
    to: hour,
    kept_in: 'redis',
    rows: [{ by: { [by]: value }, last: hour, ...amounts }],
  }
}

const ATTEMPT = {
  ...{
    upstream: 'local',
    endpoint: '10.0.0.1:80',
    started_ms: 1,
    ended_ms: 400,
    outcome: 'reset',
    status: 503,
  },
  reason: 'connection reset',
  usage: { input_tokens: 5, output_tokens: 6, cost_nano_usd: 2_000_000, estimated: true },
}
const REQUEST = {
  ...{
    method: 'POST',
    path: '/v1/chat/completions',
    tenant: 'acme',
    key: 'app',
    model: 'gpt-4o',
    route: 'chat',
  },
  ...{
    strategy: 'single',
    upstream: 'local',
    stream: true,
    body_ms: 1,
    duration_ms: 800,
    attempts: [ATTEMPT],
  },
}

function traces(): Fields[] {
  return [
    {
      ...{
        ...REQUEST,
        request_id: 'r-1',
        trace_id: 'abc',
        time: before(1),
        status: 502,
        code: 'ERR_GW_UPSTREAM',
      },
      ...{
        message: 'The upstream broke off.',
        prompt_tokens: 5,
        completion_tokens: 6,
        usage_estimated: true,
      },
      guardrails: [{ name: 'pii', side: 'input', verdict: 'mask', ms: 3, reason: 'a name' }],
      passed_over: [{ upstream: 'far', why: 'breaker open' }],
      retrieval: [{ name: 'docs', store: 'docs', outcome: 'timeout', ms: 9, reason: 'late' }],
      semantic: { side: 'easy', score: 0.2, classifier: 'builtin' },
      context: { prompt: 5, window: 8000, added: 0 },
    },
  ]
}

function running(): Fields {
  return { ...REQUEST, request_id: 'r-2', time: before(1), status: 0, running: true }
}

function rollout(): Fields {
  return {
    ...{ route: 'chat', to: 'local-v2', phase: 'back', share: 0, step: 2, steps: [5, 25, 100] },
    ...{ ran_seconds: 90, every_seconds: 600, requests: 40, requests_needed: 200 },
    compared: [{ measure: 'errors', standing: 'worse', text: '9 % failed, 1 % at the others' }],
    ...{ changed_at: before(6), reason: 'More requests failed than at the others.' },
  }
}

const SHADOW = {
  ...{ route: 'chat', upstream: 'local-v2', percent: 10, tenant: 'acme' },
  copies: { sent: 12, full: 1 },
  differences: { tokens: 3 },
  real: { answers: 12, failed: 0, first_p95_ms: 400 },
  shadow: { answers: 12, failed: 1, first_p95_ms: 900 },
  last: [],
}

const RESOURCE = {
  metadata: { name: 'production', namespace: 'ai', generation: 7 },
  status: {
    replicas: 3,
    programmedReplicas: 1,
    conditions: [
      {
        type: 'Programmed',
        status: 'False',
        reason: 'Rejected',
        message: 'One pod refuses generation 7.',
        lastTransitionTime: before(5),
      },
      {
        type: 'Accepted',
        status: 'True',
        reason: 'Accepted',
        message: '',
        lastTransitionTime: before(90),
      },
    ],
    problems: [
      {
        severity: 'warning',
        path: 'gw.routes[0]',
        message: 'It is slow.',
        fix: 'Add an upstream.',
      },
    ],
    pods: [
      {
        name: 'gw-0',
        ready: true,
        state: 'Rejected',
        generation: 6,
        keysSequence: 3,
        error: 'routes[0]: no',
      },
      { name: 'gw-1', ready: true, state: 'Programmed', generation: 7, keysSequence: 3 },
      { name: 'gw-2', ready: false, state: 'Unreachable', error: 'connection refused' },
    ],
  },
}
