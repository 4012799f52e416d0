/**
 * The drill of an upgrade and the way back: the last release becomes this one and then the last one again, under load with
 * streams, with keys, and with budgets in Redis. GW_LONG=1: three times, at four times the load.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { until } from '../helpers/until.ts'
import { type Figures, openBooks } from './books.ts'
import { describe, startLoad } from './load.ts'
import { clientPod, gateway, gatewayKey } from './objects.ts'
import {
  allowWayBack,
  formerRelease,
  installFormer,
  isServedBy,
  type Release,
  removeRelease,
  rolledObjects,
} from './releases.ts'
import { SPACE, SYSTEM } from './spaces.ts'
import { type PromiseId, show } from './table.ts'
import {
  ensureInstalled,
  ensureSpace,
  gatewayReady,
  openWorld,
  redisValues,
  SECONDS_MAX,
  startModels,
  type World,
} from './world.ts'

const NAME = 'upgraded'
const ASKER = `${NAME}-asker`
const TENANT = 'acme'
const url = `http://${NAME}.${SPACE}.svc`
const [ROUNDS, RATE, STREAMS] = process.env.GW_LONG ? [3, 200, 40] : [1, 50, 10]
/** The last step waits until leases and slices that any pod left in Redis were charged. */
const SECONDS_AFTER = { usual: 4, last: 20 }
const { key, object: keyObject } = gatewayKey(NAME, TENANT)
const withdrawn = gatewayKey(NAME, TENANT)
const later = gatewayKey(NAME, TENANT)
/** By row of the table, over all rounds. */
const sums = new Map<PromiseId, { readonly begun: number; readonly opened: number }>()
let world: World
let former: Release
let present: Release
let books: () => Promise<Figures>

before(async () => {
  world = await openWorld()
  former = formerRelease(world)
  await removeRelease(world)
  await ensureSpace(world)
  await installFormer(world, 'install')
  await startModels(world)
  const idle = ['node', '-e', 'setInterval(() => {}, 1000)']
  await world.apply(
    clientPod({ name: ASKER, image: world.image, command: idle }),
    ...[aGateway(), keyObject, withdrawn.object],
  )
  await gatewayReady(world, NAME)
  books = await openBooks(world, NAME, TENANT)
})

after(async () => {
  await world.kubectl(['-n', SPACE, 'delete', 'pod', ASKER, '--ignore-not-found', '--wait=false'])
  await removeRelease(world)
})

function aGateway(further: object = {}): object {
  const redis = { url: '${secret:gw-redis/url}', timeout_ms: 2000, key_prefix: NAME }
  const plenty = { requests_per_minute: 1_000_000, burst: 1_000_000, concurrent_requests: 10_000 }
  const rate_limits = { backend: 'redis', redis, default: plenty }
  const budgets = [{ tenant: TENANT, tokens_per_day: 1_000_000_000, on_exceeded: 'reject' }]
  return gateway(NAME, { gw: { rate_limits, budgets, ...further }, spec: { replicas: 2 } })
}

/** All requests and streams that run meanwhile end well, and then the budget shows what the models served. */
async function underLoad(id: PromiseId, change: () => Promise<void>): Promise<void> {
  const load = await startLoad(world, `${NAME}-load`, { url, key, rate: RATE, streams: STREAMS })
  await load.reaches(RATE * 4, SECONDS_MAX)
  await change()
  const seconds = SECONDS_AFTER[id === 'back' ? 'last' : 'usual']
  await load.reaches((await load.report()).begun + RATE * seconds, SECONDS_MAX)
  const report = await load.stop()
  const { lost, begun, streams } = report
  assert.equal(lost + streams.cut + streams.refused, 0, describe(report))
  let figures = await books()
  const isIdle = async () => {
    figures = await books()
    return figures.running + figures.held === 0
  }
  await until('nothing runs and nothing is held', isIdle, SECONDS_MAX)
  const { served, charged } = figures
  assert.ok(served > 0)
  assert.equal(charged, served, 'the budget differs from what the models served')
  const sum = sums.get(id) ?? { begun: 0, opened: 0 }
  sums.set(id, { begun: sum.begun + begun, opened: sum.opened + streams.opened })
  const { begun: requests, opened } = sums.get(id) ?? sum
  show(
    id,
    `0 of ${requests} requests and 0 of ${opened} streams lost; ${charged} tokens charged of ${served} served`,
  )
}

async function upgrade(): Promise<void> {
  await ensureInstalled(world, ...redisValues())
  const [{ chart }] = JSON.parse(await world.helm('list', '-n', SYSTEM, '-o', 'json'))
  present = { chart, image: world.image }
  assert.notEqual(present.chart, former.chart)
  await isServedBy(world, NAME, present)
}

async function goBack(): Promise<void> {
  await allowWayBack(world)
  await installFormer(world, 'upgrade')
  await isServedBy(world, NAME, former)
}

async function statusesOf(one: string): Promise<string> {
  const ask = ['exec', ASKER, '--', 'node', '/client/asks.ts', url, one, 'chat', '6']
  return (await world.kubectl(['-n', SPACE, ...ask])).trim()
}

test('the last release becomes this one under load, and nothing is lost or counted twice', async () => {
  await underLoad('upgrade', upgrade)
})

test('a rollback that cannot read the newer types is refused before anything is rolled', async () => {
  // The last release does not know these limits; its types would drop them.
  const limits = [{ name: 'each-key', for: { each: 'key' }, concurrent_requests: 10_000 }]
  await world.apply(aGateway({ limits }), later.object, revocationOf(withdrawn.object))
  await gatewayReady(world, NAME)
  const before = await rolledObjects(world, NAME)
  await underLoad('refused', async () => {
    await assert.rejects(
      world.helm('rollback', 'gw', '1', '-n', SYSTEM, '--wait', '--timeout', '60s'),
      /would drop newer fields.*would roll the gateways to its own image/s,
    )
    assert.equal(await rolledObjects(world, NAME), before)
    const { gw } = await world.read('gatewayconfig', NAME)
    assert.deepEqual((gw as { readonly limits?: unknown }).limits, limits)
    // The way out that the guide names.
    await ensureInstalled(world, ...redisValues())
    await isServedBy(world, NAME, present)
    assert.equal(await rolledObjects(world, NAME), before)
  })
})

test('an allowed way back under load loses nothing, and keys stay made and revoked', async () => {
  await underLoad('back', goBack)
  assert.equal(await statusesOf(later.key), '200 200 200 200 200 200')
  assert.equal(await statusesOf(withdrawn.key), '401 401 401 401 401 401')
  for (let round = 1; round < ROUNDS; round++) {
    await underLoad('upgrade', upgrade)
    await underLoad('back', goBack)
  }
})

function revocationOf(object: object): object {
  const { spec, ...rest } = object as { readonly spec: object }
  const revoked = { at: new Date().toISOString(), reason: 'The drill withdraws it.' }
  return { ...rest, spec: { ...spec, revoked } }
}
