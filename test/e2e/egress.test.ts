/**
 * With enforced NetworkPolicies everything works, and no pod reaches an address that it does not
 * need.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { until } from '../helpers/until.ts'
import { describe, startLoad } from './load.ts'
import { enforcePolicies, liftPolicies } from './node/policies.ts'
import { clientPod, gateway, gatewayKey } from './objects.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { show } from './table.ts'
import { gatewayReady, openWorld, prepare, redisValues, SECONDS_MAX, type World } from './world.ts'

/**
 * One gateway has separate counters; the other shares them, and names the allowed destinations of
 * its pods.
 */
const [ALONE, SHARING] = ['closed', 'closed-redis']
const OPERATOR = 'app.kubernetes.io/component=operator'
const CLIENT = 'visitor'
const ONE = { drainTimeoutSeconds: 1, podDisruptionBudget: { enabled: false } }
let world: World

before(async () => {
  world = await openWorld()
  if (!world.isOurNode) return show('egress', 'tested only in our own node')
  await prepare(world, ...redisValues())
  const command = ['node', '-e', 'process.on("SIGTERM", process.exit); setInterval(() => {}, 1e9)']
  await world.apply(
    gateway(ALONE, { spec: ONE }),
    sharing(60_000),
    clientPod({ name: CLIENT, image: world.image, command }),
  )
  await gatewayReady(world, ALONE)
  await gatewayReady(world, SHARING)
  const ready = ['wait', '--for=condition=Ready', `pod/${CLIENT}`, `--timeout=${SECONDS_MAX}s`]
  await world.kubectl(['-n', SPACE, ...ready])
})

after(async () => {
  if (!world.isOurNode) return
  await liftPolicies()
  await world.kubectl(['-n', SPACE, 'delete', 'pod', CLIENT, '--ignore-not-found'])
  await world.kubectl([
    '-n',
    SPACE,
    'delete',
    'gatewayconfig',
    ALONE,
    SHARING,
    '--ignore-not-found',
  ])
})

function sharing(limit: number): object {
  const redis = { url: '${secret:gw-redis/url}', timeout_ms: 2000, key_prefix: SHARING }
  const rule = { requests_per_minute: limit, burst: limit, concurrent_requests: 10_000 }
  const inSystem = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': SYSTEM } },
    podSelector: { matchLabels: { 'app.kubernetes.io/component': 'redis' } },
  }
  const egress = [{ to: [{ podSelector: {} }] }, { to: [inSystem] }]
  const gw = { rate_limits: { backend: 'redis', redis, default: rule } }
  return gateway(SHARING, { gw, spec: { ...ONE, networkPolicy: { egress } } })
}

test('each pod reaches the destinations in its policy, and nothing else', async () => {
  if (!world.isOurNode) return
  const alone = await podOf(SPACE, `inference.gw/gateway=${ALONE}`)
  const shared = await podOf(SPACE, `inference.gw/gateway=${SHARING}`)
  const operator = await podOf(SYSTEM, OPERATOR)
  const visitor = { namespace: SPACE, name: CLIENT, ip: '' }
  const api = 'kubernetes.default.svc:443'
  const redis = `gw-redis.${SYSTEM}.svc:6379`
  const model = `fast.${SPACE}.svc:9000`
  const closed: readonly (readonly [from: PodAddress, to: string])[] = [
    [alone, api],
    [alone, redis],
    [alone, `${operator.ip}:8081`],
    [shared, api],
    [shared, `${operator.ip}:8081`],
    [operator, model],
    [operator, redis],
    [operator, `${alone.ip}:8080`],
    [visitor, `${alone.ip}:9092`],
    [visitor, redis],
  ]
  const open: readonly (readonly [from: PodAddress, to: string])[] = [
    [alone, model],
    [shared, model],
    [shared, redis],
    [operator, api],
    [operator, `${alone.ip}:9092`],
    [visitor, `${alone.ip}:9090`],
    [visitor, `${operator.ip}:8081`],
  ]
  // The policies close these connections.
  for (const [from, to] of [...open, ...closed]) await opens(from, to)
  await enforcePolicies(world.kubectl)
  for (const [from, to] of open) await opens(from, to)
  for (const [from, to] of closed) {
    assert.match(await connected(from, to), /^(EHOSTUNREACH|EACCES|ECONNREFUSED)$/, said(from, to))
  }
  show('egress', `${open.length} connections still open, ${closed.length} closed that were open`)
})

test('with enforced policies requests are answered, counters shared and changes pushed', async () => {
  if (!world.isOurNode) return
  await enforcePolicies(world.kubectl)
  for (const name of [ALONE, SHARING]) {
    const { key, object } = gatewayKey(name, 'acme')
    await world.apply(object)
    const url = `http://${name}.${SPACE}.svc`
    // Policies do not apply to a pod created after they are enforced.
    const load = await startLoad(world, 'visitor-load', { url, key, rate: 20, streams: 2 })
    await load.reaches(100, SECONDS_MAX)
    const report = await load.stop()
    assert.equal(report.lost + report.streams.cut + report.streams.refused, 0, describe(report))
  }
  await world.apply(sharing(60_001))
  await gatewayReady(world, SHARING)
})

interface PodAddress {
  readonly namespace: string
  readonly name: string
  readonly ip: string
}

async function podOf(namespace: string, selector: string): Promise<PodAddress> {
  const get = ['-n', namespace, 'get', 'pods', '-l', selector, '-o', 'json']
  const { items } = JSON.parse(await world.kubectl(get))
  const [{ metadata, status }] = items
  return { namespace, name: metadata.name, ip: status.podIP }
}

const CONNECT = `
const [host, port] = process.argv[1].split(':')
const socket = require('node:net').connect({ host, port })
const end = (said) => { process.stdout.write(said); process.exit() }
socket.on('connect', () => end('open')).on('error', ({ code }) => end(code))
setTimeout(() => end('silence'), 20_000)`

/** 'open', or the reason why not. */
async function connected({ namespace, name }: PodAddress, to: string): Promise<string> {
  return await world.kubectl(['-n', namespace, 'exec', name, '--', 'node', '-e', CONNECT, to])
}

async function opens(from: PodAddress, to: string): Promise<void> {
  const isOpen = async () => (await connected(from, to)) === 'open'
  await until(said(from, to), isOpen, SECONDS_MAX)
}

function said(from: PodAddress, to: string): string {
  return `${from.name} to ${to}`
}
