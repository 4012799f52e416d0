import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { BroadcastChannel } from 'node:worker_threads'
import fc from 'fast-check'
import { Keeper, openEmbedded } from '../../../../dataplane/store/embedded/embedded.ts'
import { Journal } from '../../../../dataplane/store/embedded/journal.ts'
import { LuaVm } from '../../../../dataplane/store/embedded/vm.ts'
import { COUNTERS_FILE as FILE_NAME } from '../../../../dataplane/store/state-folder.ts'
import { cases } from '../../../helpers/cases.ts'
import { aClock } from '../../../helpers/clock.ts'
import { openOnSocket } from '../../../helpers/store/socket-client.ts'

function aFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'gw-embedded-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const clock = aClock()

async function opened(stateDir: string, onFailure: (error?: Error) => void = assert.ifError) {
  const vm = await LuaVm.open()
  const journal = new Journal({ stateDir, vm, wall: clock.wall, onFailure })
  return {
    vm,
    journal,
    run(lua: string, ...args: readonly (string | Buffer)[]): string {
      const call = [lua, lua, 0, clock.wall(), 0, ...args]
      return vm.call('run', call)[0]?.toString('latin1') ?? ''
    },
  }
}

const CALL = 'return redis.pcall(unpack(ARGV))'

/** Everything that is known of the keys, in an order. */
const DUMP = `
local all = {}
for i, key in ipairs(ARGV) do
  local text = redis.pcall('GET', key)
  if type(text) ~= 'table' then all[i] = text or 'none' else
    local fields, pairs = redis.call('HGETALL', key), {}
    for j = 1, #fields, 2 do pairs[#pairs + 1] = fields[j] .. '=' .. fields[j + 1] end
    table.sort(pairs)
    all[i] = pairs
  end
end
return all
`

const KEYS = ['a', 'b', 'ü\0']
const key = fc.constantFrom(...KEYS)
const field = fc.constantFrom('f', '', 'g\0')
const value = fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes))
const step = fc.oneof(
  fc.tuple(fc.constant('SET'), key, value),
  fc.tuple(fc.constant('SET'), key, value, fc.constant('PX'), fc.constantFrom('5', '90000')),
  fc.tuple(fc.constant('HSET'), key, field, value),
  fc.tuple(fc.constant('HDEL'), key, field),
  fc.tuple(fc.constant('PEXPIRE'), key, fc.constantFrom('0', '5', '90000')),
  fc.tuple(fc.constantFrom('flush', 'wait')),
) as fc.Arbitrary<readonly (string | Buffer)[]>

test('after a restart every value is what it was, and expires when it would have', async (context) => {
  const folder = aFolder(context)
  let number = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const stateDir = join(folder, `${number++}`)
      const first = await opened(stateDir)
      for (const [name = '', ...args] of steps) {
        if (name === 'flush') assert.ok(first.journal.flush())
        else if (name === 'wait') clock.pass(10)
        else first.run(CALL, name, ...args)
      }
      const before = first.run(DUMP, ...KEYS)
      first.journal.close()
      const second = await opened(stateDir)
      assert.equal(second.run(DUMP, ...KEYS), before)
      clock.pass(100_000)
      assert.equal(second.run(DUMP, ...KEYS), first.run(DUMP, ...KEYS))
      second.journal.close()
    }),
    { numRuns: cases(20, 1_000) },
  )
})

test('the file has the rows of what is there, and no others', async (context) => {
  const folder = aFolder(context)
  const { run, journal } = await opened(folder)
  run(CALL, 'HSET', 'h', 'f', '1', 'g', '2')
  run(CALL, 'SET', 's', '1')
  assert.ok(journal.flush())
  run(CALL, 'HDEL', 'h', 'f')
  run(CALL, 'PEXPIRE', 's', '0')
  journal.close()
  const database = new DatabaseSync(join(folder, FILE_NAME))
  const rows = database.prepare('SELECT CAST(key AS TEXT) key, CAST(part AS TEXT) part FROM parts')
  assert.deepEqual(
    rows.all().map(({ key, part }) => [key, part]),
    [['h', 'fg']],
  )
  database.close()
  assert.equal(statSync(join(folder, FILE_NAME)).mode & 0o777, 0o600)
})

test('kill -9 keeps what was written; a torn end of the file costs only the last write', async (context) => {
  const folder = aFolder(context)
  const dump = async () => {
    const { run, journal } = await opened(folder)
    journal.close()
    return run(DUMP, 'first', 'second', 'third').match(/\$\d+/g)
  }
  const killed = () =>
    spawnSync(process.execPath, [join(import.meta.dirname, 'kept-process.ts'), folder])
  assert.equal(killed().signal, 'SIGKILL')
  assert.deepEqual(await dump(), ['$5000', '$5000', '$4'])
  rmSync(folder, { recursive: true })
  killed()
  const log = join(folder, `${FILE_NAME}-wal`)
  truncateSync(log, statSync(log).size - 100)
  assert.deepEqual(await dump(), ['$5000', '$4', '$4'])
})

test('a write that fails is reported once, and repeated with what has changed since', async (context) => {
  const folder = aFolder(context)
  const reports: (string | undefined)[] = []
  const { run, journal } = await opened(folder, (error) => void reports.push(error?.message))
  const full = context.mock.method(DatabaseSync.prototype, 'exec', () => {
    throw new Error('database or disk is full')
  })
  for (const text of ['1', '2', '3']) {
    run(CALL, 'SET', 'a', text)
    assert.equal(journal.flush(), false)
  }
  full.mock.restore()
  assert.ok(journal.flush())
  assert.deepEqual(reports, ['database or disk is full', undefined])
  journal.close()
  const second = await opened(folder)
  assert.match(second.run(DUMP, 'a'), /\$1\r\n3/)
  second.journal.close()
})

test('in its thread the store keeps its values too, and unlocks the folder at the end', async (context) => {
  const folder = aFolder(context)
  const options = {
    socket: join(folder, 'store.sock'),
    stateDir: join(folder, 'state'),
    onFailure: assert.ifError,
  }
  const first = await openEmbedded(options)
  const client = await openOnSocket(first.socket)
  assert.equal(await client.runWhole("redis.call('SET', KEYS[1], 'é') return 1", ['a'], []), 1)
  client.close()
  const other = { ...options, socket: join(folder, 'other.sock') }
  await assert.rejects(openEmbedded(other), {
    name: 'StateError',
    message: /is in use by another gateway/,
  })
  await first.close()
  assert.deepEqual(readdirSync(folder), ['state'])
  const second = await openEmbedded(options)
  const next = await openOnSocket(second.socket)
  assert.equal(await next.runWhole("return redis.call('GET', KEYS[1])", ['a'], []), 'é')
  next.close()
  await second.close()
})

test('a folder that cannot be used, and a path that is taken, are errors at the start', async (context) => {
  const folder = aFolder(context)
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const socket = join(folder, 'store.sock')
  const onFailure = assert.ifError
  await assert.rejects(openEmbedded({ socket, stateDir: file, onFailure }), {
    name: 'StateError',
    message: /cannot be written .*give a folder/,
  })
  await assert.rejects(openEmbedded({ socket: file, onFailure }), /exists and is not a socket/)
})

test('a thread that ends is replaced, and both are reported once, however often that fails', async (context) => {
  const socket = join(aFolder(context), 'store.sock')
  const reports: (string | undefined)[] = []
  const channel = new BroadcastChannel('end the thread')
  context.after(() => channel.close())
  let refused = 0
  channel.onmessage = () => {
    if (++refused === 3) rmSync(socket)
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  const onFailure = (error: Error | undefined) => {
    reports.push(error?.message)
    if (error === undefined) resolve()
  }
  const program = new URL('ending-thread.ts', import.meta.url)
  const keeper = new Keeper({ socket, onFailure }, program, 1)
  await keeper.start()
  writeFileSync(socket, '')
  channel.postMessage('now')
  await promise
  await keeper.close()
  assert.deepEqual(reports, ['The thread of the store ended.', undefined])
  assert.ok(refused >= 3)
})

test('values that no store has written are refused with what to do, and the folder is free again', async (context) => {
  const folder = aFolder(context)
  const store = await opened(folder)
  store.run(CALL, 'SET', 'a', 'text', 'PX', '90000')
  store.journal.close()
  const write = (statement: string) => {
    const database = new DatabaseSync(join(folder, FILE_NAME))
    database.exec(statement)
    database.close()
  }
  write("UPDATE parts SET value = X'ff00'")
  const about = { name: 'StateError', message: /counters\.sqlite cannot be read .*move it away/ }
  await assert.rejects(opened(folder), about)
  write('DELETE FROM parts')
  const again = await opened(folder)
  assert.equal(again.run(CALL, 'GET', 'a'), '$-1\r\n')
  again.journal.close()
})
