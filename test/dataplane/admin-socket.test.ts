/** The folder of the admin socket: its owner, and the files of a dead gateway. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { adminFolder, socketIn } from '../../dataplane/admin/place.ts'
import {
  clearSocket,
  prepareFolder,
  SocketError,
  sweepSockets,
  writeToken,
} from '../../dataplane/admin/socket.ts'
import { node } from '../helpers/gw.ts'

const home = mkdtempSync(join(tmpdir(), 'gw-sock-'))
after(() => rmSync(home, { recursive: true }))
const modeOf = (path: string) => statSync(path).mode & 0o777

test('the folder is that of the user, in XDG_RUNTIME_DIR or /tmp', () => {
  const uid = process.getuid?.()
  assert.equal(adminFolder({}), `/tmp/gw-${uid}`)
  assert.equal(adminFolder({ XDG_RUNTIME_DIR: '' }), `/tmp/gw-${uid}`)
  assert.equal(adminFolder({ XDG_RUNTIME_DIR: '/run/user/7' }), `/run/user/7/gw-${uid}`)
})

test('the folder is created for its owner only, and one that others may read is closed', () => {
  const made = join(home, 'made')
  prepareFolder(made)
  assert.equal(modeOf(made), 0o700)
  chmodSync(made, 0o755)
  prepareFolder(made)
  assert.equal(modeOf(made), 0o700)
})

test('a folder that others may write to, a link and a file are refused and do not change', () => {
  const open = join(home, 'open')
  mkdirSync(open)
  chmodSync(open, 0o770)
  symlinkSync(join(home, 'made'), join(home, 'link'))
  writeFileSync(join(home, 'file'), '')
  for (const [name, why] of [
    ['open', /other users may write/],
    ['link', /symbolic link/],
    ['file', /not a folder/],
    ['absent/folder', /ENOENT/],
  ] as const) {
    assert.throws(() => prepareFolder(join(home, name)), { message: why })
  }
  assert.equal(modeOf(open), 0o770)
})

test('a socket without a listener is removed, one that answers is left', async () => {
  const path = join(home, 'x.sock')
  // Its process ends without removing it.
  const listen = `net.createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  await node('--input-type=module', '--eval', `import net from 'node:net'; ${listen}`)
  assert.ok(statSync(path).isSocket())
  await clearSocket(path)
  assert.ok(!existsSync(path))
  const server = createServer().listen(path)
  await once(server, 'listening')
  await assert.rejects(clearSocket(path), /^Error: another gateway answers at .*x\.sock/)
  assert.ok(statSync(path).isSocket())
  server.close()
})

/** Sockets whose processes are gone, by their ports. */
async function deadSockets(folder: string, ports: readonly number[]): Promise<void> {
  const paths = JSON.stringify(ports.map((port) => socketIn(folder, port)))
  await node(
    '--input-type=module',
    '--eval',
    `import net from 'node:net'; let open = 0
     for (const path of ${paths}) net.createServer().listen(path, () => {
       if (++open === ${ports.length}) process.kill(process.pid, 'SIGKILL')
     })`,
  )
}

test('a start removes sockets that refuse, with their tokens, and nothing else', async () => {
  const folder = join(home, 'swept')
  prepareFolder(folder)
  const ports = Array.from({ length: 250 }, (_, index) => 10_000 + index)
  await deadSockets(folder, ports)
  const live = createServer().listen(socketIn(folder, 8080))
  await once(live, 'listening')
  const kept = ['8080.sock', '8080.token', '9000.sock', 'notes', 'x.sock']
  for (const name of ['10000.token', '8080.token', '9000.sock', 'notes', 'x.sock'])
    writeFileSync(join(folder, name), '')
  assert.equal(readdirSync(folder).length, 256)
  await sweepSockets(folder)
  assert.deepEqual(readdirSync(folder).toSorted(), kept)
  live.close()
})

test('gateways and commands of tests use a folder of the test', async () => {
  const { stdout } = await node('-p', 'process.env.XDG_RUNTIME_DIR')
  assert.equal(stdout.trim(), process.env.XDG_RUNTIME_DIR)
  assert.ok(stdout.startsWith(join(tmpdir(), 'gw-run-')), stdout)
})

test('a folder that cannot be read is not changed', async () => {
  await assert.doesNotReject(sweepSockets(join(home, 'absent')))
  assert.ok(!existsSync(join(home, 'absent')))
})

test('a file that is not a socket is not removed, and a path that is too long is reported', async () => {
  const path = join(home, 'file')
  await assert.rejects(clearSocket(path), SocketError)
  assert.ok(existsSync(path))
  await assert.rejects(clearSocket(join(home, 'x'.repeat(120))), /longer than the 10\d bytes/)
})

test('only its owner may read the token, even if an old one was open', () => {
  const path = join(home, 'x.token')
  writeFileSync(path, 'old', { mode: 0o644 })
  writeToken(path, 'new')
  assert.equal(modeOf(path), 0o600)
  assert.equal(readFileSync(path, 'utf8'), 'new\n')
})
