/** A payload by a pod's rules: unknown fields are skipped, and a bad reference disables one upstream. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyTable } from '../../../dataplane/call/key-entry.ts'
import { pointerOf } from '../../../dataplane/config/judgement/pointer.ts'
import { compile } from '../../../dataplane/config/snapshot.ts'
import { loadPayload } from '../../../dataplane/delivery/payload.ts'
import { hashOf } from '../../../dataplane/delivery/signed.ts'

type Fields = Readonly<Record<string, unknown>>

const FILES: Readonly<Record<string, string>> = {
  '/s/there/key': 'sk-there\n',
  '/s/two/lines': 'a\nb',
  '/s/redis/url': 'redis://shared:6379',
}

function aHost(env: Readonly<Record<string, string>> = {}) {
  return {
    env: { GW_SECRETS_DIR: '/s', ...env },
    readText(path: string): string {
      const text = FILES[path]
      if (text === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' })
      return text
    },
    now: () => Date.parse('2026-01-01T00:00:00Z'),
  }
}

function aPayload(gw: Fields = {}, upstream: Fields = {}): Record<string, unknown> {
  return {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    metadata: { name: 'production', namespace: 'ai' },
    gw: {
      upstreams: [
        { name: 'one', provider: 'vllm', endpoint: 'http://one:8000', model: 'm', ...upstream },
      ],
      routes: [{ name: 'chat', strategy: 'single', primary: 'one' }],
      ...gw,
    },
  }
}

function load(payload: Record<string, unknown>, env = {}) {
  return loadPayload(payload, { name: 'configuration 1', host: aHost(env), keys: new KeyTable() })
}

test('a valid payload has a configuration, its hash, and the files that it refers to', () => {
  const payload = aPayload({}, { api_key: '${secret:there/key}' })
  const { loaded, hash, problems, ignored, unresolved, files } = load(payload)
  assert.deepEqual({ problems, ignored, unresolved }, { problems: [], ignored: [], unresolved: [] })
  assert.equal(hash, hashOf(payload))
  assert.deepEqual(files, ['/s/there/key'])
  assert.ok(loaded.configuration)
  const snapshot = compile(loaded.configuration, loaded.delivered)
  assert.equal(snapshot.hash, hash)
  assert.equal(snapshot.upstreams.get('one')?.credential, 'sk-there')
  assert.equal(snapshot.upstreams.get('one')?.disabled, undefined)
})

test('a reference to a file is not read in a pod, and disables its upstream', () => {
  const { loaded, unresolved, files, problems } = load(
    aPayload({}, { api_key: '${file:/s/there/key}' }),
  )
  assert.deepEqual(problems, [])
  assert.deepEqual(files, [])
  assert.equal(unresolved[0]?.upstream, 'one')
  assert.match(unresolved[0]?.why ?? '', /reads no file by its path; write \$\{secret:NAME\/KEY\}/)
  assert.ok(loaded.configuration)
  const snapshot = compile(loaded.configuration, loaded.delivered)
  assert.notEqual(snapshot.upstreams.get('one')?.disabled, undefined)
  assert.ok(!JSON.stringify(snapshot.upstreams.get('one')).includes('sk-there'))
})

test('a reference to a file in another section refuses the document', () => {
  const loadedWith = (url: string) =>
    load(aPayload({ rate_limits: { backend: 'redis', redis: { url } } })).problems
  assert.deepEqual(loadedWith('${secret:redis/url}'), [])
  const [problem] = loadedWith('${file:/s/redis/url}')
  assert.equal(problem?.pointer, '/gw/rate_limits/redis/url')
  assert.match(problem.message, /a pod reads no file by its path/)
})

test('gateways with one Redis count separately, unless configured otherwise', () => {
  const prefixOf = (more: Fields) => {
    const redis = { url: 'redis://shared:6379', ...more }
    const payload = aPayload({ rate_limits: { backend: 'redis', redis } })
    const { loaded, hash } = load(payload)
    assert.equal(hash, hashOf(payload))
    return loaded.configuration?.gw.rate_limits?.redis?.key_prefix
  }
  assert.equal(prefixOf({}), 'gw:ai/production')
  assert.equal(prefixOf({ key_prefix: 'company' }), 'company')
})

test('loading does not change the payload', () => {
  const payload = aPayload({ unknown: 1, api_keys: [] }, { api_key: '${secret:gone/key}' })
  const before = structuredClone(payload)
  const { configuration } = load(payload).loaded
  assert.deepEqual(load(payload).loaded.configuration, configuration)
  assert.deepEqual(payload, before)
})

test('unknown fields are skipped at any place, and reported as they were written', () => {
  const gw = {
    new_section: {},
    'odd/na~me': 1,
    routes: [
      { name: 'chat', strategy: 'single', primary: 'one', retry: { max_attempts: 1, x: 1 } },
    ],
    gateway: { sse: { heartbeat_seconds: 5, y: { z: 1 } } },
    pricing: [{ model: 'm', input: 1, output: 1, later: true }],
  }
  const { problems, ignored } = load(aPayload(gw, { health_check: { probe: 1 } }))
  assert.deepEqual(problems, [])
  assert.deepEqual(ignored.toSorted(), [
    '/gw/gateway/sse/y',
    '/gw/new_section',
    '/gw/odd~1na~0me',
    '/gw/pricing/0/later',
    '/gw/routes/0/retry/x',
    '/gw/upstreams/0/health_check/probe',
  ])
})

const outs: Readonly<Record<string, [Fields, string, RegExp]>> = {
  'a secret that is not there': [{ api_key: '${secret:gone/key}' }, '/api_key', /ENOENT/],
  'a secret of two lines': [{ api_key: '${secret:two/lines}' }, '/api_key', /line break/],
  'a variable that is not set': [{ endpoint: '${env:NOWHERE}' }, '/endpoint', /not set/],
  'a variable that is no address': [{ endpoint: '${env:WORDS}' }, '/endpoint', /absolute URL/],
  'a header that leads nowhere': [
    { headers: { 'x-a/b': '${env:NOWHERE}' } },
    '/headers/x-a~1b',
    /not set/,
  ],
  'a file of certificates that is not there': [
    { endpoint: 'https://one', tls: { ca_bundle_path: '/ca.pem' } },
    '/tls/ca_bundle_path',
    /ENOENT/,
  ],
}

for (const [what, [upstream, below, why]] of Object.entries(outs)) {
  test(`${what} disables only the upstream`, () => {
    const { loaded, problems, unresolved } = load(aPayload({}, upstream), { WORDS: 'some words' })
    assert.deepEqual(problems, [])
    const [only, ...others] = unresolved
    assert.deepEqual(others, [])
    assert.equal(only?.upstream, 'one')
    assert.equal(only?.pointer, `/gw/upstreams/0${below}`)
    assert.match(only?.why ?? '', why)
    assert.ok(loaded.configuration)
    const { disabled } = compile(loaded.configuration, loaded.delivered).upstreams.get('one') ?? {}
    assert.match(disabled ?? '', why)
  })
}

test('a mistake in an upstream that no reference caused refuses the payload', () => {
  for (const upstream of [
    { endpoint: 'nowhere' },
    { api_key: 'sk-literal' },
    { name: '${env:N}' },
  ]) {
    const { loaded, problems } = load(aPayload({}, upstream))
    assert.equal(loaded.configuration, undefined)
    assert.ok(problems.length > 0)
    for (const { pointer, message, fix } of problems) {
      assert.match(pointer, /^\/gw\//)
      assert.ok(message && fix)
      assert.ok(!message.includes('sk-literal'))
    }
  }
})

test('keys in a payload are ignored, and so are files beside it', () => {
  const gw = { api_keys: 'not even a list', api_keys_file: 'keys.yaml', state_dir: '/data' }
  const { loaded, problems, ignored } = load(aPayload(gw))
  assert.deepEqual(problems, [])
  assert.deepEqual(ignored, ['/gw/api_keys_file', '/gw/state_dir'])
  assert.deepEqual(loaded.configuration?.gw.api_keys, [])
  assert.equal(loaded.configuration?.gw.state_dir, undefined)
})

test('a payload of another version, or no payload, is refused with a pointer', () => {
  assert.equal(
    load({ ...aPayload(), apiVersion: 'inference.gw/v9' }).problems[0]?.pointer,
    '/apiVersion',
  )
  assert.ok(
    load({ apiVersion: 'inference.gw/v1', kind: 'GatewayConfig', gw: {} }).problems.length > 0,
  )
  assert.ok(load({ gw: [] }).problems.length > 0)
})

test('members with names of the language change nothing', () => {
  const payload = JSON.parse(
    JSON.stringify(aPayload()).replace(
      '"gw":{',
      '"gw":{"__proto__":{"polluted":1},"constructor":{},',
    ),
  )
  const { loaded } = load(payload)
  assert.equal(({} as Fields).polluted, undefined)
  assert.equal((loaded.configuration?.gw as Fields | undefined)?.polluted, undefined)
})

test('a pointer escapes names that would read as two', () => {
  assert.equal(pointerOf(['gw', 'a/b', 0, '~']), '/gw/a~1b/0/~0')
  assert.equal(pointerOf([]), '')
})
