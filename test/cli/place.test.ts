/** Whom a command asks when little is said. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { Command } from 'commander'
import { isGatewayAt } from '../../cli/connection.ts'
import { addPlace, type PlaceOptions, placeOf } from '../../cli/place.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-test-'))
const kubeconfig = join(folder, 'config')
await writeFile(kubeconfig, '')
const before = { ...process.env }
after(async () => {
  process.env = before
  await rm(folder, { recursive: true })
})
beforeEach(() => {
  process.env = { ...before, HOME: folder }
  delete process.env.KUBECONFIG
  delete process.env.GW_ADMIN
})

function placeFor(...args: readonly string[]) {
  const command = addPlace(new Command('any')).action(() => {})
  command.parse(args, { from: 'user' })
  return placeOf(command.opts<PlaceOptions>(), command)
}

test('nothing said and no kubeconfig: the gateway of this machine', () => {
  assert.deepEqual(placeFor(), { kind: 'stand-alone', admin: 'http://127.0.0.1:9091' })
})

test('a kubeconfig leads to its cluster, and GW_ADMIN beats it', () => {
  process.env.KUBECONFIG = kubeconfig
  assert.equal(placeFor().kind, 'cluster')
  process.env.GW_ADMIN = 'http://127.0.0.1:1'
  assert.deepEqual(placeFor(), { kind: 'stand-alone', admin: 'http://127.0.0.1:1' })
})

test('what is said of a cluster beats GW_ADMIN', () => {
  process.env.GW_ADMIN = 'http://127.0.0.1:1'
  assert.partialDeepStrictEqual(placeFor('-n', 'ai', '--gateway', 'production'), {
    kind: 'cluster',
    namespace: 'ai',
    gateway: 'production',
  })
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
