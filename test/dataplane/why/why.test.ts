/** Planted incidents: the first sentence names the cause. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FactRequest, IncidentFacts } from '../../../dataplane/why/facts.ts'
import { reasonsIn } from '../../../dataplane/why/why.ts'
import { attempt, condition, edited, event, every, facts, out, request, T0 } from './incidents.ts'

const fine = every([0, 30], (at) => request(at))
const before = every([0, 10], (at) => request(at))

function failing(status: number, code: string, more: Partial<FactRequest> = {}) {
  return every([10, 30], (at) => request(at, { status, code, ...more }))
}

/** A pod's report about the objective of the route chat. */
function slo(at: number, type: string, what: string) {
  return event(at, 'slo', `Route "chat" ${what}.`, { route: 'chat', type })
}

const UNHEALTHY = {
  message: 'Every upstream of the route is unavailable.',
  attempts: [],
}

interface Planted {
  readonly what: string
  readonly facts: Partial<IncidentFacts>
  readonly names: RegExp
  readonly not?: RegExp
}

const INCIDENTS: readonly Planted[] = [
  {
    what: 'a wrong key of a provider',
    facts: {
      requests: [
        ...before,
        ...failing(503, 'ERR_GW_UPSTREAM_ERROR', {
          attempts: [
            attempt('hosted', 'credential', { status: 401, reason: 'Incorrect API key.' }),
          ],
        }),
      ],
    },
    names:
      /^Since 14:10:00 chat answers 503 for all requests: upstream hosted refuses the gateway's credential \(401 Incorrect API key\)/,
  },
  {
    what: 'a wrong key of a provider, after the breaker has opened',
    facts: {
      requests: [
        ...before,
        request(599, {
          status: 503,
          code: 'ERR_GW_UPSTREAM_ERROR',
          attempts: [attempt('hosted', 'credential', { status: 401 })],
        }),
        ...failing(503, 'ERR_GW_NO_HEALTHY_UPSTREAM', UNHEALTHY),
      ],
      upstreams: out('hosted', 'breaker open'),
    },
    names:
      /: upstream hosted refuses the gateway's credential \(401\), and it gets no requests \(breaker open\)/,
  },
  {
    what: 'the quota of a provider',
    facts: {
      requests: [
        ...before,
        ...failing(429, 'ERR_GW_UPSTREAM_RATE_LIMIT', {
          attempts: [
            attempt('hosted', 'quota', { status: 429, reason: 'You exceeded your current quota.' }),
          ],
        }),
      ],
    },
    names: /: the quota of upstream hosted is used up \(429 You exceeded your current quota\)/,
  },
  {
    what: 'one slow replica',
    facts: {
      requests: every([0, 30], (at, index) =>
        request(at, {
          attempts: [
            attempt('llama', 'ok', {
              endpoint: `10.0.0.${index % 3}:8000`,
              endedMs: index % 3 === 1 ? 9000 : 400,
            }),
          ],
        }),
      ),
    },
    names:
      /: replica 10\.0\.0\.1:8000 of upstream llama is slow: its median answer takes 8998 ms, 398 ms or less at the other 2/,
  },
  {
    what: 'Redis short of CPU, which goes away again and again',
    facts: {
      requests: [
        ...before,
        ...failing(503, 'ERR_GW_LIMITER_UNAVAILABLE', {
          message: 'Limits cannot be checked now.',
          attempts: [],
        }),
      ],
      stores: [{ pod: 'gw-a', backend: 'redis', state: 'up' }],
      events: [10, 14, 19].flatMap((minute) => [
        event(minute, 'store', 'The shared store is away.', { state: 'away', reason: 'timeout' }),
        event(minute + 1, 'store', 'The shared store answers.', { state: 'up' }),
      ]),
    },
    names:
      /: Redis went away 3 times in 20 minutes \(timeout\): it answers too late, so look at its CPU/,
  },
  {
    what: 'Redis short of CPU, which still answers',
    facts: {
      requests: every([0, 30], (at) =>
        request(at, { attempts: [attempt('llama', 'ok', { startedMs: 240, endedMs: 400 })] }),
      ),
      stores: [{ pod: 'gw-a', backend: 'redis', state: 'up' }],
    },
    names: /: Redis answers slowly: requests wait 240 ms in the gateway before their first attempt/,
  },
  {
    what: 'the budget of a group',
    facts: {
      requests: [
        ...before,
        ...failing(402, 'ERR_GW_BUDGET_EXCEEDED', {
          message: 'The monthly spend budget of group "research" is used up. Wait until it resets.',
          attempts: [],
        }),
      ],
      events: [
        event(9.9, 'budget_exhausted', 'Requests of tenant "acme" are refused.', {
          tenant: 'acme',
        }),
      ],
    },
    names:
      /402 for all requests: a budget of tenant acme is used up \(The monthly spend budget of group "research" is used up\)/,
  },
  {
    what: 'an expired client key',
    facts: {
      requests: [
        ...before,
        ...failing(401, 'ERR_GW_AUTH_INVALID_KEY', {
          tenant: undefined,
          route: 'none',
          message: 'key laptop has expired',
          attempts: [],
        }),
      ],
      events: [
        event(10, 'key', 'The key "laptop" has expired.', { key: 'laptop', state: 'expired' }),
      ],
    },
    names: /^Since 14:10:00 the gateway answers 401 for all requests: key laptop has expired/,
  },
  {
    what: 'an alias that shadows a route',
    facts: {
      requests: [
        ...every([0, 10], (at) => request(at, { model: 'gpt-4o', route: 'large' })),
        ...every([10, 30], (at) =>
          request(at, {
            model: 'gpt-4o',
            route: 'small',
            status: 400,
            code: 'ERR_GW_CONTEXT_OVERFLOW',
            message: 'The prompt has 40000 tokens; the context window is 8192.',
            attempts: [],
          }),
        ),
      ],
      aliases: { 'gpt-4o': 'small' },
      events: [edited(9.9)],
    },
    names:
      /[:;] the name gpt-4o is an alias of route small now, and led to route large before since 14:09:54/,
  },
  {
    what: 'a policy that stops a Secret',
    facts: {
      events: [
        event(
          10,
          'cluster',
          'admission webhook "policy.acme" denied the request: Secret hosted-key lacks the label owner.',
        ),
      ],
      conditions: [
        condition(
          'ResolvedRefs',
          'False',
          'SecretUnresolved',
          'upstream hosted: ${secret:hosted-key/key} (no such file). Create the Secret.',
        ),
      ],
    },
    names:
      /Secret.*Kubernetes refuses an object \(admission webhook "policy\.acme" denied the request: Secret hosted-key lacks the label owner\)/,
  },
  {
    what: 'a policy that stops a Secret, beside what follows from it',
    facts: {
      events: [
        event(9, 'cluster', 'ValidatingAdmissionPolicy denied request: it lacks the label owner'),
      ],
      conditions: [
        condition('ResolvedRefs', 'False', 'SecretUnresolved', 'upstream hosted: no such file.'),
        condition(
          'Degraded',
          'True',
          'UpstreamsDisabled',
          'These upstreams get no requests: hosted. See ResolvedRefs.',
        ),
      ],
      upstreams: out('hosted', 'reference unresolved: no such file', [2, 2]),
    },
    names:
      /: upstream hosted: no such file \(ResolvedRefs=False, SecretUnresolved\) since 14:10:00; Kubernetes refuses an object \([^;]*lacks the label owner\) since 14:09:00; nothing was edited/,
  },
  {
    what: 'a container that ends again and again',
    facts: {
      events: [9, 10].map((at) => ({
        ...event(at, 'cluster', 'Back-off restarting failed container gateway in pod gw-b'),
        fields: { reason: 'BackOff', object: 'gw-b' },
      })),
    },
    names:
      /: gw-b starts again and again \(Back-off restarting failed container gateway in pod gw-b\) since 14:09:00/,
  },
  {
    what: 'a quota that stops one pod after another',
    facts: {
      events: ['a', 'b', 'c'].map((name, index) =>
        event(9 + index, 'cluster', `pods "gw-${name}" is forbidden: exceeded quota: tight`),
      ),
    },
    names:
      /: Kubernetes refuses an object \(pods "gw-c" is forbidden: exceeded quota: tight\) since 14:09:00; nothing was edited/,
  },
  {
    what: 'a roll that hangs',
    facts: {
      conditions: [
        condition(
          'WorkloadAvailable',
          'False',
          'RolloutInProgress',
          '2 of 3 pods are available, 1 are up to date. Pod gw-c finds no node.',
        ),
      ],
    },
    names:
      /: 2 of 3 pods are available, 1 are up to date; Pod gw-c finds no node \(WorkloadAvailable=False, RolloutInProgress\)/,
  },
  {
    what: 'streams that begin too late in one of two pods',
    facts: {
      events: [
        event(2, 'config_reload', 'The configuration was taken.', { result: 'success' }),
        { ...slo(3, 'ttft_slo_breach', 'misses its objective of 900 ms over 300 s'), pod: 'gw-a' },
        { ...slo(4, 'ttft_slo_breach', 'misses its objective of 900 ms over 300 s'), pod: 'gw-b' },
        { ...slo(9, 'ttft_slo_recovery', 'meets its objective again'), pod: 'gw-a' },
      ],
    },
    names: /: Route "chat" misses its objective of 900 ms over 300 s since 14:04:00;/,
  },
  {
    what: 'no objective that was missed before an edit',
    facts: {
      events: [
        slo(3, 'ttft_slo_breach', 'misses its objective of 900 ms over 300 s'),
        event(4, 'config_reload', 'The configuration was taken.', { result: 'success' }),
      ],
    },
    names: /; no cause of trouble is known;/,
  },
  {
    what: 'a certificate that ends soon, although it is still valid',
    facts: {
      conditions: [
        condition(
          'CertificateValid',
          'True',
          'ExpiresSoon',
          'The certificate for models.example expires on 2026-11-30. Renew it in its Secret.',
        ),
      ],
    },
    names:
      /: The certificate for models\.example expires on 2026-11-30 \(CertificateValid=True, ExpiresSoon\)/,
  },
  {
    what: 'clock skew',
    facts: {
      clocks: [
        { pod: 'gw-b', aheadMs: -420_000 },
        { pod: 'gw-a', aheadMs: 40 },
      ],
    },
    names:
      /: the clock of gw-b is 7 minutes behind, which ends tokens, keys and windows at the wrong time/,
  },
  {
    what: 'the clock of the machine that asks',
    facts: {
      clocks: [
        { pod: 'gw-b', aheadMs: -420_000 },
        { pod: 'gw-a', aheadMs: -420_040 },
      ],
    },
    names: /: the clock of the machine that runs this command is 7 minutes ahead, compared with/,
  },
  {
    what: 'a release that the pods got before',
    facts: {
      requests: [...before, ...failing(500, 'ERR_GW_UNKNOWN', { attempts: [] })],
      events: [
        event(1, 'roll', 'The pods are made with gw:1.5.0 (gw-1).', { to: 'gw:1.5.0' }),
        event(9, 'release', 'The pods get release gw:1.6.0 instead of gw:1.5.0 (gw-2).', {
          to: 'gw:1.6.0',
        }),
      ],
    },
    names: /: The pods get release gw:1\.6\.0 instead of gw:1\.5\.0 \(gw-2\) since 14:09:00/,
  },
  {
    what: 'a release that was started before, on one machine',
    facts: {
      requests: [...before, ...failing(500, 'ERR_GW_UNKNOWN', { attempts: [] })],
      events: [
        event(1, 'start', 'gw 1.5.0 serves.', { version: '1.5.0' }),
        event(9, 'start', 'gw 1.6.0 serves.', { version: '1.6.0' }),
      ],
    },
    names: /: gw-a runs release 1\.6\.0 instead of 1\.5\.0 since 14:09:00/,
  },
  {
    what: 'an absent operator, although no condition can tell it',
    facts: {
      conditions: [
        condition(
          'Observed',
          'False',
          'OperatorAway',
          'No operator has read generation 5 of the GatewayConfig; the pods enforce generation 4 or an older one.',
        ),
      ],
    },
    names:
      /: No operator has read generation 5 of the GatewayConfig; the pods enforce generation 4 or an older one since 14:10:00/,
  },
  {
    what: 'an upstream that refuses connections, in some pods',
    facts: {
      requests: [
        ...before,
        ...every([10, 30], (at, index) =>
          index % 3 === 0
            ? request(at, {
                status: 503,
                code: 'ERR_GW_NO_HEALTHY_UPSTREAM',
                ...UNHEALTHY,
                attempts: [attempt('llama', 'connect', { reason: 'connect refused' })],
              })
            : request(at),
        ),
      ],
      upstreams: out('llama', 'unhealthy', [2, 3]),
      events: [
        event(10, 'health', 'Upstream "llama" is unhealthy.', {
          upstream: 'llama',
          to: 'unhealthy',
        }),
      ],
    },
    names:
      /^Since 14:10:00 chat answers 503 for 3\d % of requests: upstream llama cannot be reached \(connect refused\), and it gets no requests in 2 of 3 pods \(unhealthy\)/,
  },
  {
    what: 'an edit that names a wrong model',
    facts: {
      requests: [
        ...before,
        ...failing(502, 'ERR_GW_UPSTREAM_ERROR', {
          attempts: [
            attempt('llama', 'missing', { status: 404, reason: 'model llama-4 not found' }),
          ],
        }),
      ],
      events: [edited(9.8)],
    },
    names:
      /: upstream llama does not know the model or the path \(404 model llama-4 not found\); the configuration was edited 12 seconds before/,
  },
  {
    what: 'a configuration that was refused',
    facts: {
      events: [
        event(12, 'config_reload', 'The new configuration was refused; the old one stays.', {
          result: 'failure',
          reason: 'gw.routes[0].primary: unknown upstream "hosteed"\n    fix: Write one of these.',
        }),
      ],
    },
    names:
      /: the newest configuration was refused \(gw\.routes\[0\]\.primary: unknown upstream "hosteed"\), and the one before is in force since 14:12:00/,
  },
  {
    what: 'a tenant above its rate',
    facts: {
      requests: [
        ...fine,
        ...every([10, 30], (at) =>
          request(at, {
            tenant: 'batch',
            status: 429,
            code: 'ERR_GW_RATE_LIMIT_LOCAL',
            message: '60 requests a minute are allowed. Try again in 3 s.',
            attempts: [],
          }),
        ),
      ],
    },
    names:
      /requests of tenant batch: tenant batch is above a limit \(60 requests a minute are allowed\)/,
  },
  {
    what: 'upstreams that are full',
    facts: {
      requests: [
        ...before,
        ...failing(503, 'ERR_GW_QUEUE_SATURATED', {
          message: 'All upstreams are at their max_queue_depth.',
          attempts: [],
        }),
      ],
    },
    names: /: the upstreams of chat are full \(All upstreams are at their max_queue_depth\)/,
  },
  {
    what: 'a guardrail service that is away',
    facts: {
      requests: [
        ...before,
        ...failing(503, 'ERR_GW_AUXILIARY_UNAVAILABLE', {
          message: 'The guardrail "pii" does not answer.',
          attempts: [],
        }),
      ],
    },
    names:
      /: a service that the route needs does not answer \(The guardrail "pii" does not answer\)/,
  },
  {
    what: 'a pod that starts again and again',
    facts: { events: [11, 13, 16, 21].map((at) => event(at, 'start', 'gw serves.', {}, 'gw-c')) },
    names: /: gw-c started 4 times in 10 minutes/,
  },
  {
    what: 'a silent upstream',
    facts: {
      requests: [
        ...before,
        ...failing(504, 'ERR_GW_PROXY_TIMEOUT', {
          attempts: [attempt('llama', 'timeout', { reason: 'no byte for 60 s' })],
        }),
      ],
    },
    names: /504 for all requests: .*upstream llama sends no answer in time \(no byte for 60 s\)/,
  },
  {
    what: 'pods of an upstream that are gone',
    facts: {
      requests: [...before, ...failing(503, 'ERR_GW_NO_HEALTHY_UPSTREAM', UNHEALTHY)],
      upstreams: out('llama', 'no endpoint', [3, 3]),
    },
    names: /: upstream llama is out in 3 of 3 pods \(no endpoint\)/,
  },
  {
    what: 'a client that asks for a wrong name',
    facts: {
      requests: [
        ...before,
        ...failing(404, 'ERR_GW_ROUTE_NOT_FOUND', {
          route: 'none',
          model: 'gpt-5',
          message: 'There is no model "gpt-5". Use "chat".',
          attempts: [],
        }),
      ],
    },
    names: /: tenant acme asks for a name that leads nowhere \(There is no model "gpt-5"\)/,
  },
]

for (const { what, facts: planted, names } of INCIDENTS) {
  test(`the first sentence names ${what}`, () => {
    const [first = ''] = reasonsIn(facts(planted)).sentences
    assert.match(first, names)
    assert.ok(first.length < 1200, `${first.length} characters`)
  })
}

test('nothing that failed is said to have failed', () => {
  const { sentences } = reasonsIn(facts())
  assert.deepEqual(sentences, [
    'No request failed since 14:00:00 (60 are remembered); no cause of trouble is known; nothing was edited for 30 minutes.',
  ])
})

test('an outage comes before refusals by limits, although these are more', () => {
  const requests = [
    ...every([10, 30], (at) =>
      request(at, { status: 429, code: 'ERR_GW_RATE_LIMIT_LOCAL', attempts: [] }),
    ),
    ...every([25, 27], (at) =>
      request(at, {
        status: 503,
        code: 'ERR_GW_NO_HEALTHY_UPSTREAM',
        attempts: [attempt('llama', 'connect')],
      }),
    ),
  ]
  const { sentences } = reasonsIn(facts({ requests }))
  assert.match(sentences[0] ?? '', /503/)
  assert.match(sentences[1] ?? '', /429/)
})

test('a minute that began before the span adds no failures to it', () => {
  const since = T0 + 30_000
  const minute = { at: T0, requests: 100, client: 0, limit: 0, upstream: 50, gateway: 0 }
  const flows = [{ by: 'route', name: 'chat', minutes: [minute] }] as const
  const [first = ''] = reasonsIn(
    facts({ since, flows, requests: every([1, 2], (at) => request(at)) }),
  ).sentences
  assert.match(first, /^No request failed since 14:00:30/)
})

test('an edit in the minute of the first failures is named, although the history knows only the minute', () => {
  const requests = every([11, 12], (at) =>
    request(at, { status: 503, code: 'ERR_GW_NO_HEALTHY_UPSTREAM', ...UNHEALTHY }),
  )
  const minute = { at: T0 + 600_000, requests: 100, client: 0, limit: 0, upstream: 50, gateway: 0 }
  const flows = [{ by: 'route', name: 'chat', minutes: [minute] }] as const
  const [first = ''] = reasonsIn(facts({ requests, flows, events: [edited(10.8)] })).sentences
  assert.match(first, /14:10:00 .*the configuration was edited in that minute/)
})

test('failures of a route are not explained by a slow replica of another route', () => {
  const spread = every([0, 30], (at, index) =>
    request(at, {
      route: 'spread',
      attempts: [
        attempt('shared', 'ok', {
          endpoint: `10.0.0.${index % 2}:8000`,
          endedMs: index % 2 === 1 ? 9000 : 400,
        }),
      ],
    }),
  )
  const broken = failing(502, 'ERR_GW_UPSTREAM_ERROR', {
    attempts: [attempt('llama', 'server', { status: 500, reason: 'CUDA out of memory.' })],
  })
  const [first = ''] = reasonsIn(facts({ requests: [...before, ...broken, ...spread] })).sentences
  assert.match(first, /: upstream llama answers with errors \(500 CUDA out of memory\)/)
  assert.doesNotMatch(first, /slow/)
})

test('a question about one route or tenant leaves the others out', () => {
  const requests = [
    ...every([10, 30], (at) =>
      request(at, { status: 503, code: 'ERR_GW_NO_HEALTHY_UPSTREAM', attempts: [] }),
    ),
    ...every([10, 30], (at) => request(at, { route: 'embed', model: 'embed' })),
  ]
  const { sentences } = reasonsIn(facts({ requests, asked: { route: 'embed' } }))
  assert.match(sentences[0] ?? '', /^No request of embed failed/)
})

test('one request is explained by itself', () => {
  const refused = request(700, {
    status: 402,
    code: 'ERR_GW_BUDGET_EXCEEDED',
    message: 'The daily token budget of tenant "acme" is used up. Wait.',
    attempts: [],
  })
  const requests = [...fine, refused]
  const { sentences } = reasonsIn(facts({ requests, asked: { request: refused.id } }))
  assert.match(
    sentences[0] ?? '',
    /^Request r-\d+ of tenant acme got 402 ERR_GW_BUDGET_EXCEEDED at 14:11:40: a budget/,
  )
  const absent = reasonsIn(facts({ requests, asked: { request: 'gone' } }))
  assert.match(absent.sentences[0] ?? '', /^No gateway remembers request gone/)
})

test('the history tells the beginning and the share when old requests are forgotten', () => {
  const requests = every([28, 30], (at) =>
    request(at, {
      status: 503,
      code: 'ERR_GW_NO_HEALTHY_UPSTREAM',
      attempts: [attempt('llama', 'connect')],
    }),
  )
  const minutes = Array.from({ length: 30 }, (_, minute) => ({
    at: T0 + minute * 60_000,
    requests: 100,
    client: 0,
    limit: 0,
    upstream: minute < 12 ? 0 : 38,
    gateway: 0,
  }))
  const flows = [{ by: 'route', name: 'chat', minutes }] as const
  const [first = ''] = reasonsIn(facts({ requests, flows })).sentences
  assert.match(first, /^Since 14:12:00 chat answers 503 for 38 % of requests/)
})

test('the timeline is bounded and has the newest first', () => {
  const events = Array.from({ length: 500 }, (_, at) =>
    event(at / 20, 'health', `${at}`, { upstream: 'llama' }),
  )
  const { timeline } = reasonsIn(facts({ events }))
  assert.equal(timeline.length, 100)
  assert.equal(timeline[0]?.message, '499')
})

test('an incident of last night is explained by the history, although the gateways started since', () => {
  const minutes = Array.from({ length: 30 }, (_, minute) => ({
    at: T0 + minute * 60_000,
    requests: 50,
    client: 0,
    limit: 0,
    upstream: minute >= 5 && minute < 9 ? 25 : 0,
    gateway: 0,
  }))
  const flows = [{ by: 'route', name: 'chat', minutes }] as const
  const events = [
    event(5, 'breaker', 'The breaker of "llama" is open.', { upstream: 'llama', to: 'open' }),
    event(20, 'start', 'gw serves.', {}),
  ]
  const [first = ''] = reasonsIn(facts({ requests: [], flows, events })).sentences
  assert.match(
    first,
    /^From 14:05:00 to 14:08:00 upstreams or the gateway failed 50 % of requests to chat: upstream llama opened its breaker/,
  )
})

test('two kinds of failures by one fault share what the history counts, by those that are remembered', () => {
  const minutes = Array.from({ length: 30 }, (_, minute) => ({
    at: T0 + minute * 60_000,
    requests: 100,
    client: 40,
    limit: 0,
    upstream: 0,
    gateway: 0,
  }))
  const mixed = every([10, 30], (at, index) =>
    index % 4 === 0
      ? request(at, { status: 400, code: 'ERR_GW_INVALID_REQUEST' })
      : request(at, { status: 403, code: 'ERR_GW_AUTH_SCOPE_DENIED' }),
  )
  const flows = [{ by: 'route', name: 'chat', minutes }] as const
  const { sentences } = reasonsIn(facts({ requests: mixed, flows }))
  assert.match(sentences[0] ?? '', /chat answers 403 for 31 % of requests/)
  assert.match(sentences[1] ?? '', /chat answers 400 for 11 % of requests/)
})
