/**
 * A new configuration while running: applied completely or not at all, and requests notice only the
 * new route.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { constants, type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { aKey } from '../helpers/a-key.ts'
import {
  after as afterwards,
  anUpstream,
  failing,
  startFront,
  startUpstream,
  streaming,
  whole,
  wordsOf,
} from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { until } from '../helpers/until.ts'
import { RawSocket } from './hostile/raw-socket.ts'

type Section = Record<string, unknown>

const [old, fresh] = await Promise.all([startUpstream(), startUpstream()])
const front = await startFront({
  upstreams: [{ name: 'old', endpoint: old.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'old' }],
})
after(() => Promise.all([front.process.stop(), old.close(), fresh.close()]))
const { configFile } = front.process
const first = await readFile(configFile, 'utf8')

/** The document of the start, with other sections. */
function written(change: (gw: Section) => Section = () => ({})): string {
  const document = parse(first)
  return stringify({ ...document, gw: { ...document.gw, ...change(document.gw) } })
}

const withRoute = (name: string) =>
  written(() => ({
    routes: [
      { name: 'chat', strategy: 'single', primary: 'old' },
      { name, strategy: 'single', primary: 'old' },
    ],
  }))

/** The route uses the new upstream, and the old one is gone. */
const moved = written(() => ({
  upstreams: [anUpstream({ name: 'fresh', endpoint: fresh.url })],
  routes: [{ name: 'chat', strategy: 'single', primary: 'fresh' }],
}))

async function reloads(result: string): Promise<number> {
  return await front.value(`gw_config_reload_total{result="${result}"}`)
}

/** Resolves after one more reload with this result. */
async function reloaded(how: () => unknown, result = 'success'): Promise<void> {
  const before = await reloads(result)
  await how()
  await until('it reloads', async () => (await reloads(result)) > before)
}

async function put(document: string): Promise<Response> {
  const { adminUrl, adminHeaders: headers } = front.process
  return await fetch(`${adminUrl}/config`, { method: 'PUT', headers, body: document })
}

/** By PUT, so that the test need not wait; the file is still the one of the start. */
async function serve(document: string): Promise<void> {
  const answer = await put(document)
  assert.equal(answer.status, 200, await answer.text())
}

async function serves(model: string): Promise<boolean> {
  const { status } = await front.chat({ model })
  assert.ok(status === 200 || status === 404)
  return status === 200
}

beforeEach(async () => {
  for (const upstream of [old, fresh]) {
    upstream.asked.length = 0
    upstream.reply = whole()
  }
  if ((await readFile(configFile, 'utf8')) !== first)
    await reloaded(() => writeFile(configFile, first))
  await serve(first)
})

const ways: Readonly<Record<string, (text: string) => Promise<unknown>>> = {
  'a file that is written': (text) => writeFile(configFile, text),
  'a file that is replaced by renaming': async (text) => {
    await writeFile(`${configFile}.new`, text)
    await rename(`${configFile}.new`, configFile)
  },
  'PUT /config': serve,
}

for (const [way, change] of Object.entries(ways)) {
  test(`${way} serves a new route at the next request`, async () => {
    assert.equal(await serves('added'), false)
    await reloaded(() => change(withRoute('added')))
    assert.equal(await serves('added'), true)
    assert.equal(await serves('chat'), true)
  })
}

test('SIGHUP reads the file again', async () => {
  await serve(withRoute('put'))
  assert.equal(await serves('put'), true)
  await reloaded(() => front.process.signal('SIGHUP'))
  assert.equal(await serves('put'), false)
})

test('a large file that changes while it is being read is then applied too', async () => {
  const large = (text: string) => `${text}\n# ${'long '.repeat(100_000)}\n`
  const pipe = join(dirname(configFile), 'pipe')
  execFileSync('mkfifo', [pipe])
  const held = written(({ upstreams }) => ({
    upstreams: (upstreams as Section[]).map((one) => ({ ...one, api_key: `\${file:${pipe}}` })),
  }))
  await writeFile(configFile, large(held))
  front.process.signal('SIGHUP')
  // It blocks until it is opened for reading: the file has been read then, and its references have
  // not.
  const writer = constants.O_WRONLY | constants.O_NONBLOCK
  let opened: FileHandle | undefined
  await until('the pipe is being read', async () => {
    opened = await open(pipe, writer).catch(() => undefined)
    return opened !== undefined
  })
  await writeFile(configFile, large(withRoute('later')))
  front.process.signal('SIGHUP')
  await opened?.writeFile('sk-1')
  await opened?.close()
  await until('the change is taken', () => serves('later'))
  await rm(pipe)
  await writeFile(configFile, first)
  await until('the first configuration is active again', async () => !(await serves('later')))
})

test('a request in flight finishes on its first upstream, although a reload removed it', async () => {
  const hold = Promise.withResolvers<void>()
  old.reply = streaming({ hold: hold.promise })
  const stream = front.ask({ stream: true })
  await until('the first word arrives', () => stream.text().includes('hel'))
  old.reply = afterwards(hold.promise, whole('from the old'))
  const waiting = front.ask()
  await until('the old upstream has the request', () => old.asked.length === 2)
  await serve(moved)
  fresh.reply = whole('from the fresh')
  assert.match((await front.chat()).text, /from the fresh/)
  hold.resolve()
  assert.equal(wordsOf(await stream.over), 'hello')
  assert.match((await waiting.over).text, /from the old/)
  assert.equal(fresh.asked.length, 1)
})

test('a retry or a body that ends late still reaches the removed upstream', async () => {
  await serve(
    written(() => ({
      routes: [{ name: 'chat', strategy: 'single', primary: 'old', retry: { max_attempts: 2 } }],
    })),
  )
  const fails = Promise.withResolvers<void>()
  old.script.push(afterwards(fails.promise, failing(500)))
  const retried = front.ask()
  const body = '{"model":"chat","messages":[{"role":"user","content":"late"}]}'
  const late = new RawSocket(front.process.url)
  late.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${front.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 9)}`,
  )
  await until('the old upstream has the request', () => old.asked.length === 1)
  await until(
    'the body is begun',
    async () => (await front.admin('/status')).requests_in_flight === 1,
  )
  await serve(moved)
  fails.resolve()
  assert.equal((await retried.over).status, 200)
  late.send(body.slice(9))
  assert.ok(await late.until(() => late.answers.length === 1))
  assert.equal(late.answers[0]?.status, 200)
  assert.equal(late.answers[0]?.headers['x-gw-upstream'], 'old')
  late.leave()
  assert.equal(fresh.asked.length, 0)
})

test('a bad file changes nothing and is reported everywhere', async () => {
  const { config } = await front.admin('/status')
  const bad = written(() => ({ routes: [{ name: 'chat', strategy: 'single', primary: 'ghost' }] }))
  for (const text of [bad, 'gw: [', '']) {
    await reloaded(() => writeFile(configFile, text), 'failure')
    assert.equal((await front.chat()).status, 200)
  }
  await reloaded(() => writeFile(configFile, bad), 'failure')
  const logged = () => front.logged('config_reload').at(-1)
  await until('it is logged', () => /ghost/.test(String(logged()?.errors)))
  assert.partialDeepStrictEqual(logged(), { level: 'error', result: 'failure' })
  const status = await front.admin('/status')
  assert.equal(status.config.hash, config.hash)
  assert.equal(status.config.last_reload.result, 'failure')
  assert.match(String(status.config.last_reload.errors), /ghost/)
  assert.ok(Date.parse(status.config.last_reload.at) > Date.parse(config.last_reload.at))
})

test('keys change with the key file, and with a newly configured key file', async () => {
  const [one, two] = [aKey({ id: 'one' }), aKey({ id: 'two' })]
  const folder = configFile.replace(/[^/]+$/, '')
  const status = async ({ key }: { key: string }) =>
    (await front.ask({}, { authorization: `Bearer ${key}` }).over).status
  await writeFile(`${folder}one.yaml`, stringify([one.record]))
  await writeFile(`${folder}two.yaml`, stringify({ api_keys: [] }))
  await reloaded(() =>
    writeFile(
      configFile,
      written(() => ({ api_keys_file: 'one.yaml' })),
    ),
  )
  assert.deepEqual([await status(one), await status(two)], [200, 401])
  await reloaded(() => writeFile(`${folder}one.yaml`, stringify([one.record, two.record])))
  assert.deepEqual([await status(one), await status(two)], [200, 200])
  await reloaded(() =>
    writeFile(
      configFile,
      written(() => ({ api_keys_file: 'two.yaml' })),
    ),
  )
  assert.deepEqual([await status(one), await status(two)], [401, 401])
  await reloaded(() => writeFile(`${folder}two.yaml`, stringify([two.record])))
  assert.deepEqual([await status(one), await status(two)], [401, 200])
  await serve(written(() => ({ api_keys_file: 'one.yaml' })))
  assert.deepEqual([await status(one), await status(two)], [200, 200])
})

test('connections that are open have a new keepalive_seconds from their next answer on', async () => {
  const line = (more: string) => `GET /healthz HTTP/1.1\r\nHost: a\r\n${more}\r\n`
  // Only Node reads a request with an offer to upgrade.
  const sockets = ['', 'Connection: upgrade\r\nUpgrade: x\r\n'].map((more) => ({
    socket: new RawSocket(front.process.url),
    more,
  }))
  const kept = async (seconds: number) => {
    for (const { socket, more } of sockets) {
      const before = socket.answers.length
      socket.send(line(more))
      assert.ok(await socket.until(() => socket.answers.length > before))
      assert.equal(socket.answers[before]?.headers['keep-alive'], `timeout=${seconds}`, more)
    }
  }
  await kept(75)
  await serve(
    written(({ gateway }) => ({ gateway: { ...(gateway as Section), keepalive_seconds: 1 } })),
  )
  await kept(1)
  for (const { socket } of sockets) assert.ok(await socket.closes())
})

test('a changed port causes a warning until it is changed back', async () => {
  const warnings = () => front.logged('config_reload').filter(({ level }) => level === 'warn')
  const { gateway } = parse(first).gw
  const listen_port = await freePort()
  const other = (more: Section = {}) =>
    written(() => ({ gateway: { ...gateway, listen_port, ...more } }))
  await serve(other())
  await until('it warns', () => warnings().length === 1)
  assert.match(String(warnings()[0]?.message), /gateway\.listen_port .*next start/)
  assert.equal((await front.chat()).status, 200)
  await serve(other({ metrics_port: await freePort() }))
  await until('it warns about both', () => warnings().length === 3)
  const taken = front.logged('config_reload').length
  await serve(first)
  await until('it is logged', () => front.logged('config_reload').length === taken + 1)
  assert.equal(warnings().length, 3)
})

test('series of removed names are deleted, and a request that outlives its route leaves nothing', async () => {
  await serve(withRoute('brief'))
  const held = Promise.withResolvers<void>()
  assert.equal((await front.chat({ model: 'brief' })).status, 200)
  old.reply = afterwards(held.promise, whole())
  const late = front.ask({ model: 'brief' })
  await until('it is asked', () => old.asked.length === 2)
  const of = async (text: string) =>
    [...(await front.series())].filter(([name]) => name.includes(text))
  assert.notDeepEqual(await of('route="brief"'), [])
  await serve(moved)
  assert.deepEqual(await of('route="brief"'), [])
  assert.deepEqual(await of('upstream="old"'), [])
  held.resolve()
  assert.equal((await late.over).status, 200)
  await until('it is recorded', async () => (await front.admin('/status')).requests_in_flight === 0)
  assert.deepEqual(
    (await of('gw_requests_in_flight')).filter(([, value]) => value !== 0),
    [],
  )
  await serve(moved)
  assert.deepEqual(await of('route="brief"'), [])
})

test('60 reloads under load fail no request', { timeout: 900_000 }, async () => {
  let over = false
  const counts = { whole: 0, streams: 0 }
  old.reply = (outgoing, asked) =>
    (asked.body.stream === true ? streaming() : whole('hello'))(outgoing, asked)
  fresh.reply = old.reply
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    while (!over) {
      const stream = lane % 2 === 0
      const heard = await front.ask({ stream }).over
      assert.equal(heard.status, 200, heard.text)
      assert.equal(heard.cut, false)
      if (stream) assert.equal(wordsOf(heard), 'hello')
      counts[stream ? 'streams' : 'whole']++
    }
  })
  const load = Promise.all(lanes)
  const isUnderLoad = () =>
    Math.min(counts.whole, counts.streams) > 100 &&
    Math.min(old.asked.length, fresh.asked.length) > 50
  for (let index = 0; index < 60 || !isUnderLoad(); index++) {
    await serve(index % 2 === 0 ? moved : withRoute(`route-${index}`))
  }
  over = true
  await load
})
