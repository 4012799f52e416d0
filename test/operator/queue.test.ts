/** Each key is processed once at a time, is not lost, and is retried more slowly after failures. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ReconcileResult, WorkQueue } from '../../operator/kube/queue.ts'
import { until } from '../helpers/until.ts'

function aQueue(process: (key: string) => Promise<ReconcileResult>, concurrency = 2) {
  const failures: number[] = []
  const queue = new WorkQueue({
    concurrency,
    random: () => 1,
    process,
    onError: (_key, _error, retryMs) => failures.push(retryMs),
    backoffMs: { first: 5, most: 20 },
  })
  return { queue, failures }
}

test('a key that is added many times is processed once', async () => {
  const worked: string[] = []
  const { queue } = aQueue(async (key) => {
    worked.push(key)
    return undefined
  })
  for (let count = 0; count < 100; count++) queue.add('a')
  queue.start()
  await until('it is done', () => queue.depth === 0 && queue.active === 0)
  assert.deepEqual(worked, ['a'])
})

test('a key that changes during its processing is processed once more, never twice at a time', async () => {
  const gates: (() => void)[] = []
  let running = 0
  let most = 0
  const { queue } = aQueue(async () => {
    most = Math.max(most, ++running)
    await new Promise<void>((resolve) => gates.push(resolve))
    running--
    return undefined
  })
  queue.start()
  queue.add('a')
  queue.add('a')
  queue.add('a')
  await until('it runs', () => gates.length === 1)
  gates[0]?.()
  await until('it runs again', () => gates.length === 2)
  gates[1]?.()
  await until('it is over', () => queue.active === 0)
  assert.equal(gates.length, 2)
  assert.equal(most, 1)
})

test('one key that hangs does not delay the others', async () => {
  const worked: string[] = []
  const { queue } = aQueue(async (key) => {
    if (key === 'hangs') await new Promise(() => undefined)
    worked.push(key)
    return undefined
  })
  queue.start()
  for (const key of ['hangs', 'a', 'b', 'c']) queue.add(key)
  await until('the others are done', () => worked.length === 3)
})

test('failures are retried at growing intervals, which a success resets', async () => {
  let attempts = 0
  const { queue, failures } = aQueue(async () => {
    attempts++
    if (attempts < 5) throw new Error('not yet')
    return undefined
  })
  queue.start()
  queue.add('a')
  await until('it succeeds', () => attempts === 5)
  assert.deepEqual(failures, [5, 10, 20, 20])
})

test('a key that requests another run gets one', async () => {
  let attempts = 0
  const { queue } = aQueue(async () => (++attempts < 3 ? { againMs: 5 } : undefined))
  queue.start()
  queue.add('a')
  await until('it was', () => attempts === 3)
  await queue.stop()
})

test('a stopped queue waits for running work and starts nothing', async () => {
  const gate = Promise.withResolvers<undefined>()
  const worked: string[] = []
  const { queue } = aQueue(async (key) => {
    await gate.promise
    worked.push(key)
    return undefined
  }, 1)
  queue.start()
  queue.add('a')
  queue.add('b')
  const stopped = queue.stop()
  gate.resolve(undefined)
  await stopped
  assert.deepEqual(worked, ['a'])
})
