/** The control plane of these tests can restart, and leaves nothing behind. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { refusalOf } from '../helpers/kubernetes/kubectl.ts'
import { until } from '../helpers/until.ts'
import { startControlPlane } from './control-plane.ts'
import { sweepFormerRuns } from './sweep.ts'

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('the API server restarts with its data, and stop ends everything', async () => {
  const cluster = await startControlPlane()
  try {
    await cluster.kubectl(['create', 'configmap', 'kept'])
    await cluster.apiServer().stop('SIGKILL')
    assert.match(await refusalOf(cluster.kubectl(['get', 'configmap'])), /refused/)
    await cluster.restartApiServer()
    assert.match(await cluster.kubectl(['get', 'configmap', '-o', 'name']), /configmap\/kept/)
  } finally {
    await cluster.stop()
  }
  for (const daemon of [cluster.etcd, cluster.controllers, cluster.apiServer()]) {
    assert.ok(!isAlive(daemon.pid), daemon.name)
  }
  assert.ok(!existsSync(cluster.folder))
})

test('a new run removes the remains of a killed one', async () => {
  const source = `
    import { startControlPlane } from ${JSON.stringify(join(import.meta.dirname, 'control-plane.ts'))}
    const { etcd, controllers, apiServer, folder } = await startControlPlane()
    process.stdout.write(JSON.stringify({ folder, pids: [etcd.pid, controllers.pid, apiServer().pid] }) + "\\n")`
  const run = spawn(process.execPath, ['--input-type=module', '-e', source])
  run.stderr.pipe(process.stderr)
  const [line] = await once(createInterface(run.stdout), 'line')
  const { folder, pids } = JSON.parse(line)
  run.kill('SIGKILL')
  await once(run, 'close')
  assert.ok(pids.every(isAlive))
  await sweepFormerRuns()
  await until('the programs are gone', () => !pids.some(isAlive))
  assert.ok(!existsSync(folder))
})
