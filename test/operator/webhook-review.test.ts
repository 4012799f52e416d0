/** The admission webhook's answer to one review. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditOf } from '../../operator/admission/audit.ts'
import { type ClusterView, judgeQuestion } from '../../operator/admission/judge.ts'
import { answerOf, readReview } from '../../operator/admission/review.ts'
import { compile } from '../../operator/compile/compile.ts'
import type { KubeObject } from '../../operator/kube/objects.ts'
import { aGateway, aGatewayKey, aHash } from '../helpers/kubernetes/a-gateway.ts'

const NOTHING: ClusterView = {
  now: Date.UTC(2026, 0, 1),
  gateway: () => undefined,
  keysOf: () => [],
  policiesOf: () => [],
}

function aReview(request: object) {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'review-1',
      kind: { group: 'inference.gw', version: 'v1', kind: 'GatewayConfig' },
      operation: 'CREATE',
      ...request,
    },
  }
}

async function judged(
  object: KubeObject,
  { before, known = NOTHING }: { before?: KubeObject; known?: ClusterView } = {},
) {
  const kind = String(object.kind)
  const question = { uid: 'review-1', kind, isDryRun: false, object, before }
  const verdict = await judgeQuestion(question, known)
  // The answer is JSON, as the API server gets it.
  const answer = answerOf(question, verdict, auditOf(question, verdict))
  const { response } = JSON.parse(JSON.stringify(answer))
  return { ...verdict, response }
}

const bad = aGateway({ gw: { aliases: { a: 'nowhere', b: 'nowhere' } } })

test('every error is a cause with its field, and a line of the message with path and fix', async () => {
  const { response, errors } = await judged(bad)
  const { problems } = compile({ gateway: bad, keys: [], now: NOTHING.now })
  assert.deepEqual(
    errors,
    problems.filter(({ severity }) => severity === 'error'),
  )
  assert.equal(response.uid, 'review-1')
  assert.equal(response.allowed, false)
  assert.equal(response.status.code, 422)
  assert.equal(response.status.reason, 'Invalid')
  const lines = response.status.message.split('\n')
  assert.match(lines[0], /^gw\.aliases\.a: unknown route "nowhere"\. .+/)
  const { details } = response.status
  assert.deepEqual(
    [details.group, details.kind, details.name],
    ['inference.gw', 'GatewayConfig', 'production'],
  )
  assert.deepEqual(
    details.causes.map(({ field }: { field: string }) => field),
    ['gw.aliases.a', 'gw.aliases.b'],
  )
})

test('accepted edits get warnings', async () => {
  const { response, errors, warnings } = await judged(aGateway())
  assert.deepEqual(errors, [])
  assert.equal(response.allowed, true)
  assert.ok(
    warnings.some((warning) => warning.startsWith('gw.api_keys: ')),
    warnings.join('\n'),
  )
  assert.deepEqual(
    response.warnings,
    warnings.map((warning) => warning.slice(0, 256)),
  )
  const known = { ...NOTHING, keysOf: () => [aGatewayKey('one')] }
  assert.ok(!(await judged(aGateway(), { known })).warnings.join().includes('gw.api_keys'))
})

test('a mistake that was already stored causes a warning, and a new one a refusal', async () => {
  const mended = aGateway({ gw: { aliases: { a: 'nowhere' } } })
  const still = await judged(mended, { before: bad })
  assert.equal(still.response.allowed, true)
  assert.ok(still.warnings.some((warning) => warning.startsWith('gw.aliases.a: ')))
  const worse = await judged(bad, { before: mended })
  assert.deepEqual(
    worse.errors.map(({ path }) => path),
    [['gw', 'aliases', 'b']],
  )
})

test('a paused gateway applies nothing, so nothing is refused', async () => {
  const paused = await judged({ ...bad, spec: { paused: true } })
  assert.equal(paused.response.allowed, true)
  assert.ok(paused.warnings.some((warning) => warning.startsWith('gw.aliases.b: ')))
})

test('references to objects that may come later are accepted: a Secret, an environment variable', async () => {
  const upstreams = [
    { name: 'local', provider: 'openai', model: 'm', api_key: '${secret:nowhere/key}' },
  ]
  const gateway = aGateway({ gw: { upstreams, http_proxy: '${env:NOT_THERE}' } })
  assert.equal((await judged(gateway)).response.allowed, true)
})

test('a key is refused only for its own mistakes, with field names of a GatewayKey', async () => {
  const key = aGatewayKey('one', { hash: 'md5:1', expiresAt: 'soon', revoked: { at: 'now' } })
  const { errors, response } = await judged(key)
  assert.deepEqual(
    errors.map(({ path }) => path.join('.')),
    ['spec.hash', 'spec.expiresAt', 'spec.revoked.at'],
  )
  assert.equal(response.status.details.kind, 'GatewayKey')
})

test('a key that waits for something, or has no effect, gets a warning', async () => {
  const gateway = aGateway({
    gw: { api_keys: [{ id: 'own', tenant: 't', hash: aHash('own'), routes: ['*'] }] },
  })
  const older = aGatewayKey('older')
  const known = { ...NOTHING, gateway: () => gateway, keysOf: () => [older] }
  const warningsOf = async (key: KubeObject, of: ClusterView = known) => {
    const { errors, warnings } = await judged(key, { known: of })
    assert.deepEqual(errors, [])
    return warnings.join()
  }
  const young = { creationTimestamp: '2026-02-01T00:00:00Z' }
  assert.equal(await warningsOf(aGatewayKey('new')), '')
  assert.match(await warningsOf(aGatewayKey('new'), NOTHING), /^spec\.gateway: .+ yet\. /)
  assert.match(
    await warningsOf(aGatewayKey('new', { hash: aHash('older') }, young)),
    /An older record/,
  )
  assert.match(await warningsOf(aGatewayKey('new', { hash: aHash('own') })), /An older record/)
  assert.match(await warningsOf(aGatewayKey('new', { routes: ['x'] })), /has no route "x"/)
  const undeclared = aGatewayKey('new', { tags: { team: 'blue' } })
  assert.match(await warningsOf(undeclared), /does not declare "team"/)
  // The record itself, as it is edited.
  assert.equal(await warningsOf(aGatewayKey('older', { tenant: 'other' })), '')
})

test('a client without a grant gets the same message whether the gateway exists or not', async () => {
  const foreign = aGatewayKey('new', { gateway: 'ai/production' }, { namespace: 'team-a' })
  const there = { ...NOTHING, gateway: () => aGateway() }
  assert.deepEqual(
    (await judged(foreign, { known: there })).warnings,
    (await judged(foreign)).warnings,
  )
  assert.match((await judged(foreign)).warnings.join(), /No gateway of that name accepts this key/)
})

test('status, deletions, terminating objects, and edits that keep the body are not checked', () => {
  const going = aGateway({
    gw: { aliases: { a: 'b' } },
    metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
  })
  const labelled = { ...bad, metadata: { ...bad.metadata, labels: { a: 'b' } }, status: {} }
  for (const request of [
    { operation: 'UPDATE', object: labelled, oldObject: bad },
    { operation: 'UPDATE', object: going, oldObject: bad },
    { operation: 'UPDATE', object: bad, oldObject: aGateway(), subResource: 'status' },
    { operation: 'DELETE', oldObject: bad, object: null },
    { operation: 'CONNECT', object: bad },
  ]) {
    assert.deepEqual(readReview(aReview(request)), {
      is: 'nothing',
      uid: 'review-1',
      kind: 'GatewayConfig',
    })
  }
  assert.equal(readReview(aReview({ object: bad, oldObject: null })).is, 'question')
  assert.equal(
    readReview(aReview({ operation: 'UPDATE', object: bad, oldObject: aGateway() })).is,
    'question',
  )
})

test('an invalid review, or one of another kind, gets an error message', () => {
  const says = (body: unknown) => {
    const read = readReview(body)
    return read.is === 'malformed' ? read.message : read.is
  }
  for (const body of [
    null,
    7,
    [],
    {},
    { request: {} },
    { ...aReview({}), apiVersion: 'admission.k8s.io/v1beta1' },
  ]) {
    assert.match(says(body), /must be an AdmissionReview of admission\.k8s\.io\/v1/)
  }
  const pod = { group: '', version: 'v1', kind: 'Pod' }
  assert.match(
    says(aReview({ kind: pod, object: bad })),
    /only GatewayConfig, GatewayKey, TenantPolicy/,
  )
  assert.match(says(aReview({ object: { metadata: {} } })), /object with a name/)
})

test('answers are bounded, regardless of the number of faults', async () => {
  const aliases = Object.fromEntries(
    Array.from({ length: 900 }, (_, index) => [`a${index}`, `r${'x'.repeat(200)}${index}`]),
  )
  const { response } = await judged(aGateway({ gw: { aliases } }))
  assert.equal(response.status.details.causes.length, 50)
  assert.match(response.status.message, /\nand 850 more$/)
  assert.ok(JSON.stringify(response).length < 120_000)
  const question = { uid: 'u', kind: 'GatewayConfig', isDryRun: false, object: bad, before: bad }
  const many = { errors: [], warnings: Array<string>(99).fill('w'.repeat(999)) }
  const { response: allowed } = JSON.parse(JSON.stringify(answerOf(question, many, {})))
  assert.equal(allowed.warnings.length, 20)
  assert.ok(allowed.warnings.every((warning: string) => warning.length <= 256))
})

test('a large object is checked in a thread, and others get answers meanwhile', async () => {
  const aliases = Object.fromEntries(
    Array.from({ length: 4000 }, (_, index) => [`alias-${index}`, 'nowhere']),
  )
  const large = judged(aGateway({ gw: { aliases } }))
  const small = judged(bad)
  const first = await Promise.race([large.then(() => 'large'), small.then(() => 'small')])
  assert.equal(first, 'small')
  const { errors, response } = await large
  assert.ok(errors.length > 0)
  assert.equal(response.allowed, false)
})

function aPolicy(name: string, spec: object = {}, more: object = {}): KubeObject {
  return {
    kind: 'TenantPolicy',
    metadata: { name, namespace: 'team-a', ...more },
    spec: { gateway: 'ai/production', tenant: 'research', ...spec },
  }
}

const ceiling = { requests_per_minute: 300 }
const from = [{ namespaces: ['team-a'], tenants: ['research'], ceiling }]
const GRANTED = { ...NOTHING, gateway: () => aGateway({ spec: { tenants: { from } } }) }
const older = aPolicy('older', {}, { creationTimestamp: '2025-01-01T00:00:00Z' })
const downgraded = { tokens_per_day: 5, on_exceeded: 'downgrade', downgrade_route: 'nowhere' }

const POLICIES: readonly (readonly [string, KubeObject, ClusterView, RegExp | undefined])[] = [
  ['fits', aPolicy('a', { limits: { requests_per_minute: 300 } }), GRANTED, undefined],
  [
    'asks for more than the ceiling',
    aPolicy('a', { limits: { requests_per_minute: 900 } }),
    GRANTED,
    /requests_per_minute 900 is above the ceiling and is replaced by 300/,
  ],
  ['is not granted', aPolicy('a', { tenant: 'other' }), GRANTED, /No gateway of that name accepts/],
  ['has no gateway', aPolicy('a'), NOTHING, /No gateway of that name accepts/],
  [
    'comes second',
    aPolicy('a'),
    { ...GRANTED, policiesOf: () => [older] },
    /TenantPolicy older is older and applies/,
  ],
  [
    'names an unknown route',
    aPolicy('a', { budget: downgraded }),
    GRANTED,
    /spec\.budget\.downgrade_route: unknown route "nowhere"/,
  ],
]

for (const [what, policy, known, warning] of POLICIES) {
  test(`a policy that ${what} is accepted${warning ? ' with a warning' : ''}`, async () => {
    const { response } = await judged(policy, { known })
    assert.equal(response.allowed, true)
    if (warning === undefined) assert.equal(response.warnings, undefined)
    else assert.match(String(response.warnings ?? ''), warning)
  })
}

test('a policy that contradicts itself is refused with its field', async () => {
  const { response } = await judged(aPolicy('a', { budget: { tokens_per_day: -1 } }))
  assert.equal(response.status.code, 422)
  assert.match(response.status.message, /^spec\.budget\.tokens_per_day: .+\. Correct the field/)
})
