/** Tests `gw apply`, `gw diff` and `gw status` against a real API server, with the operator and pods as processes. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import { collectOutput } from '../helpers/gateway-process.ts'
import { gw, TOOL } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'
import { statusOf } from './operator-process.ts'
import { aGateway, type OperatorRig, startFakePod, startOperatorRig } from './operator-rig.ts'

let rig: OperatorRig
let folder: string
let cluster: readonly string[]

const { record } = aKey({ id: 'first' })
const limits = (burst: number) => ({
  default: { requests_per_minute: 600, burst, concurrent_requests: 10 },
})

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
  rig = await startOperatorRig()
  cluster = ['--kubeconfig', rig.cluster.kubeconfig, '-n', 'ai']
})

after(async () => {
  await rig?.stop()
  await rm(folder, { recursive: true })
})

async function written(gw: object, spec: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const file = join(folder, 'gateway.yaml')
  const document = aGateway({ gw: { api_keys: [record], ...gw }, spec })
  await writeFile(file, stringify(document))
  return file
}

const podNames = async () =>
  (await statusOf(rig.cluster, 'production')).pods.map(({ name }) => name).sort()

async function liveGateway() {
  const args = ['get', 'gwc', 'production', '-n', 'ai', '-o', 'json']
  return JSON.parse(await rig.cluster.kubectl(args))
}

test('apply creates a gateway and waits until every pod enforces it', async () => {
  const file = await written({ rate_limits: limits(50) })
  const { code, stdout, stderr } = await gw(
    ...['apply', '--file', file, '--strategy', 'rolling', '--drain-timeout', '60s', ...cluster],
  )
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^gatewayconfig\.inference\.gw\/production created$/m)
  assert.match(stdout, /^programmed: 2 pods enforce [0-9a-f]{12}/m)
  for (const name of await podNames())
    assert.match(stderr, new RegExp(`^pod ${name}: Programmed`, 'm'))
  assert.equal((await liveGateway()).spec.drainTimeoutSeconds, 60)
})

test('applied again, nothing changes', async () => {
  const file = await written({ rate_limits: limits(50) })
  const { generation } = (await liveGateway()).metadata
  const { code, stdout } = await gw('apply', '-f', file, ...cluster)
  assert.equal(code, 0)
  assert.match(stdout, /production unchanged$/m)
  const live = await liveGateway()
  assert.equal(live.metadata.generation, generation)
  assert.equal(live.spec.drainTimeoutSeconds, 60, 'an earlier --drain-timeout persists')
})

test('apply --reload changes limits without a new pod', async () => {
  const before = await podNames()
  const file = await written({ rate_limits: limits(77) })
  const { code, stdout, stderr } = await gw(
    'apply',
    '-f',
    file,
    '--reload',
    ...cluster,
    '-o',
    'json',
  )
  assert.equal(code, 0, stderr)
  const { programmed, rolls, differences, pods } = JSON.parse(stdout)
  assert.deepEqual([programmed, rolls], [true, false])
  assert.deepEqual(differences, [
    { path: 'gw.rate_limits.default.burst', old: 50, new: 77, reloadable: true },
  ])
  assert.deepEqual(pods.map(({ name }: { name: string }) => name).sort(), before)
})

test('apply --reload refuses all other changes with the exact path, and stores nothing', async () => {
  const { generation } = (await liveGateway()).metadata
  const routes = [{ name: 'chat', strategy: 'single', upstreams: ['local'], timeout_seconds: 7 }]
  const file = await written({ rate_limits: limits(50), routes }, { replicas: 3 })
  const { code, stderr } = await gw('apply', '-f', file, '--reload', ...cluster)
  assert.equal(code, 1)
  assert.match(stderr, /^~ spec\.replicas: 2 -> 3$/m)
  assert.match(stderr, /^\+ gw\.routes\[chat\]\.timeout_seconds: 7$/m)
  assert.doesNotMatch(stderr, /burst/)
  assert.equal((await liveGateway()).metadata.generation, generation)
})

test('diff shows the changes with hidden credentials, and stores nothing', async () => {
  const { generation } = (await liveGateway()).metadata
  const env = [{ name: 'TOKEN', value: 'hidden-value' }]
  const file = await written({ rate_limits: limits(78) }, { env })
  const { code, stdout, stderr } = await gw('diff', '-f', file, ...cluster)
  assert.equal(code, 1, stderr)
  assert.match(stdout, /^~ gw\.rate_limits\.default\.burst: 77 -> 78$/m)
  assert.match(stdout, /^\+ spec\.env\[TOKEN\]/m)
  assert.doesNotMatch(stdout + stderr, /hidden-value/)
  assert.equal((await liveGateway()).metadata.generation, generation)
  const same = await gw('diff', '-f', await written({ rate_limits: limits(77) }), ...cluster)
  assert.equal(same.code, 0, same.stdout)
  assert.match(same.stdout, /nothing differs/)
})

test('apply does not send a file that the operator would refuse', async () => {
  const { generation } = (await liveGateway()).metadata
  const routes = [{ name: 'chat', strategy: 'single', upstreams: ['ghost'] }]
  const file = await written({ routes })
  const { code, stderr } = await gw('apply', '-f', file, ...cluster)
  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`^${file}:\\d+:\\d+: error: gw\\.routes\\[0\\].*ghost`, 'm'))
  assert.match(stderr, /nothing was sent/)
  assert.equal((await liveGateway()).metadata.generation, generation)
})

test('status shows the conditions and the document of each pod', async () => {
  const { code, stdout, stderr } = await gw('status', ...cluster)
  assert.deepEqual([code, stderr], [0, ''])
  const { pods, activeHash } = await statusOf(rig.cluster, 'production')
  assert.match(stdout, /^Programmed +True +Programmed/m)
  assert.match(stdout, /^replicas +2, 2 ready, 2 programmed$/m)
  for (const { name } of pods)
    assert.match(stdout, new RegExp(`^${name} +yes +Programmed +${activeHash?.slice(0, 12)}`, 'm'))
})

test('a field of another manager is a conflict until the user takes it over', async () => {
  const patch = JSON.stringify({ gw: { rate_limits: { default: { burst: 33 } } } })
  await rig.cluster.kubectl(['patch', 'gwc', 'production', '-n', 'ai', '--type=merge', '-p', patch])
  const file = await written({ rate_limits: limits(50) })
  const refused = await gw('apply', '-f', file, ...cluster)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /conflict.*--force-conflicts/s)
  const taken = await gw('apply', '-f', file, '--force-conflicts', ...cluster)
  assert.equal(taken.code, 0, taken.stderr)
  assert.equal((await liveGateway()).gw.rate_limits.default.burst, 50)
})

test('a new drain timeout takes effect when new pods replace the old ones', async () => {
  const before = await podNames()
  const same = await written({ rate_limits: limits(52) })
  const kept = await gw('apply', '-f', same, '--drain-timeout', '45s', ...cluster)
  assert.equal(kept.code, 0, kept.stderr)
  assert.match(kept.stderr, /This change replaces no pod/)
  assert.equal((await liveGateway()).spec.drainTimeoutSeconds, 60)
  assert.deepEqual(await podNames(), before)
  const rolling = await written({ rate_limits: limits(52) }, { env: [{ name: 'A', value: 'b' }] })
  const rolled = await gw(
    ...['apply', '-f', rolling, '--strategy', 'rolling', '--drain-timeout', '45s', ...cluster],
  )
  assert.equal(rolled.code, 0, rolled.stderr)
  assert.equal((await liveGateway()).spec.drainTimeoutSeconds, 45)
  for (const name of await podNames()) assert.ok(!before.includes(name), name)
})

test('with --wait=false the tool does not wait', async () => {
  const file = await written({ rate_limits: limits(53) }, { env: [{ name: 'A', value: 'b' }] })
  const { code, stdout, stderr } = await gw('apply', '-f', file, '--wait=false', ...cluster)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /production configured$/m)
  assert.doesNotMatch(stdout + stderr, /programmed|^pod /m)
})

test('apply exits with 1 and names the refusing pod', async (t) => {
  const [name = ''] = await podNames()
  const problem = { pointer: '/gw/routes/0', message: 'the moon is wrong', fix: 'Wait a week.' }
  const pod = await startFakePod((request, response) => {
    request.resume()
    const isPush = request.method === 'PUT' && request.url === '/config'
    response.writeHead(isPush ? 422 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isPush ? { reason: 'invalid', problems: [problem] } : {}))
  })
  t.after(() => pod.stop())
  await rig.redirect(name, pod.address)
  const file = await written({ rate_limits: limits(51) })
  const { code, stderr } = await gw('apply', '-f', file, '--timeout', '60s', ...cluster)
  assert.equal(code, 1)
  assert.match(stderr, new RegExp(`^Rejected: .*${name}.*the moon is wrong`, 'm'))
  const { code: status, stdout } = await gw('status', ...cluster)
  assert.equal(status, 1)
  assert.match(stdout, /^Programmed +False/m)
})

test('a drained upstream stays drained when the configuration is applied again', async () => {
  const file = await written({ rate_limits: limits(77) })
  assert.equal((await gw('apply', '-f', file, ...cluster)).code, 0)
  const drained = async () => (await liveGateway()).gw.upstreams[0].drained_until
  const { code, stderr } = await gw('upstream', 'drain', 'local', '--for', '2h', ...cluster)
  assert.equal(code, 0, stderr)
  const until = await drained()
  assert.match(until, /^20.*Z$/)
  assert.equal((await gw('apply', '-f', file, ...cluster)).code, 0)
  assert.equal(await drained(), until)
  assert.equal((await gw('upstream', 'resume', 'local', ...cluster)).code, 0)
  assert.notEqual(await drained(), until)
})

test('status --watch prints every change, and apply does not wait for a paused gateway', async (t) => {
  const args = ['status', '--watch', '--gateway', 'production', ...cluster]
  const child = spawn(process.execPath, [TOOL, ...args])
  t.after(() => child.kill('SIGKILL'))
  const output = collectOutput(child)
  const ended = once(child, 'close')
  await until('the first status', () => output().includes('LAST ERROR'), 120)
  const file = await written({ rate_limits: limits(54) }, { paused: true })
  const { code, stderr } = await gw('apply', '-f', file, '--force-conflicts', ...cluster)
  assert.equal(code, 1)
  assert.match(stderr, /^Paused: /m)
  await until('it is shown again', () => /^Accepted +Unknown +Paused/m.test(output()), 120)
  child.kill('SIGINT')
  await ended
})

test('the exit code is 2 if the cluster does not respond', async () => {
  const file = await written({})
  const nowhere = join(folder, 'nowhere.kubeconfig')
  const server = 'https://127.0.0.1:1'
  await writeFile(
    nowhere,
    stringify({
      clusters: [{ name: 'c', cluster: { server } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      users: [{ name: 'u', user: {} }],
      'current-context': 'c',
    }),
  )
  const { code, stderr } = await gw('apply', '-f', file, '--kubeconfig', nowhere)
  assert.equal(code, 2)
  assert.match(
    stderr,
    /^error: The API server at https:\/\/127\.0\.0\.1:1 does not respond \(ECONNREFUSED\)/m,
  )
  const context = await gw('status', '--kubeconfig', nowhere, '--context', 'other')
  assert.equal(context.code, 2)
  assert.match(context.stderr, /no context "other" in the kubeconfig; it has c/)
})
