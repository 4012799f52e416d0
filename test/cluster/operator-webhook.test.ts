/** The admission webhook behind a real API server: what it refuses, what it lets through, and how it changes its certificates. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { LEFT_TO_THE_OPERATOR, withMistake } from '../helpers/kubernetes/broken-resources.ts'
import { refusalOf } from '../helpers/kubernetes/kubectl.ts'
import { answers, until } from '../helpers/until.ts'
import { type AuditEvent, auditEvents } from './audit-log.ts'
import { recordFigure } from './figures.ts'
import { aGateway, aGatewayKey, type OperatorRig, startOperatorRig } from './operator-rig.ts'
import { configurationOf, webhookPortIn } from './webhook-configuration.ts'

const NAME = 'gw-system-gw'
const HASH = `sha256:${'c'.repeat(64)}`

let rig: OperatorRig

/** A gateway with three mistakes, each of a kind that the API server cannot see. */
const bad = aGateway({
  gw: {
    routes: [{ name: 'chat', strategy: 'single', upstreams: ['lokal'] }],
    aliases: { 'gpt-4o': 'chatt' },
    http_proxy: '${PROXY}',
  },
})
const MISTAKES = [
  /gw\.routes\[0\]\.upstreams\[0\]: .+[.?] .+/,
  /gw\.aliases\.gpt-4o: .+[.?] .+/,
  /gw\.http_proxy/,
]

before(async () => {
  rig = await startOperatorRig({
    args: [
      ...['--webhook-port', '0', '--webhook-host', '127.0.0.1'],
      ...['--webhook-configuration', NAME],
    ],
  })
  // Stored while no webhook is asked.
  await rig.apply({ ...bad, metadata: { ...bad.metadata, name: 'old' } })
  await apply(await configurationOf(NAME, webhookPortIn(rig.operator.output()), 'Fail'))
  await untilJudged()
})

after(() => rig?.stop())

async function apply(...documents: readonly object[]): Promise<string> {
  const stdin = documents.map((one) => JSON.stringify(one)).join('\n---\n')
  const args = ['apply', '--server-side', '--force-conflicts', '--warnings-as-errors', '-f', '-']
  return await rig.cluster.kubectl(args, { stdin })
}

/** The API server follows a change of the webhook's configuration a moment later. */
async function untilJudged(): Promise<void> {
  const probe = ['apply', '--server-side', '--dry-run=server', '-f', '-']
  const stdin = JSON.stringify(bad)
  await until(
    'the webhook judges',
    async () => {
      const said = await rig.cluster.kubectl(probe, { stdin }).catch(String)
      return said.includes('gw.http_proxy')
    },
    120,
  )
}

/** The annotations of the last edit of this object that the webhook judged, without the name of the webhook. */
async function auditOf(name: string): Promise<Record<string, string> | undefined> {
  const own = 'validate.inference.gw/'
  const events = await auditEvents(rig.cluster.folder)
  const all = events.filter(({ objectRef }) => objectRef.name === name).map(annotationsOf)
  return all.findLast((annotations) => Object.keys(annotations).length > 0)

  function annotationsOf({ annotations = {} }: AuditEvent): Record<string, string> {
    const ours = Object.entries(annotations).filter(([key]) => key.startsWith(own))
    return Object.fromEntries(ours.map(([key, value]) => [key.slice(own.length), value]))
  }
}

async function namesOf(kind: string, namespace = 'ai'): Promise<string[]> {
  const text = await rig.cluster.kubectl(['get', kind, '-n', namespace, '-o', 'name'])
  return text.split('\n').filter((line) => line !== '')
}

const edit = (name: string, patch: object) =>
  rig.cluster.kubectl([
    'patch',
    'gwc',
    name,
    '-n',
    'ai',
    '--type=merge',
    '-p',
    JSON.stringify(patch),
  ])

for (const flags of [['--server-side'], []]) {
  test(`kubectl apply ${flags.join()} prints every mistake with its path and what to do`, async () => {
    const stdin = JSON.stringify(bad)
    const said = await refusalOf(rig.cluster.kubectl(['apply', ...flags, '-f', '-'], { stdin }))
    for (const mistake of MISTAKES) assert.match(said, mistake)
  })
}

test(`${LEFT_TO_THE_OPERATOR.length} mistakes that only the operator finds are refused at apply, and not stored`, async () => {
  for (const mistake of LEFT_TO_THE_OPERATOR) {
    const document = withMistake('mistaken', mistake)
    const said = await refusalOf(
      apply({ ...document, metadata: { name: 'mistaken', namespace: 'ai' } }),
    )
    assert.match(said, /\b(gw|spec)\.[a-z_]+.*: .+[.?] [A-Z].+/, mistake.name)
  }
  assert.deepEqual(await namesOf('gwc'), ['gatewayconfig.inference.gw/old'])
  const count = LEFT_TO_THE_OPERATOR.length
  recordFigure('admission', `${count} of ${count}`)
})

test('a name that the API server makes up is judged as one that was given', async () => {
  const metadata = { generateName: 'made-', namespace: 'ai' }
  const stdin = JSON.stringify({ ...bad, metadata })
  const said = await refusalOf(rig.cluster.kubectl(['create', '-f', '-'], { stdin }))
  assert.match(said, /gw\.http_proxy/)
})

test('a TenantPolicy above the ceiling is stored with a warning that says the number', async () => {
  const ceiling = { requests_per_minute: 300 }
  const from = [{ namespaces: ['team-a'], tenants: ['research'], ceiling }]
  const metadata = { ...bad.metadata, name: 'shared' }
  await rig.apply({ ...aGateway({ spec: { tenants: { from } } }), metadata })
  const policy = {
    apiVersion: 'inference.gw/v1alpha1',
    kind: 'TenantPolicy',
    metadata: { name: 'research', namespace: 'team-a' },
    spec: { gateway: 'ai/shared', tenant: 'research', limits: { requests_per_minute: 600 } },
  }
  const said = await refusalOf(apply(policy))
  assert.match(said, /requests_per_minute 600 is above the ceiling and is replaced by 300/)
  assert.match(
    await refusalOf(apply({ ...policy, metadata: bad.metadata })),
    /No gateway of that name/,
  )
  await rig.cluster.kubectl(['delete', 'gwc', 'shared', '-n', 'ai'])
  await rig.cluster.kubectl(['delete', 'gwt', '--all', '-A'])
})

test('the audit log of the API server says the tenant, what was decided, and how a budget changed', async () => {
  const policyWith = (usd: number, more: object = {}) => ({
    apiVersion: 'inference.gw/v1alpha1',
    kind: 'TenantPolicy',
    metadata: { name: 'audited', namespace: 'team-a' },
    spec: {
      gateway: 'ai/shared',
      tenant: 'research',
      budget: { usd_per_month: usd, on_exceeded: 'reject', ...more },
    },
  })
  await rig.apply(policyWith(300))
  await rig.apply(policyWith(400))
  assert.deepEqual(await auditOf('audited'), {
    decision: 'allowed',
    warnings: '1',
    gateway: 'ai/shared',
    tenant: 'research',
    changes: 'spec.budget.usd_per_month: 300 -> 400',
  })
  await edit('old', { gw: { budgets: [{ tenant: 'acme', tokens_per_day: 5 }] } })
  assert.deepEqual(await auditOf('old'), {
    decision: 'allowed',
    warnings: (await auditOf('old'))?.warnings,
    changes: 'gw.budgets[tenant=acme].tokens_per_day: none -> 5',
  })
  await refusalOf(edit('old', { gw: { budgets: null, aliases: { b: 'nowhere' } } }))
  assert.deepEqual(await auditOf('old'), {
    decision: 'refused',
    mistakes: '1',
    fields: 'gw.aliases.b',
    warnings: (await auditOf('old'))?.warnings,
    changes: 'gw.budgets[tenant=acme].tokens_per_day: 5 -> none',
  })
  await edit('old', { gw: { budgets: null } })
  await rig.cluster.kubectl(['delete', 'gwt', '--all', '-A'])
})

test('what may come later is let through: Secrets, gateways of keys, routes; what is odd is said as a warning', async () => {
  const upstreams = [
    { name: 'local', provider: 'openai', model: 'm', api_key: '${secret:nowhere/key}' },
  ]
  const early = aGatewayKey('early', { hash: HASH, routes: ['chat'], gateway: 'late' })
  const late = aGateway({ gw: { upstreams } })
  assert.match(await refusalOf(apply(early)), /Warning: spec\.gateway: .* yet/)
  await rig.apply({ ...late, metadata: { ...late.metadata, name: 'late' } })
  await untilKnown('gatewayconfigs/late')
  await untilKnown('gatewaykeys/early')
  await apply(aGatewayKey('fine', { hash: HASH.replace('c', 'd'), gateway: 'late' }))
  const twice = aGatewayKey('twice', { hash: HASH, gateway: 'late' })
  assert.match(await refusalOf(apply(twice)), /Warning: An older record has the same hash/)
  const foreign = aGatewayKey('foreign', { hash: HASH, gateway: 'ai/late' }, 'team-a')
  assert.match(await refusalOf(apply(foreign)), /Warning: No gateway of that name accepts this key/)
  const routeless = aGatewayKey('routeless', {
    hash: HASH.replace('c', 'e'),
    routes: ['x'],
    gateway: 'late',
  })
  assert.match(await refusalOf(apply(routeless)), /Warning: The gateway has no route "x"/)
  // All of them are there: a warning refuses nothing.
  assert.equal((await namesOf('gwk')).length, 4)
  assert.equal((await namesOf('gwk', 'team-a')).length, 1)
})

/** The operator has said something of it, so that it has seen it. */
async function untilKnown(name: string): Promise<void> {
  const path = `/apis/inference.gw/v1/namespaces/ai/${name}`
  await until('the operator has seen it', async () => {
    return JSON.stringify(await rig.cluster.read(path)).includes('observedGeneration')
  })
}

test('what is stored with mistakes can be labelled, mended in part, and deleted, but not made worse', async () => {
  await edit('old', { metadata: { labels: { a: 'b' }, finalizers: ['example.com/mine'] } })
  assert.match(
    await refusalOf(edit('old', { gw: { aliases: { b: 'nowhere' } } })),
    /gw\.aliases\.b: /,
  )
  await edit('old', { gw: { aliases: { 'gpt-4o': 'chat' } } })
  await rig.cluster.kubectl(['delete', 'gwc', 'old', '-n', 'ai', '--wait=false'])
  await edit('old', { metadata: { finalizers: null } })
  await rig.cluster.kubectl(['wait', '--for=delete', 'gwc/old', '-n', 'ai', '--timeout=60s'])
})

test('a large configuration is judged when it is made, and when it is edited', async () => {
  const keys = Array.from({ length: 300 }, (_, index) => ({
    id: `key-${index}`,
    tenant: 'acme',
    hash: `sha256:${String(index).padStart(64, '0')}`,
    prefix: 'gw_production_aaaa',
    routes: ['chat'],
  }))
  const large = aGateway({ gw: { api_keys: keys } })
  const document = { ...large, metadata: { name: 'large', namespace: 'ai' } }
  await rig.apply(document)
  await edit('large', { metadata: { labels: { a: 'b' } } })
  await edit('large', { gw: { aliases: { a: 'chat' } } })
  assert.match(await refusalOf(edit('large', { gw: { aliases: { a: 'b' } } })), /gw\.aliases\.a: /)
})

test('it counts what it was asked, and says in the log where the mistakes were', async () => {
  const metrics = await (await fetch(`${rig.operator.healthUrl}/metrics`)).text()
  const count = (line: string) => Number(metrics.match(new RegExp(`^${line} (\\d+)$`, 'm'))?.[1])
  assert.ok(count('gw_admission_reviews_total{kind="GatewayConfig",result="refused"}') > 20)
  assert.ok(count('gw_admission_reviews_total{kind="GatewayKey",result="allowed"}') >= 5)
  assert.ok(count('controller_runtime_webhook_requests_total{webhook="/validate",code="200"}') > 25)
  await until('the log says it', () => {
    const lines = rig.operator.output().split('\n')
    return lines.some((line) => line.includes('"event":"admission"') && line.includes('gw.aliases'))
  })
})

test('while no operator answers, Fail refuses edits alone, and Ignore nothing', async () => {
  const { operator } = rig
  const health = `${operator.healthUrl}/healthz`
  await operator.stop('SIGKILL')
  await until('it is gone', async () => !(await answers(health)))
  const change = { gw: { aliases: { c: 'chat' } } }
  assert.match(
    await refusalOf(edit('late', change)),
    /failed calling webhook "validate\.inference\.gw"/,
  )
  await edit('late', { metadata: { labels: { a: 'b' } } })
  const patch = JSON.stringify([
    { op: 'replace', path: '/webhooks/0/failurePolicy', value: 'Ignore' },
  ])
  await rig.cluster.kubectl([
    'patch',
    'validatingwebhookconfiguration',
    NAME,
    '--type=json',
    '-p',
    patch,
  ])
  const passes = () =>
    edit('late', change).then(
      () => true,
      () => false,
    )
  await until('the edit goes through', passes, 120)
  await rig.cluster.kubectl(['delete', 'gwc', 'late', '-n', 'ai', '--timeout=60s'])
})
