/**
 * The life of a pod's process: its arguments, its end in the middle of a push, and the age of
 * client connections.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { aKey } from '../helpers/a-key.ts'
import { after as afterwards, QUESTION, startUpstream, whole } from '../helpers/fake-upstream.ts'
import { until } from '../helpers/until.ts'
import {
  aConfiguration,
  allKeys,
  headFor,
  makeMounts,
  mountBundle,
  type PodOptions,
  type PodProcess,
  removeMounts,
  signed,
  startPod,
} from './pod.ts'

const PROGRAM = join(import.meta.dirname, '../../dataplane/main.ts')
const upstream = await startUpstream(whole())
after(() => upstream.close())
const { key, record } = aKey({ id: 'client' })
const gw = {
  upstreams: [{ name: 'fake', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'fake' }],
}

async function aPod(t: TestContext, env: PodOptions['env'] = {}): Promise<PodProcess> {
  const mounts = await makeMounts()
  await mountBundle(mounts, 'config.json', signed(mounts, aConfiguration(gw, { sequence: 1 })))
  await mountBundle(mounts, 'keys.json.gz', signed(mounts, allKeys([record], { sequence: 1 })))
  const pod = await startPod({ mounts, key, env })
  t.after(() => pod.process.stop())
  return pod
}

async function ending(args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...process.env, ...env } })
  const [[code], stderr] = await Promise.all([
    once(child, 'close'),
    Array.fromAsync(child.stderr.setEncoding('utf8')),
  ])
  return { code, said: stderr.join('') }
}

test('a missing setting of a pod ends the process with one sentence', async () => {
  const mounts = await makeMounts()
  const env = { GW_GATEWAY_UID: 'uid', GW_TRUST_DIR: mounts.trust }
  const bundle = ['--bundle', mounts.bundle]
  const cases = [
    { ...(await ending(bundle, { ...env, GW_GATEWAY_UID: '' })), code1: 1, word: 'GW_GATEWAY_UID' },
    { ...(await ending(bundle, { ...env, GW_TRUST_DIR: '' })), code1: 1, word: 'GW_TRUST_DIR' },
    { ...(await ending(bundle, { ...env, GW_PUSH_PORT: 'any' })), code1: 1, word: 'GW_PUSH_PORT' },
    { ...(await ending([...bundle, '--config', 'x'], env)), code1: 64, word: '--bundle' },
    { ...(await ending([], { GW_BUNDLE_DIR: mounts.bundle })), code1: 1, word: 'GW_TRUST_DIR' },
  ]
  for (const { code, said, code1, word } of cases) {
    assert.equal(code, code1, said)
    assert.match(said, /^error: .*\n$/)
    assert.ok(said.includes(word), said)
  }
  await removeMounts(mounts)
})

test('SIGTERM in the middle of a push ends the process with 0, and the document is applied completely or not at all', async (t) => {
  const pod = await aPod(t)
  const { hostname, port } = new URL(pod.pushUrl)
  const text = JSON.stringify(signed(pod.mounts, aConfiguration(gw, { sequence: 2 })))
  const half = connect({ host: hostname, port: Number(port) }).on('error', () => {})
  half.write(`${headFor(pod.mounts, '/config', text)}{`)
  const pushes = Array.from({ length: 20 }, (_, index) =>
    pod.push(aConfiguration(gw, { sequence: 3 + index })).catch(() => undefined),
  )
  await Promise.race(pushes)
  pod.process.signal('SIGTERM')
  const { code, signal } = await pod.process.exited
  assert.deepEqual({ code, signal }, { code: 0, signal: null })
  for (const pushed of await Promise.all(pushes)) {
    if (pushed !== undefined) assert.ok([200, 409, 503].includes(pushed.status))
  }
  half.destroy()
  assert.equal(pod.logged('crash').length, 0)
})

test('while it waits, it refuses requests in the usual form', async (t) => {
  const pod = await startPod({ mounts: await makeMounts(), until: 'waiting' })
  t.after(() => pod.process.stop())
  const heard = await pod.chat()
  assert.equal(heard.status, 503)
  const id = heard.headers['x-request-id']
  assert.match(String(id), /^[0-9a-f]+-1$/)
  assert.partialDeepStrictEqual(JSON.parse(heard.text).error, {
    type: 'api_error',
    param: null,
    code: 'ERR_GW_OVERLOADED',
    request_id: id,
  })
  assert.equal(heard.headers['retry-after'], '1')
  assert.equal(heard.headers['x-gw-route'], 'none')
  assert.equal(heard.headers['x-gw-upstream'], 'none')
  assert.equal((await fetch(`${pod.process.url}/healthz?from=balancer`)).status, 200)
})

test('SIGTERM while it waits ends the process with 0', async () => {
  const pod = await startPod({ mounts: await makeMounts(), until: 'waiting' })
  pod.process.signal('SIGTERM')
  assert.deepEqual(await pod.process.exited, { code: 0, signal: null })
})

test('while it drains, it still accepts a revocation and reports that it is not ready', async (t) => {
  const pod = await aPod(t, { GW_DRAIN_DELAY_SECONDS: undefined, GW_DRAIN_TIMEOUT_SECONDS: '60' })
  const hold = Promise.withResolvers<void>()
  upstream.script.push(afterwards(hold.promise, whole()))
  const waiting = pod.ask()
  await until('the upstream has the request', () => upstream.script.length === 0)
  pod.process.signal('SIGTERM')
  await until('it drains', async () => (await pod.status()).draining)
  await until('it is logged', () => pod.logged('drain').length > 0)
  assert.partialDeepStrictEqual(pod.logged('drain')[0], { delay: 10, timeout: 60 })
  assert.equal((await pod.status()).ready, false)
  pod.process.signal('SIGHUP')
  assert.equal((await pod.push(allKeys([], { sequence: 2 }))).status, 200)
  assert.equal((await pod.chat()).status, 401)
  hold.resolve()
  assert.equal((await waiting.over).status, 200)
  pod.process.signal('SIGTERM')
  assert.deepEqual(await pod.process.exited, { code: 0, signal: null })
})

test('an old connection is closed after an answer, and no request fails', async (t) => {
  const pod = await aPod(t, { GW_CONNECTION_AGE_SECONDS: '3' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async () => {
    const outgoing = request(`${pod.process.url}/v1/chat/completions`, {
      method: 'POST',
      agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    outgoing.end(JSON.stringify(QUESTION))
    const [incoming] = await once(outgoing, 'response')
    await incoming.resume().toArray()
    assert.equal(incoming.statusCode, 200)
    return { port: outgoing.socket?.localPort, connection: incoming.headers.connection }
  }
  const first = await ask()
  assert.notEqual(first.connection, 'close')
  let last = first
  await until('it is closed', async () => {
    last = await ask()
    return last.connection === 'close'
  })
  assert.equal(last.port, first.port)
  const next = await ask()
  assert.notEqual(next.port, first.port)
  assert.notEqual(next.connection, 'close')
  agent.destroy()
})
