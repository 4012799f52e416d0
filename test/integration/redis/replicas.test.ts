/**
 * How replicas learn about each other through the store: which exist, and each one's fraction of
 * the admissions.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Replicas } from '../../../dataplane/store/shared/replicas.ts'
import { aStoreBench } from './store-bench.ts'

const BEAT_MS = 1_000

const bench = aStoreBench()

function several(...admissions: readonly number[]): Replicas[] {
  return admissions.map((count, index) => {
    const replicas = new Replicas({
      keyPrefix: 'gw',
      replica: `r${index}`,
      expected: 1,
      clock: bench.clock,
    })
    replicas.admissions = count
    return replicas
  })
}

/** All of them announce themselves, this many times. */
async function beat(all: readonly Replicas[], times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    for (const one of all) await one.announce(bench.link.run.bind(bench.link))
    bench.clock.pass(BEAT_MS)
  }
}

function wholeOf(all: readonly Replicas[]): number {
  return all.reduce((sum, { fraction }) => sum + fraction, 0)
}

test('several replicas know each other, and their fractions add up to one', async () => {
  const all = several(0, 100, 200)
  await beat(all, 4)
  assert.deepEqual(
    all.map(({ count }) => count),
    [3, 3, 3],
  )
  const [idle = 1, , busy = 0] = all.map(({ fraction }) => fraction)
  assert.ok(Math.abs(wholeOf(all) - 1) < 0.02, `${wholeOf(all)}`)
  assert.ok(busy > 0.6 && idle < 0.02, `${busy} ${idle}`)
})

test('a replica uses a growing fraction later than a shrinking one, so that the sum never exceeds one', async () => {
  const all = several(100, 0)
  await beat(all, 4)
  const [first, second] = all
  assert.ok(first && second)
  for (const load of [100, 400, 1_000]) {
    second.admissions += load
    for (const one of [second, first, second, first, second, first]) {
      await one.announce(bench.link.run.bind(bench.link))
      assert.ok(wholeOf(all) < 1.001, `${wholeOf(all)} after ${load}`)
    }
    bench.clock.pass(BEAT_MS)
  }
  await beat(all, 3)
  assert.ok(second.fraction > 0.9, `${second.fraction}`)
})

test('a fraction does not rise within two seconds, however often a probe announces its replica', async () => {
  const all = several(0, 0)
  await beat(all, 4)
  const [probing, other] = all
  assert.ok(probing && other)
  probing.admissions += 1_000
  for (let probe = 0; probe < 6; probe++) {
    await probing.announce(bench.link.run.bind(bench.link))
    bench.clock.pass(150)
  }
  assert.equal(wholeOf(all), 1)
})

test('a replica that ends is forgotten at once, a killed one after 15 s', async () => {
  const all = several(0, 0, 0)
  await beat(all, 4)
  const [leaves, ...stay] = all
  await leaves?.leave(bench.link.run.bind(bench.link))
  await beat(stay, 3)
  assert.deepEqual(
    stay.map(({ count, fraction }) => [count, fraction]),
    [
      [2, 0.5],
      [2, 0.5],
    ],
  )
  const [, expiry] =
    (await bench.link.client.hget('gw:v1:replicas', 'r1'))?.split(':').map(Number) ?? []
  const [seconds = 0] = (await bench.link.client.time()).map(Number)
  assert.ok((expiry ?? 0) > 0 && (expiry ?? 0) <= (seconds + 1) * 1000 + 15_000, `${expiry}`)
  // As if it had been silent since then.
  await bench.link.client.hset('gw:v1:replicas', 'r1', `1:${seconds * 1000 - 1}`)
  await beat(stay.slice(1), 3)
  assert.deepEqual([stay[1]?.count, stay[1]?.fraction], [1, 1])
  assert.deepEqual(await bench.link.client.hkeys('gw:v1:replicas'), ['r2'])
})

test('after an outage a smaller number of replicas is used only after all had time to return', async () => {
  const all = several(0, 0, 0)
  await beat(all, 4)
  const [first] = all
  assert.ok(first)
  await bench.link.client.flushall()
  first.returned()
  await beat([first], 14)
  assert.deepEqual([first.count, first.fraction], [3, 1 / 3])
  await beat(all, 1)
  assert.deepEqual([first.count, first.fraction], [3, 1 / 3])
  await bench.link.client.flushall()
  await beat([first], 4)
  assert.deepEqual([first.count, first.fraction], [1, 1])
})
