/** The effect of an edit of a gateway on its pods and its status. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { until } from '../helpers/until.ts'
import { allowed, milliseconds, recordFigure } from './figures.ts'
import { conditionIn, statusOf, untilCondition } from './operator-process.ts'
import { aGateway, type OperatorRig, startFakePod, startOperatorRig } from './operator-rig.ts'

/** The operator names a pod that does not apply an edit within this time. */
const NAMED_MS_MAX = allowed(15_000)

let rig: OperatorRig

const { key, record } = aKey({ id: 'first' })
const valid = aGateway({ gw: { api_keys: [record] } })

before(async () => {
  rig = await startOperatorRig()
  await rig.apply(valid)
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'], 90)
})

after(() => rig?.stop())

async function podNames(): Promise<string[]> {
  return (await statusOf(rig.cluster, 'production')).pods.map(({ name }) => name).sort()
}

test('an edit of limits reaches every pod and restarts none', async (t) => {
  const before = await podNames()
  await rig.apply(
    aGateway({
      gw: {
        api_keys: [record],
        rate_limits: { default: { requests_per_minute: 7, burst: 3, concurrent_requests: 2 } },
      },
    }),
  )
  const started = performance.now()
  const status = await untilCondition(rig.cluster, 'production', ['Programmed', 'True'])
  t.diagnostic(`programmed after ${Math.round(performance.now() - started)} ms`)
  assert.deepEqual(status.pods.map(({ name }) => name).sort(), before)
  for (const pod of status.pods) assert.equal(pod.hash, status.activeHash)
  for (const { url } of rig.kubelet.pods()) {
    const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
    assert.equal(answer.headers.get('x-gw-ratelimit-limit'), '7')
  }
})

test('for a bad edit the status contains the field and the fix, and the pods stay unchanged', async () => {
  const { activeHash } = await statusOf(rig.cluster, 'production')
  const routes = [{ name: 'chat', strategy: 'single', upstreams: ['nowhere'] }]
  await rig.apply(aGateway({ gw: { api_keys: [record], routes } }))
  const status = await untilCondition(rig.cluster, 'production', ['Accepted', 'False', 'Invalid'])
  assert.match(conditionIn(status, 'Accepted')?.message ?? '', /gw\.routes\[0\].*nowhere.*local/s)
  assert.equal(conditionIn(status, 'Programmed')?.reason, 'Invalid')
  assert.equal(conditionIn(status, 'Degraded')?.reason, 'UsingLastKnownGood')
  for (const pod of status.pods) assert.equal(pod.hash, activeHash)
  assert.deepEqual(await rig.answersTo(key), [200, 200])
  await rig.apply(valid)
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})

test('the status names a hanging pod within 15 s, and the others enforce the edit', async (t) => {
  const [first = '', second = ''] = await podNames()
  const silent = await startFakePod(() => undefined)
  t.after(() => silent.stop())
  const real = rig.kubelet.pods().find(({ name }) => name === first)?.pushUrl ?? ''
  await rig.redirect(first, silent.address)
  await rig.apply(aGateway({ gw: { api_keys: [record], aliases: { 'gpt-4o': 'chat' } } }))
  const started = performance.now()
  const status = await untilCondition(rig.cluster, 'production', [
    'Programmed',
    'False',
    'PodUnreachable',
  ])
  const namedMs = performance.now() - started
  t.diagnostic(`named after ${milliseconds(namedMs)}`)
  recordFigure('hangs', milliseconds(namedMs), '2 pods')
  assert.ok(namedMs < NAMED_MS_MAX, milliseconds(namedMs))
  assert.match(conditionIn(status, 'Programmed')?.message ?? '', new RegExp(first))
  assert.equal(status.pods.find(({ name }) => name === second)?.hash, status.activeHash)
  await rig.redirect(first, new URL(real).host)
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})

test('the status names a refusing pod within 15 s with its error, and the others enforce the edit', async (t) => {
  const [first = ''] = await podNames()
  const problem = { pointer: '/gw/routes/0', message: 'the moon is wrong', fix: 'Wait a week.' }
  const refusing = await startFakePod((request, response) => {
    request.resume()
    const isPush = request.method === 'PUT' && request.url === '/config'
    response.writeHead(isPush ? 422 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isPush ? { reason: 'invalid', problems: [problem] } : {}))
  })
  t.after(() => refusing.stop())
  const real = rig.kubelet.pods().find(({ name }) => name === first)?.pushUrl ?? ''
  await rig.redirect(first, refusing.address)
  await rig.apply(aGateway({ gw: { api_keys: [record], aliases: { moon: 'chat' } } }))
  const started = performance.now()
  const status = await untilCondition(rig.cluster, 'production', [
    'Programmed',
    'False',
    'Rejected',
  ])
  const namedMs = performance.now() - started
  t.diagnostic(`named after ${milliseconds(namedMs)}`)
  recordFigure('refuses', milliseconds(namedMs), '2 pods')
  assert.ok(namedMs < NAMED_MS_MAX, milliseconds(namedMs))
  const message = conditionIn(status, 'Programmed')?.message ?? ''
  assert.match(message, new RegExp(`${first}.*/gw/routes/0 the moon is wrong\\. Wait a week\\.`))
  assert.equal(status.pods[0]?.state, 'Rejected')
  await until('the other pod enforces the edit', async () => {
    const { pods, activeHash } = await statusOf(rig.cluster, 'production')
    return pods.find(({ name }) => name !== first)?.hash === activeHash
  })
  await rig.redirect(first, new URL(real).host)
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
})

test('the operator reverts hand edits, and keeps the cloud identity of the pods', async () => {
  const { kubectl } = rig.cluster
  const role = 'eks.amazonaws.com/role-arn=arn:aws:iam::123456789012:role/models'
  await kubectl(['annotate', 'serviceaccount', 'production', role, '-n', 'ai'])
  await kubectl(['delete', 'service,pdb', 'production', '-n', 'ai'])
  await kubectl([
    'patch',
    'deployment',
    'production',
    '-n',
    'ai',
    '--type=merge',
    '-p',
    '{"spec":{"template":{"spec":{"automountServiceAccountToken":true}}}}',
  ])
  await kubectl(['wait', '--for=create', 'service/production', '-n', 'ai', '--timeout=120s'])
  await kubectl(['wait', '--for=create', 'pdb/production', '-n', 'ai', '--timeout=120s'])
  const path = '{.spec.template.spec.automountServiceAccountToken}'
  await kubectl([
    'wait',
    `--for=jsonpath=${path}=false`,
    'deployment/production',
    '-n',
    'ai',
    '--timeout=120s',
  ])
  await untilCondition(rig.cluster, 'production', ['Ready', 'True'], 90)
  // An operator that misses its own write would write without end.
  const { metadata } = JSON.parse(
    await kubectl(['get', 'deployment', 'production', '-n', 'ai', '-o', 'json']),
  )
  assert.equal(metadata.annotations['inference.gw/applied-generation'], `${metadata.generation}`)
  const account = ['get', 'serviceaccount', 'production', '-n', 'ai', '-o', 'json']
  const { metadata: stored } = JSON.parse(await kubectl(account))
  assert.equal(stored.annotations?.[role.split('=')[0] ?? ''], role.split('=')[1])
})

test('the operator does not touch a paused gateway until it resumes', async () => {
  const { activeHash } = await statusOf(rig.cluster, 'production')
  const gw = { api_keys: [record], aliases: { paused: 'chat' } }
  await rig.apply(aGateway({ gw, spec: { paused: true } }))
  const paused = await untilCondition(rig.cluster, 'production', ['Accepted', 'Unknown', 'Paused'])
  assert.equal(paused.activeHash, activeHash)
  await rig.apply(aGateway({ gw, spec: { paused: false } }))
  const status = await untilCondition(rig.cluster, 'production', ['Ready', 'True'])
  assert.notEqual(status.activeHash, activeHash)
})

test('the operator names a foreign object with our name and does not touch it', async () => {
  const { kubectl } = rig.cluster
  await kubectl(['create', 'service', 'clusterip', 'other', '--tcp=80', '-n', 'ai'])
  const document = aGateway({ gw: { api_keys: [record] } })
  await rig.apply({ ...document, metadata: { name: 'other', namespace: 'ai' } })
  const status = await untilCondition(rig.cluster, 'other', [
    'WorkloadAvailable',
    'False',
    'Conflict',
  ])
  assert.match(conditionIn(status, 'WorkloadAvailable')?.message ?? '', /Service other exists/)
  const labels = await kubectl([
    'get',
    'service',
    'other',
    '-n',
    'ai',
    '-o',
    'jsonpath={.metadata.labels.app}',
  ])
  assert.equal(labels, 'other')
  await kubectl(['delete', 'gwc', 'other', '-n', 'ai'])
})
