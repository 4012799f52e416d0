/** Resources to documents: what is accepted, the messages about the rest, and whose keys count. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Compiled, compile, showFinding } from '../../operator/compile/compile.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway, aGatewayKey, aHash } from '../helpers/kubernetes/a-gateway.ts'
import {
  LEFT_TO_THE_OPERATOR,
  REFUSED_AT_APPLY,
  withMistake,
} from '../helpers/kubernetes/broken-resources.ts'

const NOW = Date.parse('2026-06-01T00:00:00Z')

function compiled(gateway: KubeObject, keys: readonly KubeObject[] = []): Compiled {
  return compile({ gateway, keys, now: NOW })
}

function errorsOf({ problems }: Compiled): string[] {
  return problems.filter(({ severity }) => severity === 'error').map(showFinding)
}

function verdict(result: Compiled, name: string) {
  const { accepted, reason, state } = result.verdicts.get(name) ?? {}
  return { accepted, reason, state }
}

test('a finding is made of sentences, even with a suggestion', () => {
  const route = { name: 'chat', strategy: 'single', upstreams: ['locl'] }
  const [found] = errorsOf(compiled(aGateway({ gw: { routes: [route] } })))
  assert.match(found ?? '', /did you mean "local"\? Use one of/)
})

test('a reference to a file is refused anywhere, and a malformed one as well', () => {
  const [upstream] = (aGateway().gw as { upstreams: object[] }).upstreams
  const paths = (gw: object) =>
    compiled(aGateway({ gw: { ...gw } }))
      .problems.filter(({ message }) => message.includes('${file:}'))
      .map(({ path }) => path.join('.'))
  const api_key = '${file:/var/run/secrets/gw/others/key}'
  assert.deepEqual(paths({ upstreams: [{ ...upstream, api_key }] }), ['gw.upstreams.0.api_key'])
  const headers = { 'x-key': `Bearer ${api_key}` }
  assert.deepEqual(paths({ upstreams: [{ ...upstream, headers }] }), [
    'gw.upstreams.0.headers.x-key',
  ])
  assert.deepEqual(paths({ no_proxy: ['${file:no_proxy}'] }), ['gw.no_proxy.0'])
  assert.deepEqual(paths({ upstreams: [{ ...upstream, api_key: '${secret:a/file}' }] }), [])
  const odd = compiled(aGateway({ gw: { upstreams: [{ ...upstream, api_key: '${ file:/x}' }] } }))
  assert.equal(odd.configuration, undefined)
})

test('a literal password is refused, in a message that does not repeat it', () => {
  const rate_limits = { backend: 'redis', redis: { url: 'redis://u:hunter2@cache:6379' } }
  const result = compiled(aGateway({ gw: { rate_limits } }))
  assert.equal(result.configuration, undefined)
  const [found, ...others] = errorsOf(result)
  assert.match(
    found ?? '',
    /^gw\.rate_limits\.redis\.url: holds a password.*\$\{secret:NAME\/KEY\}/,
  )
  assert.deepEqual(others, [])
  assert.ok(!JSON.stringify(result.problems).includes('hunter2'))
  assert.equal(result.problems.filter(({ message }) => message.startsWith('holds')).length, 1)
})

test('the payload is the written document, without keys, defaults and foreign metadata', () => {
  const api_keys = [{ id: 'a', tenant: 'acme', hash: aHash('a'), routes: ['*'] }]
  const gateway = aGateway({ gw: { api_keys }, metadata: { labels: { x: 'y' } } })
  const { configuration, keys } = compiled(gateway)
  const { api_keys: _, ...gw } = gateway.gw as { api_keys: unknown }
  assert.deepEqual(configuration?.payload, {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name: 'production', namespace: 'ai' },
    gw,
  })
  assert.deepEqual(keys, [{ ...api_keys[0], scopes: ['models:invoke', 'models:list'] }])
})

test('the hash depends only on the configuration', () => {
  const one = compiled(aGateway())
  const keys = compiled(aGateway(), [aGatewayKey('a')])
  const shape = compiled(aGateway({ spec: { replicas: 7 }, metadata: { generation: 9 } }))
  const other = compiled(aGateway({ gw: { aliases: { x: 'chat' } } }))
  assert.equal(keys.configuration?.hash, one.configuration?.hash)
  assert.equal(shape.configuration?.hash, one.configuration?.hash)
  assert.notEqual(other.configuration?.hash, one.configuration?.hash)
  assert.notEqual(keys.keysHash, one.keysHash)
})

test('references are left for the pods, and show what must be mounted', () => {
  const upstreams = [
    { name: 'a', provider: 'openai', model: 'm', api_key: '${secret:openai/key}' },
    { name: 'b', provider: 'openai', model: 'm', api_key: '${env:OPENAI_KEY}' },
    { name: 'c', provider: 'vllm', model: 'm', endpoint: '${env:VLLM_URL}' },
  ]
  const routes = [{ name: 'chat', strategy: 'round_robin', upstreams: ['a', 'b', 'c'] }]
  const result = compiled(aGateway({ gw: { upstreams, routes } }))
  assert.deepEqual(errorsOf(result), [])
  assert.deepEqual(result.configuration?.needs.secrets, ['openai'])
  assert.deepEqual(result.configuration?.needs.variables, ['OPENAI_KEY', 'VLLM_URL'])
})

const REFUSED: readonly (readonly [
  what: string,
  resource: Parameters<typeof aGateway>[0],
  says: RegExp,
])[] = [
  [
    'a route to nowhere',
    { gw: { routes: [{ name: 'chat', strategy: 'single', upstreams: ['x'] }] } },
    /^gw\.routes\[0\]\.upstreams\[0\].*"x".*local/,
  ],
  ['a file of keys', { gw: { api_keys_file: 'keys.yaml' } }, /^gw\.api_keys_file: a pod has no/],
  [
    'a file for events of usage',
    { gw: { usage: { sinks: { file: { path: '/data/usage.jsonl' } } } } },
    /^gw\.usage\.sinks\.file: a pod keeps no files/,
  ],
  ['a folder for state', { gw: { state_dir: '/data' } }, /^gw\.state_dir: a pod keeps no files/],
  [
    'a listener on loopback',
    { gw: { gateway: { listen_address: '127.0.0.1' } } },
    /^gw\.gateway\.listen_address: 127\.0\.0\.1 can be reached only from inside/,
  ],
  [
    "a listener on the admin API's port",
    { gw: { gateway: { listen_port: 9091 } } },
    /^gw\.gateway\.listen_port: 9091 is the port of the admin API in a pod/,
  ],
  [
    'a listener on the push port',
    { gw: { gateway: { listen_port: 9092 } } },
    /^gw\.gateway\.listen_port: 9092 is the port/,
  ],
  [
    'a privileged port',
    { gw: { gateway: { listen_port: 80 } } },
    /^gw\.gateway\.listen_port: ports below 1024/,
  ],
  [
    'a configuration that exceeds its ConfigMap',
    {
      gw: {
        aliases: Object.fromEntries(
          Array.from({ length: 2000 }, (_, index) => [`${index}-${'x'.repeat(200)}`, 'chat']),
        ),
      },
    },
    /^gw: the configuration takes \d+ bytes/,
  ],
  [
    'a name that no Service can have',
    { metadata: { name: 'with.dots' } },
    /^metadata\.name: "with\.dots" cannot be the name of a Service.*at most 63/,
  ],
  [
    'a name that is too long',
    { metadata: { name: 'x'.repeat(64) } },
    /^metadata\.name: "x{64}" cannot/,
  ],
  [
    'a request above its limit',
    { spec: { resources: { requests: { cpu: '1500m' }, limits: { cpu: 1, memory: '1Gi' } } } },
    /^spec\.resources: a request is above its limit/,
  ],
  [
    'a label that Kubernetes does not take',
    { spec: { podLabels: { 'bad key!': 'x' } } },
    /^spec\.podLabels: has a name that Kubernetes does not accept; write NAME/,
  ],
  [
    'the value of such a label',
    { spec: { nodeSelector: { disk: 'very fast!' } } },
    /^spec\.nodeSelector\.disk: "very fast!" must be at most 63 letters/,
  ],
  [
    'an invalid block of addresses',
    { spec: { networkPolicy: { clients: [{ ipBlock: { cidr: 'nonsense' } }] } } },
    /^spec\.networkPolicy\.clients\[0\]\.ipBlock\.cidr: "nonsense" must be a block of addresses/,
  ],
  ['an image with spaces', { spec: { image: 'a b' } }, /^spec\.image: "a b" must be REGISTRY/],
  ['a shape that cannot be', { spec: { replicas: -1 } }, /^spec\.replicas: /],
  ['a field that is not known', { gw: { nonsense: 1 } }, /^gw\.nonsense: /],
]

for (const [what, resource, says] of REFUSED) {
  test(`${what} is refused with the field and the fix`, () => {
    const result = compiled(aGateway(resource))
    assert.equal(result.configuration, undefined)
    assert.match(errorsOf(result)[0] ?? '', says)
  })
}

test('a name that leaves no room for the Service of the metrics is a warning if there is such a Service', () => {
  const warned = (length: number, spec: object) => {
    const metadata = { name: 'g'.repeat(length) }
    const { problems, configuration } = compiled(aGateway({ metadata, spec: { ...spec } }))
    assert.ok(configuration)
    return problems
      .map(showFinding)
      .find((text) => text.startsWith('metadata.name: leaves no room'))
  }
  const service = { type: 'LoadBalancer' }
  assert.match(warned(56, { service }) ?? '', /g-metrics: no Service.*at most 55 characters/)
  assert.equal(warned(55, { service }), undefined)
  assert.equal(warned(63, {}), undefined)
})

test('tags of keys are sent with them, and an undeclared one is named', () => {
  const tags = { team: 'blue', taem: 'red' }
  const api_keys = [{ id: 'own', tenant: 'acme', hash: aHash('own'), routes: ['*'], tags }]
  const usage = { tags: ['team'] }
  const keys = [aGatewayKey('a', { tags }), aGatewayKey('b', { tags: { team: 'blue' } })]
  const result = compiled(aGateway({ gw: { usage } }), keys)
  assert.deepEqual(
    result.keys.map((key) => key.tags),
    [tags, { team: 'blue' }],
  )
  const [taem, team] = ['a', 'b'].map((name) => result.verdicts.get(`ai/${name}`)?.message)
  assert.match(
    taem ?? '',
    /may call its routes\. usage\.tags of the gateway does not declare "taem", so/,
  )
  assert.equal(team, 'The key may call its routes.')
  const own = compiled(aGateway({ gw: { usage, api_keys } }))
  assert.deepEqual(errorsOf(own).length, 1)
  assert.match(errorsOf(own)[0] ?? '', /^gw\.api_keys\[0\]\.tags\.taem: .* did you mean "team"\?/)
  const odd = compiled(aGateway(), [aGatewayKey('odd', { tags: { team: 'a=b' } })])
  assert.equal(verdict(odd, 'ai/odd').reason, 'InvalidSpec')
  assert.match(odd.verdicts.get('ai/odd')?.message ?? '', /^spec\.tags\.team: must be 1 to 64/)
})

test('keys are valid even if the configuration is wrong', () => {
  const api_keys = [{ id: 'own', tenant: 'acme', hash: aHash('own'), routes: ['*'] }]
  const result = compiled(aGateway({ gw: { api_keys, routes: [] } }), [aGatewayKey('a')])
  assert.equal(result.configuration, undefined)
  assert.deepEqual(
    result.keys.map(({ id }) => id),
    ['own', 'a'],
  )
})

test('a record that became unreadable keeps its earlier version', () => {
  const bad = { id: 'own', tenant: 'acme', hash: 'nonsense', routes: ['*'] }
  const kept = { id: 'own', tenant: 'acme', hash: aHash('own'), routes: ['*'] }
  const gateway = aGateway({ gw: { api_keys: [bad] } })
  assert.deepEqual(compile({ gateway, keys: [], now: NOW, keptKeys: [kept] }).keys, [kept])
  assert.deepEqual(compile({ gateway, keys: [], now: NOW }).keys, [])
})

test('the state of a key is reported', () => {
  const keys = [
    aGatewayKey('active', { expiresAt: '2027-01-01T00:00:00Z' }),
    aGatewayKey('expired', { expiresAt: '2026-01-01T00:00:00Z' }),
    aGatewayKey('revoked', { revoked: { at: '2026-02-01T00:00:00Z', reason: 'lost' } }),
    aGatewayKey('rotated', { rotatedTo: 'active' }),
  ]
  const result = compiled(aGateway(), keys)
  const states = keys.map(({ metadata }) => verdict(result, `ai/${metadata.name}`).state)
  assert.deepEqual(states, ['ACTIVE', 'EXPIRED', 'REVOKED', 'ROTATED'])
  assert.equal(result.keys.find(({ id }) => id === 'revoked')?.reason, 'lost')
})

test('a key of another namespace is valid only for tenants that the gateway permits', () => {
  const from = [{ namespaces: ['team-a'], tenants: ['acme'] }]
  const foreign = { namespace: 'team-a' }
  const gateway = 'ai/production'
  const keys = [
    aGatewayKey('yes', { gateway }, foreign),
    aGatewayKey('tenant', { gateway, tenant: 'rival' }, foreign),
    aGatewayKey('namespace', { gateway }, { namespace: 'team-b' }),
  ]
  const result = compiled(aGateway({ spec: { keys: { from } } }), keys)
  assert.deepEqual(
    result.keys.map(({ id }) => id),
    ['team-a/yes'],
  )
  assert.equal(verdict(result, 'team-a/tenant').reason, 'NotPermitted')
  assert.equal(verdict(result, 'team-b/namespace').reason, 'NotPermitted')
  assert.deepEqual(compiled(aGateway(), keys).keys, [])
})

test('the older record of a hash wins, and stays revoked', () => {
  const hash = aHash('same')
  const older = aGatewayKey(
    'z-older',
    { hash, revoked: { at: '2026-02-01T00:00:00Z' } },
    { creationTimestamp: '2025-01-01T00:00:00Z' },
  )
  const younger = aGatewayKey('a-younger', { hash })
  const result = compiled(aGateway(), [younger, older])
  assert.deepEqual(
    result.keys.map(({ id }) => id),
    ['z-older'],
  )
  assert.equal(verdict(result, 'ai/a-younger').reason, 'DuplicateHash')
})

test('a key for a missing route is valid, and names it', () => {
  const key = aGatewayKey('early', { routes: ['chat', 'later'] })
  const messageOf = (gw: object) =>
    compiled(aGateway({ gw: { ...gw } }), [key]).verdicts.get('ai/early')?.message ?? ''
  assert.match(messageOf({}), /no route "later"\. Correct spec\.routes/)
  const route = (name: string) => ({ name, strategy: 'single', upstreams: ['local'] })
  assert.match(messageOf({ routes: [route('chat'), route('later')] }), /may call its routes/)
  assert.equal(compiled(aGateway(), [key]).keys.length, 1)
})

test('a key that no client could use is not valid, and does not affect others', () => {
  const result = compiled(aGateway(), [aGatewayKey('bad', { hash: 'sha256:zz' }), aGatewayKey('a')])
  assert.equal(verdict(result, 'ai/bad').reason, 'InvalidSpec')
  assert.match(result.verdicts.get('ai/bad')?.message ?? '', /^spec\.hash: /)
  assert.equal(result.keys.length, 1)
})

/** The API server keeps no other field, so the operator never sees one. */
const KEPT = /^(gw|spec)\b/

for (const mistake of [...LEFT_TO_THE_OPERATOR, ...REFUSED_AT_APPLY]) {
  if (!KEPT.test(mistake.at)) continue
  test(`a mutated resource is refused with a field and a fix: ${mistake.name}`, () => {
    // In the API server's form: a tree, however wrong.
    const mutated = withMistake('production', mistake) as unknown as KubeObject
    const metadata = { name: 'production', namespace: 'ai', uid: 'u', generation: 1 }
    const result = compiled({ ...mutated, metadata })
    assert.equal(result.configuration, undefined)
    for (const problem of result.problems) {
      assert.notEqual(problem.path.length, 0)
      assert.notEqual(problem.fix, '')
    }
  })
}

test('a tenant whose keys are GatewayKeys has keys; one without any is reported', () => {
  const api_keys = [{ id: 'a', tenant: 'acme', hash: aHash('a'), routes: ['*'] }]
  const budgets = [{ tenant: 'research', tokens_per_day: 5 }]
  const gateway = aGateway({ gw: { api_keys, budgets } })
  const toldOf = (keys: readonly KubeObject[]) =>
    compiled(gateway, keys).problems.filter(({ message }) => message.includes('no key belongs'))
  assert.equal(toldOf([]).length, 1)
  assert.deepEqual(toldOf([aGatewayKey('r', { tenant: 'research' })]), [])
})
