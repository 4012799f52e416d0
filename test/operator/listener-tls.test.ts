/** A gateway that serves TLS: its Service, the probes of its pods, its address, and the condition of its certificate. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkloadSpec } from '../../crds/workload.ts'
import { valueBelow } from '../../dataplane/json/values.ts'
import { compile } from '../../operator/compile/compile.ts'
import { childrenOf } from '../../operator/workload/children.ts'
import { aGateway } from '../helpers/kubernetes/a-gateway.ts'
import { aPod, NOW, statusOf } from './a-status.ts'

const PAIR = { cert: '${secret:listener/tls.crt}', key: '${secret:listener/tls.key}' }
const CLIENTS = { client_ca: '${secret:listener/ca.crt}' }
const withTls = (tls: object, spec = {}) => aGateway({ gw: { gateway: { tls } }, spec })

function childOf(gateway: ReturnType<typeof aGateway>, kind: string) {
  const { configuration, problems } = compile({ gateway, keys: [], now: 0 })
  assert.ok(configuration, JSON.stringify(problems))
  const settings = {
    gateway,
    spec: WorkloadSpec.parse(gateway.spec),
    needs: configuration.needs,
    drainSeconds: 60,
    release: { image: 'gw:1', version: '1', operatorNamespace: 'gw-system' },
    platform: { hasHttpRoutes: true, assignsUsers: false },
  }
  const found = childrenOf(settings, {}, undefined).find(({ desired }) => desired?.kind === kind)
  return found?.desired
}

function probesOf(gateway: ReturnType<typeof aGateway>) {
  const path = ['spec', 'template', 'spec', 'containers', 0] as const
  const container = valueBelow(childOf(gateway, 'Deployment'), ...path)
  return ['startupProbe', 'readinessProbe', 'livenessProbe'].map((name) => {
    const { port, scheme } = valueBelow(container, name, 'httpGet') as Record<string, string>
    return [port, scheme]
  })
}

test('the Service has port 443, named https, and clients get an https address', () => {
  const service = childOf(withTls(PAIR), 'Service')
  const https = {
    name: 'https',
    port: 443,
    targetPort: 'https',
    protocol: 'TCP',
    appProtocol: 'https',
  }
  assert.deepEqual(valueBelow(service, 'spec', 'ports', 0), https)
  const { address } = statusOf({ gateway: withTls(PAIR), service: service ?? undefined })
  assert.equal(address, 'https://production.ai.svc')
  const own = childOf(withTls(PAIR, { service: { port: 8443 } }), 'Service')
  assert.equal(valueBelow(own, 'spec', 'ports', 0, 'port'), 8443)
  assert.equal(valueBelow(childOf(aGateway(), 'Service'), 'spec', 'ports', 0, 'port'), 80)
})

test('probes use TLS, and another port if clients must send certificates', () => {
  const all = (port: string, scheme?: string) => [1, 2, 3].map(() => [port, scheme])
  assert.deepEqual(probesOf(aGateway()), all('http'))
  assert.deepEqual(probesOf(withTls(PAIR)), all('https', 'HTTPS'))
  assert.deepEqual(probesOf(withTls({ ...PAIR, ...CLIENTS })), all('push'))
  const asked = withTls({ ...PAIR, ...CLIENTS, client_auth: 'request' })
  assert.deepEqual(probesOf(asked), all('https', 'HTTPS'))
})

test('the pods mount the Secret of the key pair', () => {
  const volumes = valueBelow(
    childOf(withTls(PAIR), 'Deployment'),
    'spec',
    'template',
    'spec',
    'volumes',
  )
  assert.match(JSON.stringify(volumes), /"secretName":"listener"/)
})

function problemsOf(gateway: ReturnType<typeof aGateway>, severity: string) {
  const { problems } = compile({ gateway, keys: [], now: 0 })
  return problems
    .filter((problem) => problem.severity === severity && problem.path[2] === 'tls')
    .map(({ path, message }) => `${path.slice(3).join('.')} ${message}`)
}

test('a key pair written in the resource, and an authority without effect, are refused', () => {
  const refused = (tls: object) =>
    problemsOf(withTls(tls), 'error').map((text) => text.split(' ')[0])
  assert.deepEqual(refused(PAIR), [])
  assert.deepEqual(refused({ ...PAIR, key: 'A KEY' }), ['key'])
  assert.deepEqual(refused({ ...PAIR, client_auth: 'require' }), ['client_auth'])
  assert.deepEqual(refused({ ...PAIR, ...CLIENTS, client_auth: 'none' }), ['client_ca'])
})

test('a route of the Gateway API to a listener with TLS gets a warning', () => {
  const gateway = withTls(PAIR, { route: { parentRefs: [{ name: 'front' }] } })
  assert.match(problemsOf(gateway, 'warning').join(), /BackendTLSPolicy/)
  assert.deepEqual(problemsOf(withTls(PAIR), 'warning'), [])
})

const day = (days: number) => new Date(Date.parse(NOW) + days * 86_400_000).toISOString()
const shows = (from: number, until: number) => ({
  certificate: { name: 'models.example', notBefore: day(from), notAfter: day(until) },
})

function judged(...reports: object[]) {
  const pods = reports.map((report, index) =>
    aPod(`pod-${index}`, { state: 'acknowledged' }, report),
  )
  const { conditions } = statusOf({ gateway: withTls(PAIR), pods })
  const by = new Map(conditions.map((condition) => [condition.type, condition]))
  const { status, reason, message } = by.get('CertificateValid') ?? assert.fail()
  return { said: `${status} ${reason}`, message, ready: by.get('Ready')?.reason }
}

test('a condition shows when the certificate expires', () => {
  assert.equal(judged(shows(-1, 89)).said, 'True Valid')
  assert.match(judged(shows(-1, 89)).message, /for models\.example is valid until 2026-08-29T00/)
  assert.equal(judged(shows(-80, 6)).said, 'True ExpiresSoon')
  assert.equal(judged(shows(-1, 1)).said, 'True Valid')
  assert.deepEqual(
    [judged(shows(-90, -1)).said, judged(shows(-90, -1)).ready],
    ['False Expired', 'Expired'],
  )
  assert.equal(judged(shows(1, 90)).said, 'False NotYetValid')
  assert.equal(judged({}).said, 'Unknown Pending')
})

test('while a renewed Secret reaches the pods, the certificate that expires first counts', () => {
  assert.match(judged(shows(-1, 89), shows(-80, 3)).message, /expires on 2026-06-04/)
})

test('a gateway without TLS has no such condition', () => {
  assert.equal(
    statusOf().conditions.some(({ type }) => type === 'CertificateValid'),
    false,
  )
})

test('an image of a release without TLS is refused, and an image with an unknown release is not', () => {
  const refusedOf = (image: string, hasTls = true) => {
    const gateway = hasTls ? withTls(PAIR, { image }) : aGateway({ spec: { image } })
    const { problems } = compile({ gateway, keys: [], now: 0 })
    return problems.filter(({ severity }) => severity === 'error').map(({ path }) => path.join('.'))
  }
  const older = [
    'gw:1.4.0',
    'r:5000/gw:v1.3.2',
    'gw:0.9.0-rc.1',
    `gw:1.4.0@sha256:${'a'.repeat(64)}`,
  ]
  for (const image of older) assert.deepEqual(refusedOf(image), ['spec.image'], image)
  const others = ['gw:1.5.0', 'gw:2.0.0', 'gw:main', 'r:5000/gw', `gw@sha256:${'1'.repeat(64)}`]
  for (const image of others) assert.deepEqual(refusedOf(image), [], image)
  assert.deepEqual(refusedOf('gw:1.4.0', false), [])
})
