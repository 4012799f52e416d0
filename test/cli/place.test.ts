/** The gateway that a command asks when few options are given. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { after, beforeEach, mock, test } from 'node:test'
import { Command } from 'commander'
import { ADMIN_DEFAULT, askAdmin, isGatewayAt } from '../../cli/asking/connection.ts'
import { addPlace, type PlaceOptions, placeOf } from '../../cli/asking/place.ts'
import { adminFolder, socketIn } from '../../dataplane/admin/place.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
const kubeconfig = join(folder, 'config')
await writeFile(kubeconfig, '')
const before = { ...process.env }
after(async () => {
  process.env = before
  await rm(folder, { recursive: true })
})

/** Whether a gateway answers where one does that says nothing else; what this machine has there is no part of these tests. */
let answersByDefault = false
const network = globalThis.fetch
mock.method(globalThis, 'fetch', async (...asked: Parameters<typeof fetch>) => {
  if (!String(asked[0]).startsWith(ADMIN_DEFAULT)) return await network(...asked)
  if (!answersByDefault) throw new TypeError('fetch failed')
  return Response.json({ upstreams: [] })
})

let runtime = ''
beforeEach(async () => {
  answersByDefault = false
  runtime = await mkdtemp(join(folder, 'run-'))
  process.env = { ...before, HOME: folder, XDG_RUNTIME_DIR: runtime }
  delete process.env.KUBECONFIG
  delete process.env.GW_ADMIN
})

async function placeFor(...args: readonly string[]) {
  const command = addPlace(new Command('any')).action(() => {})
  command.parse(args, { from: 'user' })
  return await placeOf(command.opts<PlaceOptions>(), command)
}

/** A gateway's socket, as far as it is looked at. */
async function aSocket(port: number): Promise<string> {
  const at = adminFolder(process.env) ?? ''
  await mkdir(at, { mode: 0o700, recursive: true })
  const body = JSON.stringify({ upstreams: [], config: { file: `${port}.yaml` } })
  const server = createServer((_, outgoing) => outgoing.end(body)).listen(socketIn(at, port))
  server.unref()
  await once(server, 'listening')
  return `unix:${socketIn(at, port)}`
}

test('without options, kubeconfig and gateway, one sentence tells what to do', async () => {
  await assert.rejects(placeFor(), /^Error: No gateway of this user runs .*`gw run --file FILE`/)
})

test('nothing said and no kubeconfig: the only gateway of this machine', async () => {
  const one = await aSocket(8080)
  assert.deepEqual(await placeFor(), { kind: 'stand-alone', admin: one })
})

test('nothing said, no kubeconfig and no socket: a gateway at the usual port', async () => {
  answersByDefault = true
  assert.deepEqual(await placeFor(), { kind: 'stand-alone', admin: ADMIN_DEFAULT })
})

test('several gateways of this machine are listed, and the user must name one', async () => {
  const [one, other] = [await aSocket(8080), await aSocket(8081)]
  await assert.rejects(placeFor(), (error: Error) => {
    assert.ok(error.message.includes(`--admin 8080 (8080.yaml, ${one})`), error.message)
    assert.ok(error.message.includes(`--admin 8081 (8081.yaml, ${other})`), error.message)
    return true
  })
})

test('a socket without a listener does not count as a gateway, nor does one in a folder that everyone may write to', async () => {
  const one = await aSocket(8080)
  await writeFile(join(runtime, 'unused'), '')
  await rename(join(runtime, 'unused'), one.slice('unix:'.length))
  await assert.rejects(placeFor(), /No gateway of this user runs/)
  const other = await aSocket(8081)
  assert.deepEqual(await placeFor(), { kind: 'stand-alone', admin: other })
  await chmod(dirname(other.slice('unix:'.length)), 0o777)
  await assert.rejects(placeFor(), /No gateway of this user runs/)
})

test('with hundreds of files in the folder, the gateway that runs is found, and by its port too', async () => {
  const at = adminFolder(process.env) ?? ''
  await mkdir(at, { mode: 0o700, recursive: true })
  // Names that come before it, in any order of names: files of others, and sockets without a listener.
  await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      await writeFile(socketIn(at, 10_000 + index), '')
      await writeFile(join(at, `${10_000 + index}.token`), '')
    }),
  )
  const one = await aSocket(9999)
  assert.deepEqual(await placeFor(), { kind: 'stand-alone', admin: one })
  assert.equal((await askAdmin('9999', '/status')).status, 200)
})

test('a kubeconfig leads to its cluster, and GW_ADMIN beats it', async () => {
  process.env.KUBECONFIG = kubeconfig
  assert.equal((await placeFor()).kind, 'cluster')
  process.env.GW_ADMIN = 'http://127.0.0.1:1'
  assert.deepEqual(await placeFor(), { kind: 'stand-alone', admin: 'http://127.0.0.1:1' })
})

test('what is said of a cluster beats GW_ADMIN', async () => {
  process.env.GW_ADMIN = 'http://127.0.0.1:1'
  assert.partialDeepStrictEqual(await placeFor('-n', 'ai', '--gateway', 'production'), {
    kind: 'cluster',
    namespace: 'ai',
    gateway: 'production',
  })
})

for (const [given, meant] of [
  ['https://gateway.example/admin', 'https://gateway.example/admin'],
  ['unix:/run/gw.sock', 'unix:/run/gw.sock'],
  ['unix:///run/gw.sock', 'unix:/run/gw.sock'],
  ['/run/gw.sock', 'unix:/run/gw.sock'],
  ['./gw.sock', `unix:${resolve('gw.sock')}`],
  ['8080', '8080'],
] as const) {
  test(`--admin ${given} is ${meant}`, async () => {
    const expected = { kind: 'stand-alone', admin: meant }
    assert.deepEqual(await placeFor('--admin', given), expected)
  })
}

test('a port is the socket of the gateway that listens there, else a port of loopback', async () => {
  await aSocket(8080)
  assert.equal((await askAdmin('8080', '/status')).status, 200)
  await assert.rejects(
    askAdmin('1', '/status'),
    /^Error: No gateway answers at http:\/\/127\.0\.0\.1:1 /,
  )
})

test('something else that answers is taken for no gateway', async () => {
  const server = createServer((_, outgoing) => outgoing.end('{"status":"success"}')).listen(0)
  await new Promise((resolve) => server.once('listening', resolve))
  // A server that listens on a port has an address of this kind.
  const { port } = server.address() as AddressInfo
  assert.equal(await isGatewayAt(`http://127.0.0.1:${port}`), false)
  server.close()
  server.closeAllConnections()
})
