/** A gateway of three processes: one port, one configuration, one set of figures, one end. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startFront, startUpstream, streaming } from '../../helpers/fake-upstream.ts'
import { startGateway } from '../../helpers/gateway-process.ts'
import { until } from '../../helpers/until.ts'
import { answersOfEach, processOf, untilAllServe, workersOf } from './rig.ts'

const upstream = await startUpstream()
const open = (env: Readonly<Record<string, string>> = {}) =>
  startFront(
    {
      gateway: { workers: 3, drain_timeout_seconds: 120 },
      upstreams: [{ name: 'up', endpoint: upstream.url }],
      routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    },
    { env },
  )
const front = await open()
after(async () => {
  await front.process.stop()
  await upstream.close()
})

test('all processes answer on one port, and metrics, traces and status are of all', async () => {
  const before = await front.value('gw_requests_total{route="chat",upstream="up",status="200"}')
  const answers = await answersOfEach(front, 3)
  for (const heard of answers.values()) {
    assert.equal((await front.trace(heard)).status, 200)
  }
  const after = await front.value('gw_requests_total{route="chat",upstream="up",status="200"}')
  const listed = (await front.admin('/traces')).traces
  const ids = listed.map(({ request_id }: { request_id: string }) => request_id)
  assert.equal(new Set(ids.map((id: string) => id.split('-')[0])).size, 3)
  assert.equal(after - before, ids.length)
  const { routes } = await front.admin('/activity')
  assert.equal(routes.find(({ name }: { name: string }) => name === 'chat').requests, after)
  assert.deepEqual(
    (await workersOf(front)).map(({ number }) => number),
    [2, 3],
  )
})

test('a changed file and a configuration that was put reach all, and a worker that starts again', async () => {
  const { configFile, adminUrl, adminHeaders } = front.process
  const text = await readFile(configFile, 'utf8')
  await writeFile(configFile, text.replace('name: chat', 'name: renamed'))
  const isEverywhere = async (hash: string) =>
    (await workersOf(front)).every((worker) => worker.hash === hash)
  const hashNow = async () => (await front.admin('/status')).config.hash
  const first = await hashNow()
  await until('the file is read', async () => (await hashNow()) !== first)
  await until('all have the file', async () => isEverywhere(await hashNow()))
  const put = await fetch(`${adminUrl}/config`, {
    method: 'PUT',
    headers: adminHeaders,
    body: text,
  })
  assert.equal(put.status, 200, await put.text())
  assert.ok(await isEverywhere(await hashNow()))
  const [worker] = await workersOf(front)
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  await until('it starts again', async () => (await workersOf(front))[0]?.starts === 2)
  await untilAllServe(front)
  assert.ok(await isEverywhere(await hashNow()))
})

test('a worker does not start with settings that wait for a restart of all', async () => {
  const { configFile } = front.process
  const text = (await readFile(configFile, 'utf8')).replace('name: renamed', 'name: chat')
  const hashNow = async () => (await front.admin('/status')).config.hash
  const before = await hashNow()
  const change = async (document: string, taken: () => Promise<boolean>) => {
    await writeFile(configFile, document)
    await until('the file is read', taken)
  }
  await change(
    text.replace('listen_address: 127.0.0.1', 'listen_address: 127.0.0.2'),
    async () => (await hashNow()) !== before,
  )
  const [worker] = await workersOf(front)
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  const why = 'error: gw.gateway.listen_address changed since the gateway started: restart it'
  await until('it gives the reason', () => front.process.output().includes(why))
  await change(text, async () => (await hashNow()) === before)
  await untilAllServe(front)
})

test('a killed worker takes no figures with it, and is counted', async () => {
  await answersOfEach(front, 3)
  const name = 'gw_requests_total{route="chat",upstream="up",status="200"}'
  const before = await front.value(name)
  const endsBefore = await front.value('gw_worker_ends_total')
  const [, worker] = await workersOf(front)
  process.kill(worker?.pid ?? 0, 'SIGKILL')
  await until('it starts again', async () => (await workersOf(front))[1]?.starts === 2)
  // It cannot take the signal yet.
  front.process.signal('SIGHUP')
  await untilAllServe(front)
  assert.equal((await workersOf(front))[1]?.starts, 2)
  assert.equal(await front.value(name), before)
  assert.equal(await front.value('gw_worker_ends_total'), endsBefore + 1)
  assert.match(JSON.stringify(front.logged('worker')), /Worker 3 ended with SIGKILL/)
})

test('another gateway cannot share the port by mistake', async () => {
  const port = Number(new URL(front.process.url).port)
  const config = {
    apiVersion: 'inference.gw/v1',
    kind: 'GatewayConfig',
    gw: {
      gateway: { workers: 2, listen_port: port },
      upstreams: [
        { name: 'up', provider: 'vllm', endpoint: upstream.url, model: 'm', context_window: 8192 },
      ],
      routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
    },
  }
  // The first one answers for it.
  const second = await startGateway({ config })
  assert.deepEqual(await second.exited, { code: 1, signal: null })
  assert.match(second.output(), new RegExp(`:${port} is in use`))
})

test('a signal lets the streams of all processes end, and a process without the first one ends', async () => {
  const own = await open()
  const held = Promise.withResolvers<void>()
  upstream.reply = streaming({ hold: held.promise })
  const streams = new Map<string, ReturnType<typeof own.ask>>()
  await until('each process has a stream', async () => {
    const asking = own.ask({ stream: true })
    streams.set(processOf(await asking.head), asking)
    return streams.size === 3
  })
  const pids = (await workersOf(own)).map(({ pid }) => pid)
  own.process.signal('SIGTERM')
  await until('all drain', () => own.logged('drain').length === 3)
  // A terminal signals each process, and so does systemd.
  for (const pid of pids) process.kill(pid, 'SIGINT')
  await Promise.all(Array.from({ length: 3 }, () => own.admin('/traces')))
  held.resolve()
  for (const { over } of streams.values()) assert.equal((await over).cut, false)
  assert.deepEqual(await own.process.exited, { code: 0, signal: null })
  assert.deepEqual(pids.filter(isAlive), [])
  // The first one passes on the last lines of the others.
  assert.equal(own.logged('stop').length, 3)
  const folder = await mkdtemp(join(tmpdir(), 'a folder%20?#'))
  const orphaned = await open({ TMPDIR: folder })
  await untilAllServe(orphaned)
  assert.equal(await storesIn(folder), 1)
  const orphans = (await workersOf(orphaned)).map(({ pid }) => pid)
  orphaned.process.signal('SIGKILL')
  await until('its workers end', () => orphans.filter(isAlive).length === 0)
  assert.equal(await storesIn(folder), 0)
  await rm(folder, { recursive: true })
})

test('a second signal cuts the streams of all processes', async () => {
  upstream.reply = streaming({ hold: new Promise(() => undefined) })
  const streams = new Map<string, ReturnType<typeof front.ask>>()
  await until('each process has a stream', async () => {
    const asking = front.ask({ stream: true })
    streams.set(processOf(await asking.head), asking)
    return streams.size === 3
  })
  front.process.signal('SIGINT')
  await until('all drain', () => front.logged('drain').length === 3)
  const ends: string[] = []
  for (const { over } of streams.values()) void over.then(({ text }) => ends.push(text))
  front.process.signal('SIGINT')
  // Well before an upstream that sends nothing is given up.
  await until('all streams end', () => ends.length === 3, 30)
  for (const text of ends) assert.match(text, /ERR_GW_STREAM_ABORTED/)
  assert.deepEqual(await front.process.exited, { code: 0, signal: null })
})

async function storesIn(folder: string): Promise<number> {
  const names = await readdir(folder)
  return names.filter((name) => name.startsWith('gw-store-')).length
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
