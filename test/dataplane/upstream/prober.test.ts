import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HealthCheck, Prober } from '../../../dataplane/upstream/live/health.ts'
import { aWorld } from './probe-world.ts'

const SETTINGS = { intervalMs: 10_000, healthyThreshold: 2, unhealthyThreshold: 3 }

function aProber(random?: number) {
  const world = aWorld(random)
  const health = new HealthCheck(SETTINGS)
  return { world, health, prober: new Prober(SETTINGS, health, world) }
}

test('the first probe comes within a second, the next an interval after the start of the last', async () => {
  const { world, prober } = aProber()
  prober.start()
  world.moveTo(499)
  assert.equal(world.probes.length, 0)
  world.moveTo(500)
  assert.equal(world.probes.length, 1)
  world.moveTo(2000)
  await world.end(true)
  world.moveTo(10_499)
  assert.equal(world.probes.length, 1)
  world.moveTo(10_500)
  assert.equal(world.probes.length, 2)
})

for (const [random, due] of [
  [0, 9000],
  [0.999999, 10_999 + 999],
] as const) {
  test(`the interval is jittered by a tenth: random ${random}`, async () => {
    const { world, prober } = aProber(random)
    prober.start()
    world.moveTo(1000)
    await world.end(true)
    const [next] = world.calls.values()
    assert.ok(Math.abs(next!.at - due) < 2, `${next!.at}`)
  })
}

test('probes never overlap, and one slower than the interval is followed at once', async () => {
  const { world, prober } = aProber()
  prober.start()
  world.moveTo(60_000)
  assert.equal(world.probes.length, 1)
  assert.equal(world.calls.size, 0)
  await world.end(true)
  world.moveTo(60_000)
  assert.equal(world.probes.length, 2)
})

test('the result or error of the probe reaches the health check', async () => {
  const { world, health, prober } = aProber()
  prober.start()
  for (const time of [1000, 20_000, 40_000]) {
    world.moveTo(time)
    world.probes.at(-1)?.fail(new Error('connection refused'))
    await new Promise(setImmediate)
  }
  assert.equal(health.state, 'unhealthy')
})

test('a probe that throws at once is a failure too', async () => {
  const world = aWorld()
  const health = new HealthCheck({ ...SETTINGS, unhealthyThreshold: 1 })
  const probe = () => assert.fail('no such host')
  new Prober(SETTINGS, health, { ...world, probe }).start()
  world.moveTo(1000)
  await new Promise(setImmediate)
  assert.equal(health.state, 'unhealthy')
  assert.equal(world.calls.size, 1)
})

test('a stopped prober starts nothing and drops the running probe', async () => {
  const { world, health, prober } = aProber()
  prober.start()
  world.moveTo(1000)
  prober.stop()
  await world.end(false)
  assert.equal(health.observedAt, undefined)
  assert.equal(world.calls.size, 0)
  prober.start()
  prober.start()
  assert.equal(world.calls.size, 1)
  prober.stop()
  assert.equal(world.calls.size, 0)
})

test('a start while a probe from before the stop is running does not begin a second', async () => {
  const { world, prober } = aProber()
  prober.start()
  world.moveTo(1000)
  prober.stop()
  prober.start()
  world.moveTo(60_000)
  assert.equal(world.probes.length, 1)
  await world.end(true)
  assert.equal(world.calls.size, 1)
})

test('a new interval counts from the last probe; the same one changes nothing', async () => {
  const { world, prober } = aProber()
  prober.start()
  world.moveTo(500)
  await world.end(true)
  prober.configure({ ...SETTINGS, healthyThreshold: 9 })
  assert.deepEqual(
    [...world.calls.values()].map(({ at }) => at),
    [10_500],
  )
  world.moveTo(5000)
  prober.configure({ ...SETTINGS, intervalMs: 2000 })
  assert.deepEqual(
    [...world.calls.values()].map(({ at }) => at),
    [5000],
  )
})
