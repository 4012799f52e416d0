/**
 * Replicas share their counters through a Redis in the cluster, processes of one pod through its store: together they
 * admit as much as one.
 */
import assert from 'node:assert/strict'
import { afterEach, before, test } from 'node:test'
import { describe, startLoad } from './load.ts'
import { gateway, gatewayKey } from './objects.ts'
import { SPACE } from './spaces.ts'
import { show } from './table.ts'
import { gatewayReady, openWorld, prepare, redisValues, type World } from './world.ts'

const RATE = 10
const BURST = 30
const CAP = 5000
const PLENTY = { requests_per_minute: 1_000_000, burst: 1_000_000, concurrent_requests: 10_000 }
/** Connections are short-lived, so that each replica gets requests. */
const SPEC = { replicas: 3, env: [{ name: 'GW_CONNECTION_AGE_SECONDS', value: '1' }] }
let world: World

before(async () => {
  world = await openWorld()
  await prepare(world, ...redisValues())
})

afterEach(async () => {
  const names = ['limited', 'budgeted']
  await world.kubectl(['-n', SPACE, 'delete', 'gatewayconfig', ...names, '--ignore-not-found'])
})

test('three replicas at five times the rate together admit the rate and one burst', async () => {
  const { key, object } = gatewayKey('limited', 'acme')
  const rule = { requests_per_minute: RATE * 60, burst: BURST, concurrent_requests: 10_000 }
  const rate_limits = { backend: 'redis', redis: redisOf('limited'), default: rule }
  await world.apply(gateway('limited', { gw: { rate_limits }, spec: SPEC }), object)
  await gatewayReady(world, 'limited')
  const url = `http://limited.${SPACE}.svc`
  const load = await startLoad(world, 'limited-load', { url, key, rate: RATE * 5 })
  await load.reaches(RATE * 5 * 40, 300)
  const report = await load.stop()
  const { 200: admitted = 0, 429: refused = 0, ...others } = report.statuses
  const most = BURST + RATE * report.seconds + 1
  assert.deepEqual(others, {}, describe(report))
  assert.ok(admitted <= most, describe(report))
  // A request delayed by a busy machine is late, not refused.
  assert.ok(admitted >= 0.8 * RATE * report.seconds, describe(report))
  assert.equal(Object.keys(report.pods).length, 3, describe(report))
  show('limits', `${admitted} of at most ${Math.floor(most)} admitted, ${refused} refused`)
})

const TOGETHER = {
  'three replicas': {
    gw: { rate_limits: { backend: 'redis', redis: redisOf('budgeted'), default: PLENTY } },
    spec: SPEC,
  },
  'three processes of one pod': {
    gw: { gateway: { workers: 3 }, rate_limits: { default: PLENTY } },
    spec: { ...SPEC, replicas: 1 },
  },
}

for (const [who, { gw, spec }] of Object.entries(TOGETHER)) {
  test(`${who} spend one budget, with an overshoot of at most one request`, async () => {
    const { key, object } = gatewayKey('budgeted', 'acme')
    const budgets = [{ tenant: 'acme', tokens_per_day: CAP, on_exceeded: 'reject' }]
    await world.apply(gateway('budgeted', { gw: { ...gw, budgets }, spec }), object)
    await gatewayReady(world, 'budgeted')
    const url = `http://budgeted.${SPACE}.svc`
    const load = await startLoad(world, 'budgeted-load', { url, key, rate: 50, maxTokens: 8 })
    let report = await load.report()
    for (let count = 500; (report.statuses[402] ?? 0) < 100 && count < 10_000; count += 250) {
      report = await load.reaches(count, 300)
    }
    report = await load.stop()
    const largest = Math.ceil(report.tokens / Math.max(report.answered, 1)) + 8
    assert.ok((report.statuses[402] ?? 0) > 0, describe(report))
    assert.ok(report.tokens <= CAP + largest, describe(report))
    assert.ok(report.tokens >= CAP * 0.95, describe(report))
    assert.equal(Object.keys(report.pods).length, 3, describe(report))
    const known = ['200', '402', '429']
    assert.ok(
      Object.keys(report.statuses).every((status) => known.includes(status)),
      describe(report),
    )
    if (spec === SPEC) show('budgets', `${report.tokens} of ${CAP} tokens used, then 402`)
  })
}

/** Gateways that share a Redis count together, unless their keys have separate names. */
function redisOf(name: string): object {
  return { url: '${secret:gw-redis/url}', timeout_ms: 2000, key_prefix: name }
}
