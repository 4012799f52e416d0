/** A worker that hangs: what has to reach it is not confirmed, another one replaces it, and it does not delay the end. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { startFront, startUpstream } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { untilAllServe, workersOf } from './rig.ts'

const upstream = await startUpstream()
const front = await startFront({
  gateway: { workers: 2, drain_timeout_seconds: 60 },
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
})
after(async () => {
  await front.process.stop()
  await upstream.close()
})
await untilAllServe(front)

async function stopWorker(): Promise<void> {
  const [worker] = await workersOf(front)
  process.kill(worker?.pid ?? 0, 'SIGSTOP')
}

test('a configuration that a worker may not have is not confirmed, and the worker is replaced', async () => {
  const { configFile, adminUrl, adminHeaders } = front.process
  const body = (await readFile(configFile, 'utf8')).replace('name: chat', 'name: renamed')
  await stopWorker()
  const put = await fetch(`${adminUrl}/config`, { method: 'PUT', headers: adminHeaders, body })
  assert.equal(put.status, 503)
  assert.match(await put.text(), /Worker 2 of the gateway did not answer\. .*send it again/)
  await until('another one serves', async () => {
    const [worker] = await workersOf(front)
    return worker?.starts === 2 && worker.state === 'serving' && worker.hash !== undefined
  })
  const [worker] = await workersOf(front)
  assert.equal(worker?.hash, (await front.admin('/status')).config.hash)
})

test('two signals end a gateway of which a worker hangs', async () => {
  await stopWorker()
  front.process.signal('SIGTERM')
  await until('it drains', () => front.logged('drain').length > 0)
  front.process.signal('SIGTERM')
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
})
