/** `gw doctor`: one list of what works and what does not, with fixes. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { stringify } from 'yaml'
import { nodeCheck, versionCheck } from '../../cli/doctor/machine.ts'
import { clockCheck } from '../../cli/doctor/network.ts'
import { adminFolder, socketIn } from '../../dataplane/admin/place.ts'
import {
  aDocument,
  anUpstream,
  refusingUrl,
  startFront,
  startUpstream,
} from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { gw } from '../helpers/gw-here.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
const upstream = await startUpstream()
const front = await startFront({
  upstreams: [{ name: 'up', endpoint: upstream.url }],
  routes: [{ name: 'chat', strategy: 'single', primary: 'up' }],
})
after(async () => {
  await Promise.all([front.process.stop(), upstream.close()])
  await rm(folder, { recursive: true })
})
const admin = ['--admin', front.process.adminUrl]

interface Found {
  readonly check: string
  readonly subject: string
  readonly result: string
  readonly detail: string
  readonly fix?: string
}

async function found(...args: readonly string[]) {
  const { code, stdout, stderr } = await gw('doctor', ...admin, ...args, '-o', 'json')
  assert.equal(stderr, '')
  return { code, checks: JSON.parse(stdout).checks as Found[] }
}

async function aFile(name: string, gw: object): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, stringify(aDocument(gw as Parameters<typeof aDocument>[0])))
  return file
}

const ROUTES = [{ name: 'chat', strategy: 'single', primary: 'up' }]

test('a machine on which all is well ends with 0', async () => {
  const gateway = { listen_port: await freePort(), metrics_port: await freePort() }
  const upstreams = [anUpstream({ name: 'up', endpoint: upstream.url })]
  const file = await aFile('good.yaml', { gateway, upstreams, routes: ROUTES })
  const { code, checks } = await found('--file', file)
  assert.equal(code, 0)
  assert.ok(checks.every(({ result }) => result !== 'failed'))
  const kinds = new Set(checks.map(({ check }) => check))
  for (const kind of ['version', 'sockets', 'upstream', 'configuration', 'port', 'clock'])
    assert.ok(kinds.has(kind), kind)
})

test('an upstream, a Redis and a port that cannot be used are failures with a fix, and end with 1', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const dead = await refusingUrl()
  const file = await aFile('bad.yaml', {
    gateway: { listen_port: port, metrics_port: await freePort() },
    upstreams: [anUpstream({ name: 'up', endpoint: dead })],
    routes: ROUTES,
    rate_limits: { backend: 'redis', redis: { url: dead.replace('http', 'redis') } },
  })
  const { code, checks } = await found('--file', file)
  taken.close()
  assert.equal(code, 1)
  const failed = checks.filter(({ result }) => result === 'failed')
  assert.deepEqual(failed.map(({ check }) => check).sort(), ['port', 'redis', 'upstream'])
  for (const { detail, fix } of failed) {
    assert.match(detail, /ECONNREFUSED|EADDRINUSE/)
    assert.ok(fix !== undefined)
  }
})

test('a configuration with mistakes is a failure that names the first', async () => {
  const file = await aFile('wrong.yaml', { upstreams: [], routes: [{ name: 'chat' }] })
  const { code, checks } = await found('--file', file)
  assert.equal(code, 1)
  const one = checks.find(({ check }) => check === 'configuration')
  assert.deepEqual([one?.result, /gw config validate/.test(one?.fix ?? '')], ['failed', true])
})

test('a socket that a dead gateway left is reported, with the command that removes it', async (t) => {
  const place = adminFolder(process.env) ?? ''
  await mkdir(place, { recursive: true, mode: 0o700 })
  const path = socketIn(place, await freePort())
  const program = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.stdout.write('listens'))`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  t.after(() => rm(path, { force: true }))
  const { checks } = await found()
  const one = checks.find(({ subject }) => subject === path)
  assert.deepEqual([one?.result, one?.fix], ['warning', `Remove it: rm ${path}`])
})

test('a gateway that does not answer is a failure', async () => {
  const { code, stdout } = await gw('doctor', '--admin', await refusingUrl())
  assert.equal(code, 1)
  assert.match(stdout, /^gateway +failed/m)
  assert.match(stdout, /fix: Start it, or give its address with --admin\./)
})

test('an old Node, another release and a wrong clock are found', () => {
  assert.equal(nodeCheck('18.0.0').result, 'failed')
  assert.equal(versionCheck('here', '0.0.1').result, 'warning')
  const now = Date.parse('2026-01-01T00:01:00Z')
  assert.equal(clockCheck('Thu, 01 Jan 2026 00:00:58 GMT', 'up', now).result, 'ok')
  const wrong = clockCheck('Thu, 01 Jan 2026 00:00:00 GMT', 'up', now)
  assert.deepEqual([wrong.result, wrong.detail], ['warning', '60 s from up'])
})

test('the list for people has a fix for everything that is not ok', async () => {
  const { stdout } = await gw('doctor', ...admin)
  assert.match(stdout, /^CHECK +RESULT +SUBJECT +DETAIL$/m)
})
