/** `gw explain` predicts the answer to the next request, and that request confirms it. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import {
  after as afterwards,
  errorOf,
  Front,
  failing,
  type Heard,
  refusingUrl,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { PLENTY } from '../helpers/gateway-process.ts'
import { gw } from '../helpers/gw-here.ts'
import { until } from '../helpers/until.ts'
import { ANSWER_TOKENS, keysOf, startLimited } from './limits/limited-gateway.ts'

const WINDOW = 1000

const [upstream, cheap, broken] = await Promise.all([
  startUpstream(),
  startUpstream(),
  startUpstream(failing(500)),
])
const tenants = ['free', 'rated', 'busy', 'spent', 'thrifty', 'lent', 'tokens']
const keys = keysOf(tenants)
const others = {
  revoked: aKey({ id: 'revoked', tenant: 'free', revoked_at: '2026-01-01T00:00:00Z' }),
  expired: aKey({ id: 'expired', tenant: 'free', expires_at: '2026-01-01T00:00:00Z' }),
  lister: aKey({ id: 'lister', tenant: 'free', scopes: ['models:list'] }),
  elsewhere: aKey({ id: 'elsewhere', tenant: 'free', routes: ['cheap'] }),
}
const up = (name: string, more: object = {}) => ({ name, endpoint: upstream.url, ...more })
const single = (name: string, primary = name) => ({ name, strategy: 'single', primary })
const gateway = await startLimited(
  {
    api_keys: [...keys.records, ...Object.values(others).map(({ record }) => record)],
    upstreams: [
      up('up', { context_window: WINDOW }),
      up('second'),
      up('narrow', { max_queue_depth: 1 }),
      { name: 'cheap', endpoint: cheap.url },
      { name: 'talker', provider: 'anthropic', endpoint: cheap.url },
      {
        name: 'broken',
        endpoint: broken.url,
        circuit_breaker: { failure_threshold: 1, open_duration_seconds: 30 },
      },
      {
        name: 'ill',
        endpoint: await refusingUrl(),
        health_check: {
          path: '/',
          interval_seconds: 1,
          timeout_seconds: 1,
          unhealthy_threshold: 1,
        },
      },
    ],
    routes: [
      single('chat', 'up'),
      single('narrow'),
      single('cheap'),
      single('talker'),
      { name: 'mixed', strategy: 'round_robin', upstreams: ['talker', 'up'] },
      single('broken'),
      single('ill'),
      { name: 'turns', strategy: 'round_robin', upstreams: ['up', 'second', 'cheap'] },
      {
        name: 'shares',
        strategy: 'weighted',
        upstreams: [
          { name: 'up', weight: 50 },
          { name: 'cheap', weight: 50 },
        ],
      },
      { name: 'spare', strategy: 'primary_with_fallback', primary: 'broken', fallback: ['cheap'] },
    ],
    aliases: { 'gpt-4o': 'chat' },
    rate_limits: {
      default: PLENTY,
      tenants: [
        { tenant: 'rated', requests_per_minute: 2, burst: 1 },
        { tenant: 'busy', concurrent_requests: 1 },
        { tenant: 'tokens', tokens_per_minute: 60 },
      ],
    },
    budgets: [
      { tenant: 'spent', tokens_per_day: ANSWER_TOKENS },
      {
        tenant: 'thrifty',
        tokens_per_day: ANSWER_TOKENS,
        on_exceeded: 'downgrade',
        downgrade_route: 'cheap',
      },
      { tenant: 'lent', tokens_per_day: 5000 },
    ],
  },
  keys,
)
after(() => Promise.all([gateway.stop(), upstream.close(), cheap.close(), broken.close()]))
const { process } = gateway.as('free')

interface Case {
  readonly key?: string
  readonly route?: string
  /** Prompt and answer tokens that the tool gets, and the matching members of the request. */
  readonly prompt?: number
  readonly most?: number
  readonly fields?: Readonly<Record<string, unknown>>
}

function keyOf(tenant: string): string {
  return keys.byTenant.get(tenant) ?? ''
}

/**
 * Runs the tool on its source, then sends the request; returns the tool's line, the verdict and the
 * answer.
 */
async function explained(one: Case) {
  const { key = keyOf('free'), route = 'chat', prompt, most, fields } = one
  const size = [
    ...(prompt === undefined ? [] : ['--prompt-tokens', String(prompt)]),
    ...(most === undefined ? [] : ['--max-tokens', String(most)]),
  ]
  const where = ['--admin', process.adminUrl, '--route', route, '--key', key]
  const text = await gw('explain', ...where, ...size)
  const query = new URLSearchParams({ model: route, key_hash: hash('sha256', key) })
  if (prompt !== undefined) query.set('prompt_tokens', String(prompt))
  if (most !== undefined) query.set('max_tokens', String(most))
  const { verdict } = await gateway.as('free').admin(`/explain?${query}`)
  const heard = await new Front(process, key).chat({ model: route, ...fields })
  assert.equal(text.code, heard.status === 200 ? 0 : 1, heard.text)
  const line = text.stdout.split('\n').findLast((one) => one.startsWith('now: ')) ?? ''
  return { verdict, line, heard }
}

/** The verdict equals the result of the next request. */
async function confirmed(one: Case, status: number, code: string) {
  const { verdict, line, heard } = await explained(one)
  assert.deepEqual([verdict.status, verdict.code], [status, code])
  assert.equal(heard.status, status, heard.text)
  assert.equal(errorOf(heard).code, code)
  const retryAfter = heard.headers['retry-after']
  if (retryAfter === undefined) assert.equal(verdict.retry_after_seconds, null)
  // A new second may begin between the two.
  else assert.ok(Math.abs(verdict.retry_after_seconds - Number(retryAfter)) <= 2, `${retryAfter}`)
  assert.match(line, new RegExp(`^now: ${status}( for \\d+ s more)?, ${code}: `))
  return { verdict, line, heard }
}

/** The tool's explanation of an ended request. */
async function treeOf({ headers }: Heard): Promise<string> {
  const id = String(headers['x-request-id'])
  return (await gw('trace', 'get', id, '--admin', process.adminUrl)).stdout
}

async function servedBy(one: Case, name: string) {
  const { verdict, line, heard } = await explained(one)
  assert.equal(heard.status, 200, heard.text)
  assert.equal(heard.headers['x-gw-upstream'], name)
  assert.deepEqual([verdict.status, verdict.code], [200, null])
  assert.ok(verdict.upstreams.includes(name), line)
  assert.match(line, /^now: 200, by upstream /)
  return { verdict, line }
}

/** Holds a request of the tenant at the upstream until it is released. */
async function holding(tenant: string, fields: object, during: () => Promise<unknown>) {
  const { promise: release, resolve } = Promise.withResolvers<void>()
  upstream.script.push(afterwards(release, whole()))
  const before = upstream.asked.length
  const running = gateway.as(tenant).chat({ ...fields })
  await until('the upstream has the request', () => upstream.asked.length > before)
  try {
    await during()
  } finally {
    resolve()
    await running
  }
}

test('a request without obstacles: 200 and its upstream', async () => {
  const { line } = await servedBy({}, 'up')
  assert.equal(line, 'now: 200, by upstream up')
  await servedBy({ route: 'gpt-4o' }, 'up')
})

test('in a rotation it names the next upstream', async () => {
  for (const name of ['up', 'second', 'cheap', 'up']) {
    const { verdict } = await servedBy({ route: 'turns' }, name)
    assert.deepEqual(verdict.upstreams, [name])
  }
})

test('if the choice is random it names all candidates', async () => {
  const { verdict, line } = await explained({ route: 'shares' })
  assert.deepEqual(verdict.upstreams, ['cheap', 'up'])
  assert.equal(line, 'now: 200, by upstream cheap or up')
})

test('an unknown model: 404', async () => {
  const { line } = await confirmed({ route: 'nothing' }, 404, 'ERR_GW_ROUTE_NOT_FOUND')
  assert.match(line, /There is no route "nothing"/)
})

for (const [name, status, code] of [
  ['revoked', 401, 'ERR_GW_AUTH_INVALID_KEY'],
  ['expired', 401, 'ERR_GW_AUTH_INVALID_KEY'],
  ['lister', 403, 'ERR_GW_AUTH_SCOPE_DENIED'],
  ['elsewhere', 403, 'ERR_GW_AUTH_SCOPE_DENIED'],
] as const) {
  test(`an invalid key: ${name}, ${status}`, async () => {
    await confirmed({ key: others[name].key }, status, code)
  })
}

test('an unknown key: 401, also for an unknown model', async () => {
  await confirmed({ key: 'gw_test_nobody_x' }, 401, 'ERR_GW_AUTH_INVALID_KEY')
  await confirmed({ key: 'gw_test_nobody_x', route: 'nothing' }, 401, 'ERR_GW_AUTH_INVALID_KEY')
})

test('a used-up rate: 429, and for how long', async () => {
  assert.equal((await gateway.as('rated').chat()).status, 200)
  const { verdict } = await confirmed({ key: keyOf('rated') }, 429, 'ERR_GW_RATE_LIMIT_LOCAL')
  assert.ok(verdict.retry_after_seconds > 10 && verdict.retry_after_seconds <= 30)
})

test('used-up tokens a minute: 429', async () => {
  upstream.script.push(whole('long', { prompt_tokens: 7, completion_tokens: 600 }))
  assert.equal((await gateway.as('tokens').chat({ max_tokens: 700 })).status, 200)
  const { heard } = await confirmed({ key: keyOf('tokens') }, 429, 'ERR_GW_RATE_LIMIT_LOCAL')
  assert.equal(errorOf(heard).reason, 'tpm')
})

test('no free slot: 429', async () => {
  await holding('busy', {}, async () => {
    const { line } = await confirmed({ key: keyOf('busy') }, 429, 'ERR_GW_RATE_LIMIT_LOCAL')
    assert.match(line, /1 requests are running and 1 may\..* Retry-After 1 s$/)
  })
})

test('a spent budget: 402', async () => {
  assert.equal((await gateway.as('spent').chat()).status, 200)
  const { line, heard } = await confirmed({ key: keyOf('spent') }, 402, 'ERR_GW_BUDGET_EXCEEDED')
  assert.match(line, /The 10 tokens of this day are used/)
  assert.match(
    await treeOf(heard),
    /\n└─ refused 402 ERR_GW_BUDGET_EXCEEDED: The 10 tokens of this/,
  )
})

test('a spent budget with a downgrade: 200 from the upstream of the other route', async () => {
  assert.equal((await gateway.as('thrifty').chat()).status, 200)
  const { verdict, line } = await servedBy({ key: keyOf('thrifty') }, 'cheap')
  assert.equal(verdict.route, 'cheap')
  assert.match(
    line,
    /by upstream cheap on route "cheap", because the budget of tenant "thrifty" is/,
  )
})

test('a budget reserved by running requests: 429', async () => {
  await holding('lent', { max_tokens: 5000, model: 'turns' }, async () => {
    const { heard } = await confirmed({ key: keyOf('lent') }, 429, 'ERR_GW_RATE_LIMIT_LOCAL')
    assert.equal(errorOf(heard).reason, 'budget_reserved')
  })
})

test('a prompt longer than the context window: 400', async () => {
  const messages = [{ role: 'user', content: 'word '.repeat(2 * WINDOW) }]
  const long = { prompt: 2 * WINDOW, fields: { messages } }
  await confirmed(long, 400, 'ERR_GW_CONTEXT_OVERFLOW')
  const asking = { most: WINDOW, fields: { max_tokens: WINDOW } }
  await confirmed(asking, 400, 'ERR_GW_CONTEXT_OVERFLOW')
})

test('a prompt larger than the largest request: 413', async () => {
  const { verdict } = await ask('free', '&prompt_tokens=100000000')
  assert.deepEqual([verdict.status, verdict.code], [413, 'ERR_GW_REQUEST_TOO_LARGE'])
})

test('every breaker is open: 503 until one closes; with a fallback it serves', async () => {
  const failed = await gateway.as('free').chat({ model: 'broken' })
  assert.match(await treeOf(failed), /\n└─ failed 502 ERR_GW_UPSTREAM_ERROR: /)
  const { line } = await confirmed({ route: 'broken' }, 503, 'ERR_GW_NO_HEALTHY_UPSTREAM')
  const [, seconds] = /^now: 503 for (\d+) s more/.exec(line) ?? []
  assert.ok(Number(seconds) > 1 && Number(seconds) <= 30, line)
  await servedBy({ route: 'spare' }, 'cheap')
})

test('an unhealthy upstream: 503', async () => {
  await until('it is', async () => {
    const { upstreams } = await gateway.as('free').admin('/status')
    return upstreams.some(
      ({ name, health }: { name: string; health: string }) =>
        name === 'ill' && health === 'unhealthy',
    )
  })
  await confirmed({ route: 'ill' }, 503, 'ERR_GW_NO_HEALTHY_UPSTREAM')
})

test('a full queue: 503', async () => {
  await holding('free', { model: 'narrow' }, async () => {
    await confirmed({ route: 'narrow' }, 503, 'ERR_GW_QUEUE_SATURATED')
  })
})

test('--json returns the same facts', async () => {
  const asked = ['--admin', process.adminUrl, '--route', 'nothing', '-o', 'json']
  const { code, stdout } = await gw('explain', ...asked)
  assert.equal(code, 1)
  assert.partialDeepStrictEqual(JSON.parse(stdout), {
    verdict: { status: 404, code: 'ERR_GW_ROUTE_NOT_FOUND', retry_after_seconds: null },
  })
})

test('explaining charges nothing and does not advance the rotation', async () => {
  const before = await gateway.as('free').admin('/limits/free')
  for (let asked = 0; asked < 5; asked++) await ask('free')
  const later = await gateway.as('free').admin('/limits/free')
  assert.equal(later.requests_per_minute.used, before.requests_per_minute.used)
  assert.equal(later.concurrent_requests.used, 0)
})

test('a size that is not a number is refused', async () => {
  const { adminUrl, adminHeaders: headers } = process
  const response = await fetch(`${adminUrl}/explain?model=chat&prompt_tokens=many`, { headers })
  assert.equal(response.status, 400)
})

async function ask(tenant: string, more = '') {
  return await gateway.as(tenant).admin(`/explain?model=chat&tenant=${tenant}${more}`)
}

for (const [route, operation, status, says] of [
  ['talker', 'messages', 200, /by upstream talker/],
  ['talker', 'embeddings', 400, /has no upstream for embeddings \(anthropic has none\)/],
  ['talker', 'rerank', 400, /has no upstream for rerank \(anthropic has none\)/],
  ['mixed', 'completions', 200, /by upstream up$/],
  ['mixed', 'responses', 200, /by upstream (talker|up)$/],
] as const) {
  test(`${operation} on a route are explained as ${status}`, async () => {
    const asked = ['--admin', process.adminUrl, '--route', route, '--operation', operation]
    const { code, stdout } = await gw('explain', ...asked, '-o', 'json')
    const { verdict } = JSON.parse(stdout)
    assert.equal(verdict.status, status)
    assert.match(verdict.message, says)
    assert.equal(code, status === 200 ? 0 : 1)
  })
}

test('embeddings of a text that exceeds the window are explained as 400', async () => {
  const query = new URLSearchParams({ model: 'chat', operation: 'embeddings' })
  query.set('prompt_tokens', String(WINDOW * 2))
  const { verdict } = await gateway.as('free').admin(`/explain?${query}`)
  assert.equal(verdict.code, 'ERR_GW_CONTEXT_OVERFLOW')
})

test('an unknown API is refused with the names of the known ones', async () => {
  const refused = await gateway.as('free').admin('/explain?model=chat&operation=painting')
  assert.match(refused.error.message, /chat, responses, messages, completions, embeddings/)
})
