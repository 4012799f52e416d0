/** A Secret that becomes missing or unusable while pods serve: the status names the field, and never a value. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { KeyTable } from '../../dataplane/call/key-entry.ts'
import type { Loaded } from '../../dataplane/config/apart/loaded.ts'
import { stepBack } from '../../dataplane/config/listener-certificate.ts'
import { compile as compileSnapshot } from '../../dataplane/config/snapshot.ts'
import { readConfigurationDocument } from '../../dataplane/delivery/signed-shape.ts'
import { PodConfiguration } from '../../dataplane/pod/pod-configuration.ts'
import { compile } from '../../operator/compile/compile.ts'
import { signConfiguration } from '../../operator/delivery/bundle.ts'
import { readReport } from '../../operator/delivery/pod-reports.ts'
import { Certificates } from '../helpers/certificates.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { aPod, conditionOf, says, statusOf } from './a-status.ts'

const certificates = new Certificates()
const authority = certificates.authority()
const pair = certificates.make({ by: authority })
const other = certificates.make({ by: authority })
const older = certificates.make({ by: authority, from: '190101000000Z', until: '390101000000Z' })
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const { x = '' } = publicKey.export({ format: 'jwk' })

const CANARY = 'canary-4f1b'
const LINES = `${CANARY}\nsecond line`
const UPSTREAM = { name: 'local', provider: 'vllm', endpoint: 'http://10.1.2.3:8000', model: 'm' }
const TLS = { cert: '${secret:s/cert}', key: '${secret:s/key}' }
const VALUE = '${secret:s/value}'

interface Field {
  readonly name: string
  /** As the condition names it. */
  readonly place: string
  readonly gw: Readonly<Record<string, unknown>>
  readonly good: Readonly<Record<string, string>>
  readonly bad: Readonly<Record<string, string>>
}

const issuer = (keyX: string) => ({
  jwt: [
    {
      name: 'idp',
      issuer: 'https://idp.example',
      audiences: ['gw'],
      jwks: { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'k', x: keyX }] },
      tenant: { claim: '/sub' },
    },
  ],
})

const FIELDS: readonly Field[] = [
  {
    name: 'the pair of the listener',
    place: 'gw.gateway.tls.key',
    gw: { gateway: { tls: TLS } },
    good: { cert: pair.cert, key: pair.key },
    bad: { cert: pair.cert, key: other.key },
  },
  {
    name: 'a certificate of the listener that is older than the one in force',
    place: 'gw.gateway.tls.cert',
    gw: { gateway: { tls: TLS } },
    good: { cert: pair.cert, key: pair.key },
    bad: { cert: older.cert, key: older.key },
  },
  {
    name: 'the authorities of clients',
    place: 'gw.gateway.tls.client_ca',
    gw: { gateway: { tls: { ...TLS, client_ca: '${secret:s/ca}' } } },
    good: { cert: pair.cert, key: pair.key, ca: authority.cert },
    bad: { cert: pair.cert, key: pair.key, ca: CANARY },
  },
  {
    name: 'Redis',
    place: 'gw.rate_limits.redis.url',
    gw: { rate_limits: { backend: 'redis', redis: { url: VALUE } } },
    good: { value: 'redis://:pass@redis:6379' },
    bad: { value: `http://${CANARY}` },
  },
  {
    name: 'the header of the alerts webhook',
    place: 'gw.alerts.headers.authorization',
    gw: { alerts: { webhook_url: 'https://hooks.example', headers: { authorization: VALUE } } },
    good: { value: 'Bearer one' },
    bad: { value: LINES },
  },
  {
    name: 'the header of the usage webhook',
    place: 'gw.usage.sinks.webhook.headers.authorization',
    gw: {
      usage: {
        sinks: { webhook: { webhook_url: 'https://u.example', headers: { authorization: VALUE } } },
      },
    },
    good: { value: 'Bearer one' },
    bad: { value: LINES },
  },
  {
    name: 'the header of OTLP',
    place: 'gw.telemetry.otlp_headers.authorization',
    gw: {
      telemetry: { otlp_endpoint: 'http://otel:4318', otlp_headers: { authorization: VALUE } },
    },
    good: { value: 'Bearer one' },
    bad: { value: LINES },
  },
  {
    name: 'a vector store',
    place: 'gw.vector_stores.0.api_key',
    gw: {
      vector_stores: [
        {
          name: 'docs',
          provider: 'qdrant',
          endpoint: 'http://q:6333',
          collection: 'c',
          shared: true,
          api_key: VALUE,
          embedding: { upstream: 'local' },
        },
      ],
    },
    good: { value: 'key' },
    bad: { value: LINES },
  },
  {
    name: 'a guardrail',
    place: 'gw.guardrails.0.headers.authorization',
    gw: {
      guardrails: [{ name: 'words', endpoint: 'http://g', headers: { authorization: VALUE } }],
    },
    good: { value: 'Bearer one' },
    bad: { value: LINES },
  },
  {
    name: 'a key set of an issuer',
    place: 'gw.auth.jwt.0.jwks.keys.0',
    gw: { auth: issuer(VALUE) },
    good: { value: x },
    bad: { value: CANARY },
  },
]

/** A pod whose Secret `s` has these values, which can be changed. */
async function podWith({ gw, good }: Pick<Field, 'gw' | 'good'>) {
  let held: Readonly<Record<string, string>> = good
  let current: Loaded['configuration']
  const gateway = aGateway({ gw: { upstreams: [UPSTREAM], ...gw } })
  const compiled = compile({ gateway, keys: [], now: 0 })
  const { configuration = assert.fail(JSON.stringify(compiled.problems)) } = compiled
  const facts = {
    gateway: { uid: 'uid-1', namespace: 'ai', name: 'production' },
    sequence: 5,
    generation: 3,
  }
  const keys = { privateKey, keyId: 'k', trusted: {} }
  const document = signConfiguration(configuration.payload, facts, keys)
  const pod = new PodConfiguration({
    host: {
      env: { GW_SECRETS_DIR: '/s' },
      readText(path) {
        const text = held[path.slice('/s/s/'.length)]
        if (text === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' })
        return text
      },
      now: () => Date.now(),
    },
    keys: new KeyTable(),
    async activate({ configuration: next, delivered, problems }) {
      if (next === undefined) return problems.map(({ message }) => message)
      compileSnapshot(next, delivered)
      const fault = stepBack(current?.gw.gateway.tls, next.gw.gateway.tls)
      if (fault !== undefined) return [fault]
      current = next
      return []
    },
  })
  const read = readConfigurationDocument(JSON.parse(JSON.parse(document.text).document))
  assert.ok('document' in read)
  const { documentHash } = document
  const answer = await pod.take({ document: read.document, documentHash, origin: 'push' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return {
    async statusWith(next: Readonly<Record<string, string>>) {
      held = next
      await pod.reload()
      const said = JSON.stringify(pod.status())
      const state = aPod('a')
      const report = readReport(JSON.parse(said))
      const status = statusOf({
        gateway,
        documents: { configuration: document },
        pods: [{ ...state, report }],
      })
      return { status, said }
    },
  }
}

for (const field of FIELDS) {
  test(`${field.name}: a Secret that becomes unusable is Degraded with the field, and recovers`, async () => {
    const pod = await podWith(field)
    const { status, said } = await pod.statusWith(field.bad)
    assert.equal(says(status, 'Programmed'), 'True Programmed')
    assert.equal(says(status, 'Degraded'), 'True SecretUnusable')
    const { message } = conditionOf(status, 'Degraded')
    assert.ok(message.includes(`${field.place}: `), message)
    assert.doesNotMatch(message, /maintainers/)
    assert.match(status.pods[0]?.error ?? '', new RegExp(field.place))
    for (const text of [said, JSON.stringify(status)]) assert.ok(!text.includes(CANARY), text)
    const { status: healed } = await pod.statusWith(field.good)
    assert.equal(says(healed, 'Degraded'), 'False AsConfigured')
    assert.equal(says(healed, 'ResolvedRefs'), 'True ResolvedRefs')
  })

  test(`${field.name}: a deleted Secret is a missing reference, and recovers`, async () => {
    const pod = await podWith(field)
    const { status } = await pod.statusWith({})
    assert.equal(says(status, 'ResolvedRefs'), 'False SecretUnresolved')
    assert.match(conditionOf(status, 'ResolvedRefs').message, /Create the Secret s with the key/)
    assert.equal(says(status, 'Degraded'), 'True SecretUnusable')
    const { status: healed } = await pod.statusWith(field.good)
    assert.equal(says(healed, 'ResolvedRefs'), 'True ResolvedRefs')
    assert.equal(says(healed, 'Degraded'), 'False AsConfigured')
  })
}

const CREDENTIAL = { upstreams: [{ ...UPSTREAM, api_key: VALUE }] }
for (const [what, next] of [
  ['deleted', {}],
  ['unusable', { value: LINES }],
] as const) {
  test(`the credential of an upstream: a Secret that is ${what} disables the upstream, and recovers`, async () => {
    const pod = await podWith({ gw: CREDENTIAL, good: { value: 'sk-1' } })
    const { status, said } = await pod.statusWith(next)
    assert.equal(says(status, 'ResolvedRefs'), 'False SecretUnresolved')
    assert.equal(says(status, 'Degraded'), 'True UpstreamsDisabled')
    assert.match(conditionOf(status, 'Degraded').message, /local/)
    for (const text of [said, JSON.stringify(status)]) assert.ok(!text.includes(CANARY), text)
    const { status: healed } = await pod.statusWith({ value: 'sk-2' })
    assert.equal(says(healed, 'Degraded'), 'False AsConfigured')
  })
}
