import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { cases } from '../../helpers/cases.ts'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { recordResult } from '../../helpers/results.ts'
import { ANSWERS } from '../../helpers/store/histories.ts'
import type { Order } from './model-worker.ts'

const HISTORIES = cases(6000, 100_000)

const THREADS = 2

let server: RedisServer
before(async () => {
  server = await startRedis()
})
after(() => server.stop())

/** Rejects with the first differing history, and how to reproduce it. */
async function compared(order: Order): Promise<readonly string[]> {
  const worker = new Worker(new URL('model-worker.ts', import.meta.url), { workerData: order })
  const [answers] = await once(worker, 'message')
  return answers
}

test('over random histories every answer of Redis equals that of the full history', async () => {
  const seed = Date.now() % 2 ** 30
  const answers = await Promise.all(
    Array.from({ length: THREADS }, (_, index) =>
      compared({
        socket: server.socket,
        histories: HISTORIES / THREADS,
        seed: seed + index * HISTORIES,
        name: `${index}-`,
      }),
    ),
  )
  assert.deepEqual([...new Set(answers.flat())].toSorted(), ANSWERS)
  recordResult('model', '0 mismatches', `${HISTORIES} histories in Redis`)
})
