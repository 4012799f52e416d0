import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { StateError } from '../../../dataplane/store/memory/database.ts'
import { type DiskOptions, DiskStore, FLUSH_MS } from '../../../dataplane/store/memory/disk.ts'
import { FILE_NAME } from '../../../dataplane/store/memory/journal.ts'
import { aClock, NOON, type TurnedClock } from '../../helpers/clock.ts'
import { aBudget, aRule } from '../../helpers/store/world.ts'

const BUDGET = aBudget({
  tokensPerDay: 1_000_000_000,
  nanosPerMonth: 9_000_000_000_000_000,
  alertThresholds: [0.00001, 0.5],
})
const RULES = aRule({ budget: BUDGET })

function aFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'gw-state-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function open(
  stateDir: string,
  clock: TurnedClock = aClock(),
  onFailure: DiskOptions['onFailure'] = assert.ifError,
) {
  return new DiskStore({ stateDir, clock, onFailure })
}

function use(store: DiskStore, tenant: string, used: { tokens: number; nanos: number }) {
  const id = `r${Math.random()}`
  store.admit({ tenant, id, rules: RULES, estimate: used })
  return store.settle({ tenant, id, used, budget: BUDGET })
}

function settledOf(store: DiskStore, tenant = 'acme') {
  const { tokens, spend } = store.read(tenant, RULES)
  return [tokens?.settled, spend?.settled]
}

async function aProcess(context: TestContext, folder: string, mode: string) {
  const script = join(import.meta.dirname, 'disk-process.ts')
  const child = spawn(process.execPath, [script, folder, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  context.after(() => child.kill('SIGKILL'))
  return { child, lines: createInterface(child.stdout) }
}

async function killed(child: ChildProcess) {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

test('the amounts used and the thresholds reported survive a restart', (context) => {
  const folder = aFolder(context)
  const first = open(folder)
  assert.equal(
    use(first, 'acme', { tokens: 12_000, nanos: 8_999_999_999_999_999 }).crossed.length,
    3,
  )
  use(first, 'other', { tokens: 7, nanos: 3 })
  first.close()
  const second = open(folder)
  assert.deepEqual(settledOf(second), [12_000, 8_999_999_999_999_999])
  assert.deepEqual(settledOf(second, 'other'), [7, 3])
  assert.deepEqual(use(second, 'acme', { tokens: 1, nanos: 0 }).crossed, [])
  second.close()
})

test('the folder and its files are only for their owner, even those of an older release', (context) => {
  const folder = join(aFolder(context), 'state')
  const store = open(folder)
  use(store, 'acme', { tokens: 1, nanos: 1 })
  store.expire(0)
  const modes = () =>
    readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777])
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  assert.deepEqual(modes(), [
    [FILE_NAME, 0o600],
    [`${FILE_NAME}-wal`, 0o600],
  ])
  store.close()
  chmodSync(join(folder, FILE_NAME), 0o644)
  open(folder).close()
  assert.deepEqual(modes(), [[FILE_NAME, 0o600]])
})

test('kill -9 keeps the written amounts, and charges running requests their reported usage', async (context) => {
  const folder = aFolder(context)
  const { child, lines } = await aProcess(context, folder, 'once')
  await once(lines, 'line')
  await killed(child)
  const store = open(folder)
  assert.deepEqual(settledOf(store), [1040, 5000])
  store.close()
})

test('kill -9 at any moment loses nothing that was written', async (context) => {
  const folder = aFolder(context)
  let before = 0
  for (let round = 1; round <= 12; round++) {
    const { child, lines } = await aProcess(context, folder, 'storm')
    let written = 0
    for await (const line of lines) {
      written = Number(line)
      if (written >= round * 150) break
    }
    await killed(child)
    const store = open(folder)
    const [tokens = 0] = settledOf(store)
    assert.ok(tokens >= before + written, `round ${round}: ${tokens} < ${before} + ${written}`)
    before = tokens
    store.close()
  }
})

test('a second gateway on the same folder is refused, and accepted after the first was killed', async (context) => {
  const folder = aFolder(context)
  const { child, lines } = await aProcess(context, folder, 'once')
  await once(lines, 'line')
  const inUse = {
    name: 'StateError',
    message: /state_dir .*gw-state-.* is in use by another gateway; stop/,
  }
  assert.throws(() => open(folder), inUse)
  await killed(child)
  const store = open(folder)
  assert.throws(() => open(folder), inUse)
  store.close()
  open(folder).close()
})

test('changes are written in batches, from the timer and never from a request', (context) => {
  const folder = aFolder(context)
  const clock = aClock()
  const store = open(folder, clock)
  assert.equal(store.due, clock.now() + FLUSH_MS)
  for (let index = 0; index < 1200; index++) use(store, `tenant-${index}`, { tokens: 1, nanos: 1 })
  clock.pass(FLUSH_MS)
  store.expire(clock.now())
  assert.equal(store.due, clock.now())
  store.expire(clock.now())
  assert.equal(store.due, clock.now())
  store.expire(clock.now())
  assert.equal(store.due, clock.now() + FLUSH_MS)
  store.close()
  const database = new DatabaseSync(join(folder, FILE_NAME))
  const { rows, used } = database
    .prepare('SELECT count(*) rows, sum(used) used FROM windows')
    .get()!
  assert.deepEqual([rows, used], [2400, 2400])
  database.close()
})

test('ended windows are deleted, those just before the present are kept', (context) => {
  const folder = aFolder(context)
  for (const day of ['2026-09-30', '2026-10-31', '2026-11-19', '2026-11-20', '2026-11-21']) {
    const store = open(folder, aClock(Date.parse(`${day}T12:00:00Z`)))
    use(store, 'acme', { tokens: 1, nanos: 1 })
    store.close()
  }
  const store = open(folder, aClock(NOON))
  assert.deepEqual(settledOf(store), [1, 3])
  store.close()
  const database = new DatabaseSync(join(folder, FILE_NAME))
  const keys = database
    .prepare('SELECT key FROM windows ORDER BY key')
    .all()
    .map(({ key }) => key)
  assert.deepEqual(keys, ['2026-10', '2026-11', '2026-11-20', '2026-11-21'])
  database.close()
})

test('a process that runs for weeks deletes old windows too', (context) => {
  const folder = aFolder(context)
  const clock = aClock()
  const store = open(folder, clock)
  for (let day = 0; day < 40; day++) {
    use(store, 'acme', { tokens: 1, nanos: 1 })
    store.expire(clock.now())
    clock.pass(86_400_000)
  }
  store.expire(clock.now())
  store.close()
  const database = new DatabaseSync(join(folder, FILE_NAME))
  const { rows } = database.prepare('SELECT count(*) rows FROM windows').get()!
  assert.ok(Number(rows) <= 4, `${rows} rows`)
  database.close()
})

test('an unusable file or folder is an error at the start with advice', (context) => {
  const folder = aFolder(context)
  const place = (name: string) => join(folder, name)
  const withFile = (name: string, content: string | Buffer) => {
    mkdirSync(place(name))
    writeFileSync(join(place(name), FILE_NAME), content)
    return place(name)
  }
  const store = open(place('good'))
  use(store, 'acme', { tokens: 1, nanos: 1 })
  store.close()
  const good = readFileSync(join(place('good'), FILE_NAME))
  const broken = Buffer.from(good)
  broken.fill(0x5a, 4096, 8192)
  const newer = new DatabaseSync(join(place('good'), FILE_NAME))
  newer.exec('PRAGMA user_version = 99')
  newer.close()
  writeFileSync(place('file'), '')
  mkdirSync(join(place('taken'), FILE_NAME), { recursive: true })
  const rows = [
    [
      withFile('text', 'this is not a database, however long it is'.repeat(50)),
      /is damaged .*move it away/,
    ],
    [withFile('page', broken), /is damaged .*move it away/],
    [withFile('torn', good.subarray(0, 5000)), /is damaged .*move it away/],
    [place('good'), /was written by a newer gateway \(format 99\)/],
    [place('file'), /cannot be written .*give a folder/],
    [join(place('file'), 'below'), /cannot be written .*give a folder/],
    [place('taken'), /cannot be written .*give a folder/],
  ] as const
  for (const [stateDir, message] of rows) {
    assert.throws(
      () => open(stateDir),
      (error) => error instanceof StateError && message.test(error.message),
      stateDir,
    )
  }
})

test('a write that fails is reported once, repeated, and stops no request', (context) => {
  const folder = aFolder(context)
  const clock = aClock()
  const reports: (string | undefined)[] = []
  const store = open(folder, clock, (error) => void reports.push(error?.message))
  use(store, 'acme', { tokens: 5, nanos: 5 })
  const write = DatabaseSync.prototype.exec
  context.mock.method(DatabaseSync.prototype, 'exec', () => {
    throw new Error('database or disk is full')
  })
  for (let index = 0; index < 3; index++) {
    store.expire(clock.now())
    assert.equal(store.due, clock.now() + 1000)
    clock.pass(1000)
    assert.equal(use(store, 'acme', { tokens: 5, nanos: 5 }).charged, true)
  }
  context.mock.method(DatabaseSync.prototype, 'exec', write)
  store.expire(clock.now())
  assert.deepEqual(reports, ['database or disk is full', undefined])
  store.close()
  const second = open(folder, clock)
  assert.deepEqual(settledOf(second), [20, 20])
  second.close()
})
