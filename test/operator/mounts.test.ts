/** Pods that wait for a mounted file. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MOUNTS_ANNOTATION } from '../../operator/kube/names.ts'
import { MountKeeper } from '../../operator/reconcilers/mounts.ts'
import { aPod } from './a-status.ts'

const lacking = (name: string) => {
  const reference = '${secret:provider/key}'
  return aPod(name, undefined, { unresolved: [{ upstream: 'a', reference, why: 'no Secret' }] })
}

function aKeeper() {
  const world = { now: 0, touched: [] as string[] }
  const keeper = new MountKeeper({
    api: {
      async apply(_resource, object) {
        const { name, annotations } = object.metadata
        assert.ok(annotations?.[MOUNTS_ANNOTATION])
        world.touched.push(name)
        return object
      },
    },
    wallClock: () => world.now,
    clock: () => world.now,
    onError: assert.ifError,
  })
  return { keeper, world }
}

test('the operator renews the mounts of a pod that lacks a Secret at once, and again while the Secret is missing', async () => {
  const { keeper, world } = aKeeper()
  const againMs = await keeper.renew('ai/g', 'ai', [lacking('a'), aPod('b')])
  assert.deepEqual(world.touched, ['a'])
  assert.equal(againMs, 5000)
  world.now = 4999
  await keeper.renew('ai/g', 'ai', [lacking('a')])
  assert.deepEqual(world.touched, ['a'])
  world.now = 5000
  assert.equal(await keeper.renew('ai/g', 'ai', [lacking('a')]), 7500)
  assert.deepEqual(world.touched, ['a', 'a'])
  assert.equal(await keeper.renew('ai/g', 'ai', [aPod('a')]), undefined)
})

test('the operator renews the mounts of a pod that does not know its public key', async () => {
  const { keeper, world } = aKeeper()
  const untrusted = { state: 'rejected', isUntrusted: true } as const
  await keeper.renew('ai/g', 'ai', [aPod('a', untrusted)])
  assert.deepEqual(world.touched, ['a'])
})

test('a mount cannot provide a missing variable', async () => {
  const { keeper, world } = aKeeper()
  const unresolved = [{ upstream: 'a', reference: '${env:KEY}', why: 'not set' }]
  assert.equal(await keeper.renew('ai/g', 'ai', [aPod('a', undefined, { unresolved })]), undefined)
  assert.deepEqual(world.touched, [])
})

test("after an hour the kubelet's own interval is enough", async () => {
  const { keeper, world } = aKeeper()
  await keeper.renew('ai/g', 'ai', [lacking('a')])
  world.now = 3_600_000
  assert.equal(await keeper.renew('ai/g', 'ai', [lacking('a')]), undefined)
  assert.deepEqual(world.touched, ['a'])
})
