/**
 * Access to a stand-alone gateway: its default listeners, its admin socket, and its token on TCP.
 */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { parse, stringify } from 'yaml'
import { ask } from '../../cli/asking/admin-call.ts'
import { adminFolder, socketIn, tokenIn } from '../../dataplane/admin/place.ts'
import { type Front, startFront } from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { gw } from '../helpers/gw.ts'
import { until } from '../helpers/until.ts'

/** This also works for a gateway that the tool starts. */
process.env.UPSTREAM_KEY = 'upstream-credential'

const SECTION = {
  upstreams: [{ name: 'up', endpoint: 'http://127.0.0.1:1' }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
}
const folder = adminFolder(process.env) ?? ''
const front = await startFront({
  gateway: { listen_address: undefined, admin_port: undefined },
  ...SECTION,
})
const onTcp = await startFront(SECTION)
after(() => Promise.all([front.process.stop(), onTcp.process.stop()]))

const portOf = ({ process }: Front) => Number(new URL(process.url).port)
const socket = `unix:${socketIn(folder, portOf(front))}`
const modeOf = (path: string) => statSync(path).mode & 0o777

test('by default the gateway refuses other hosts on the network, and logs its addresses', async () => {
  const others = Object.values(networkInterfaces()).flat()
  const address = others.find((each) => each?.family === 'IPv4' && !each.internal)?.address
  for (const url of [front.process.url, front.process.metricsUrl]) {
    // 127.0.0.2 is also loopback, but the gateway is not bound to it.
    const foreign = url.replace('127.0.0.1', address ?? '127.0.0.2')
    await assert.rejects(fetch(foreign), { message: 'fetch failed' })
  }
  const start = await logged(front, 'start')
  assert.equal(start.listen_address, '127.0.0.1')
  const { url, metricsUrl } = front.process
  const places = `Clients: ${url}/v1, metrics: ${metricsUrl}/metrics, admin: ${socket}`
  assert.ok(String(start.message).endsWith(places), String(start.message))
})

test('the admin API is a socket that only its owner can use, and accepts a configuration', async () => {
  assert.equal(modeOf(socketIn(folder, portOf(front))), 0o600)
  assert.equal(modeOf(folder), 0o700)
  assert.ok(!existsSync(tokenIn(folder, portOf(front))))
  const { body } = await ask(socket, '/status')
  assert.deepEqual(Object(body).listeners.admin, [socket])
  const document = readFileSync(front.process.configFile, 'utf8')
  assert.equal((await ask(socket, '/config', { method: 'PUT', body: document })).status, 200)
})

test('the tool finds a gateway by its port, and asks for the port if there are several gateways', async () => {
  const one = await gw('limits', 'show', '--tenant', 'acme', '--admin', String(portOf(front)))
  assert.equal(one.code, 0, one.stderr)
  const several = await gw('status')
  assert.notEqual(several.code, 0)
  for (const each of [front, onTcp])
    assert.ok(several.stderr.includes(`--admin ${portOf(each)}`), several.stderr)
})

for (const [method, path] of [
  ['PUT', '/config'],
  ['GET', '/config'],
  ['GET', '/keys'],
  ['GET', '/traces'],
  ['GET', '/limits/acme'],
  ['GET', '/explain'],
  ['POST', '/upstreams/test'],
  ['POST', '/routes/test?route=chat'],
  ['GET', '/unknown'],
] as const) {
  test(`on TCP ${method} ${path} requires the token`, async () => {
    const answer = await fetch(onTcp.process.adminUrl + path, { method })
    assert.equal(answer.status, 401)
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
    assert.ok((await answer.text()).includes(tokenIn(folder, portOf(onTcp))))
  })
}

test('on TCP the status needs no token, and the tool reads the token itself', async () => {
  const { adminUrl, adminHeaders: headers } = onTcp.process
  assert.equal((await fetch(`${adminUrl}/status`)).status, 200)
  assert.equal(modeOf(tokenIn(folder, portOf(onTcp))), 0o600)
  assert.equal((await fetch(`${adminUrl}/config`, { headers })).status, 200)
  const shown = await gw('config', 'show', '--resolved', '--admin', adminUrl)
  assert.equal(shown.code, 0, shown.stderr)
  assert.doesNotMatch(onTcp.process.output(), new RegExp(headers.authorization?.slice(7) ?? ''))
})

for (const path of ['/usage?by=key&by=day', '/keys?prefix=a&prefix=b', '/traces?limit=1&limit=2']) {
  test(`${path} is refused because one parameter has two values`, async () => {
    const { adminUrl, adminHeaders: headers } = onTcp.process
    const answer = await fetch(adminUrl + path, { headers })
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /(by|prefix|limit)\\" is in the query 2 times; write it once/)
  })
}

test('a second gateway with the same port is refused, and files left by the first one are removed with it', async (t) => {
  const first = await started(t, {})
  const listen_port = portOf(first)
  const document = parse(readFileSync(first.process.configFile, 'utf8'))
  const ports = { metrics_port: await freePort(), admin_port: await freePort() }
  document.gw.gateway = { listen_address: '127.0.0.2', listen_port, ...ports }
  const file = join(dirname(first.process.configFile), 'second.yaml')
  writeFileSync(file, stringify(document))
  const second = await gw('run', '--file', file)
  assert.equal(second.code, 1)
  assert.match(second.stderr, /error: another gateway answers at .*\.sock; stop it or choose/)
  const left = [socketIn(folder, listen_port), tokenIn(folder, listen_port)]
  assert.deepEqual(left.map(existsSync), [true, true])
  await first.process.stop()
  assert.deepEqual(left.map(existsSync), [false, false])
})

test('a killed gateway leaves a socket, and the next gateway replaces it', async (t) => {
  const first = await started(t, {})
  const listen_port = portOf(first)
  first.process.signal('SIGKILL')
  await first.process.exited
  assert.ok(existsSync(socketIn(folder, listen_port)))
  await started(t, { listen_port })
  assert.equal((await ask(`unix:${socketIn(folder, listen_port)}`, '/status')).status, 200)
})

test('a gateway that starts removes sockets of killed gateways, and commands find the new one', async (t) => {
  const killed = [await started(t, {}), await started(t, {})]
  for (const { process: one } of killed) {
    one.signal('SIGKILL')
    await one.exited
  }
  const left = killed.flatMap((one) => [
    socketIn(folder, portOf(one)),
    tokenIn(folder, portOf(one)),
  ])
  assert.ok(left.every((path) => existsSync(path)))
  const other = await started(t, {})
  await until('the sockets are gone', () => left.every((path) => !existsSync(path)))
  for (const one of [front, onTcp, other]) assert.ok(existsSync(socketIn(folder, portOf(one))))
  assert.equal((await gw('status', '--admin', String(portOf(other)))).code, 0)
})

test('a running gateway keeps its token, even beside a socket that looks newly made', async (t) => {
  const killed = await started(t, {})
  killed.process.signal('SIGKILL')
  await killed.process.exited
  const left = socketIn(folder, portOf(killed))
  const hourAhead = Date.now() / 1000 + 3600
  utimesSync(left, hourAhead, hourAhead)
  const next = await started(t, {})
  assert.match(next.process.adminHeaders.authorization ?? 'no token', /^Bearer \S+$/)
  await until('the socket is gone', () => !existsSync(left))
})

test('a gateway that cannot create a socket still serves clients, and logs the reason', async (t) => {
  const runtime = mkdtempSync(join(tmpdir(), 'gw-open-'))
  t.after(() => rmSync(runtime, { recursive: true }))
  const shared = adminFolder({ XDG_RUNTIME_DIR: runtime }) ?? ''
  mkdirSync(shared)
  chmodSync(shared, 0o777)
  const open = await started(t, { admin_port: undefined }, { XDG_RUNTIME_DIR: runtime })
  const { message } = await logged(open, 'admin_socket')
  assert.match(String(message), /not offered: other users may write to .*gw-\d+/)
  assert.ok(!existsSync(socketIn(shared, portOf(open))))
})

test('GW_LISTEN_ADDRESS applies if the configuration sets no address', async (t) => {
  for (const [listen_address, expected] of [
    [undefined, '0.0.0.0'],
    ['127.0.0.1', '127.0.0.1'],
  ]) {
    const each = await started(t, { listen_address }, { GW_LISTEN_ADDRESS: '0.0.0.0' })
    assert.equal((await logged(each, 'start')).listen_address, expected)
  }
})

type Fields = Readonly<Record<string, unknown>>

/** Ends with the test, whether the test passes or fails. */
async function started(
  t: TestContext,
  gateway: Fields,
  env: Readonly<Record<string, string>> = {},
) {
  const one = await startFront({ ...SECTION, gateway }, { env })
  t.after(() => one.process.stop())
  return one
}

/** The log line is written after the event. */
async function logged(one: Front, event: string): Promise<Fields> {
  await until(`${event} is logged`, () => one.logged(event).length > 0)
  return one.logged(event)[0] ?? {}
}
