import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import {
  ARGUMENTS_MAX,
  REQUEST_BYTES_MAX,
  RequestReader,
} from '../../../../dataplane/store/embedded/requests.ts'
import { openServer } from '../../../../dataplane/store/embedded/server.ts'
import { LuaVm } from '../../../../dataplane/store/embedded/vm.ts'
import { aClock } from '../../../helpers/clock.ts'
import { startEmbedded } from '../../../helpers/store/embedded-server.ts'

function request(...words: readonly (string | Buffer)[]): Buffer {
  const parts = words.map((word) => Buffer.from(word))
  const texts = parts.map((part) => [`$${part.length}\r\n`, part, '\r\n'])
  return Buffer.concat([`*${words.length}\r\n`, ...texts.flat()].map((part) => Buffer.from(part)))
}

async function aServer(context: TestContext, wall?: () => number) {
  const server = await startEmbedded(wall)
  context.after(() => server.stop())
  return server
}

async function connected(context: TestContext, path: string): Promise<Socket> {
  const socket = connect(path)
  context.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** All that it answers until it has closed the connection. */
async function lastWords(socket: Socket, sent: Buffer | string): Promise<string> {
  socket.on('error', () => undefined)
  socket.write(sent)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk)
  return Buffer.concat(chunks).toString('latin1')
}

/** The answer to requests: they are followed by QUIT. */
async function asked(context: TestContext, path: string, ...requests: readonly Buffer[]) {
  const socket = await connected(context, path)
  const words = await lastWords(socket, Buffer.concat([...requests, request('QUIT')]))
  assert.ok(words.endsWith('+OK\r\n'), words)
  return words.slice(0, -'+OK\r\n'.length)
}

test('the socket is for its owner only', async (context) => {
  const { socket } = await aServer(context)
  assert.equal(statSync(socket).mode & 0o777, 0o600)
})

test('a socket that nothing answers is replaced, a store that answers and a file are not', async (context) => {
  const { socket } = await aServer(context)
  const vm = await LuaVm.open()
  await assert.rejects(openServer({ socket, vm, wall: Date.now }), /another store answers at/)
  const file = `${socket}.file`
  writeFileSync(file, '')
  await assert.rejects(openServer({ socket: file, vm, wall: Date.now }), /is not a socket/)
})

test('the commands of the client are answered, and all others refused', async (context) => {
  const { socket } = await aServer(context)
  const answers: readonly (readonly [string, RegExp])[] = [
    ['PING', /^\+PONG\r\n$/],
    ['ping there', /^\$5\r\nthere\r\n$/],
    ['SELECT 0', /^\+OK\r\n$/],
    ['SELECT 1', /^-ERR DB index is out of range\r\n$/],
    ['CLIENT SETNAME gw', /^\+OK\r\n$/],
    ['CLIENT KILL x', /^-ERR/],
    ['HELLO 3', /^-NOPROTO/],
    ['INFO memory', /maxmemory_policy:noeviction/],
    ['FLUSHALL', /^-ERR unknown command 'flushall'\r\n$/],
    ['constructor', /^-ERR unknown command/],
    ['EVAL', /^-ERR wrong number/],
    ['EVAL x -1', /^-ERR Number of keys can't be negative/],
    ['EVAL x 2 k', /^-ERR Number of keys can't be greater/],
    ['EVAL x one', /^-ERR value is not an integer/],
    ['EVALSHA nosuch 0', /^-NOSCRIPT/],
    ['SUBSCRIBE', /^-ERR wrong number/],
  ]
  for (const [words, answer] of answers)
    assert.match(await asked(context, socket, request(...words.split(' '))), answer)
})

test('a message that a script publishes reaches those who listen, and the script knows how many', async (context) => {
  const { socket } = await aServer(context)
  const listener = await connected(context, socket)
  listener.write(request('SUBSCRIBE', 'wanted'))
  const [first] = await once(listener, 'data')
  assert.equal(String(first), '*3\r\n$9\r\nsubscribe\r\n$6\r\nwanted\r\n:1\r\n')
  const message = once(listener, 'data')
  const publish = request('EVAL', "return redis.pcall('PUBLISH', 'wanted', ARGV[1])", '0', 'é\0')
  assert.equal(await asked(context, socket, publish), ':1\r\n')
  assert.equal(String((await message)[0]), '*3\r\n$7\r\nmessage\r\n$6\r\nwanted\r\n$3\r\né\0\r\n')
  listener.write(request('EVAL', 'return 1', '0'))
  assert.match(String((await once(listener, 'data'))[0]), /^-ERR Can't execute 'eval'/)
  listener.destroy()
})

test('a value is there until its last millisecond, and is removed some time later', async () => {
  const clock = aClock()
  const vm = await LuaVm.open()
  const run = (lua: string, ...keys: string[]) =>
    String(vm.call('run', [lua, lua, keys.length, clock.wall(), 0, ...keys])[0])
  const SET = "redis.call('SET', KEYS[1], string.rep('x', 100), 'PX', '1000') return 1"
  const GET = "return redis.call('GET', KEYS[1]) and 1 or 0"
  run(SET, 'a')
  clock.pass(1000)
  assert.equal(run(GET, 'a'), ':1\r\n')
  clock.pass(1)
  assert.equal(run(GET, 'a'), ':0\r\n')
  run(SET, 'a')
  run("redis.call('SET', KEYS[1], 'b') return 1", 'a')
  clock.pass(5000)
  assert.equal(run(GET, 'a'), ':1\r\n', 'SET removes the expiry')
  vm.call('keep', ['yes'])
  for (let key = 0; key < 5000; key++) run(SET, `key ${key};`)
  assert.equal(namesIn(vm), 5000)
  clock.pass(120_000)
  vm.call('sweep', [clock.wall(), 0])
  const first = namesIn(vm)
  assert.ok(first > 0 && first < 5000, 'a sweep is bounded')
  for (let times = 0; times < 10; times++) vm.call('sweep', [clock.wall(), 0])
  assert.equal(first + namesIn(vm), 5000)
  assert.equal(run(GET, 'a'), ':1\r\n')
})

/** Keys of which something changed since the last time. */
function namesIn(vm: LuaVm): number {
  const names = String(vm.call('drain', [])[0]).match(/key \d+;/g)
  return new Set(names).size
}

test('a full store refuses scripts as Redis does, until values have expired', async () => {
  const clock = aClock()
  const vm = await LuaVm.open(16 * 1024 * 1024)
  const megabyte = Buffer.alloc(1024 * 1024)
  const keep = (key: number) => {
    const lua = "redis.call('SET', KEYS[1], ARGV[1] .. KEYS[1], 'PX', 1000) return 1"
    return String(vm.call('run', [lua, lua, 1, clock.wall(), 0, `k${key}`, megabyte])[0])
  }
  let key = 0
  let reply = ''
  do reply = keep(key++)
  while (reply === ':1\r\n' && key < 100)
  assert.equal(reply, "-OOM command not allowed when used memory > 'maxmemory'.\r\n")
  clock.pass(120_000)
  vm.call('sweep', [clock.wall(), 0])
  assert.ok(vm.bytes < 4 * 1024 * 1024, String(vm.bytes))
  assert.equal(keep(key), ':1\r\n')
})

test('bytes that are no requests close the connection, and the store serves others', async (context) => {
  const { socket } = await aServer(context)
  const hostile: readonly string[] = [
    'GET / HTTP/1.1\r\n\r\n',
    'PING\r\n',
    '\r\n',
    '*1\r\n+PING\r\n',
    '*1\r\n$4\r\nPINGxx',
    '*1\r\n$4\r\nPING\rx',
    '*-1\r\n',
    '*x\r\n',
    '*\r\n',
    '*1\n$4\n',
    `*${ARGUMENTS_MAX + 1}\r\n`,
    `*1\r\n$${REQUEST_BYTES_MAX + 1}\r\n`,
    '*99999999999999999999\r\n',
    `*2\r\n$9000000\r\n${'x'.repeat(9_000_000)}\r\n$9000000\r\n`,
    `*2\r\n$${REQUEST_BYTES_MAX - 50}\r\n`,
  ]
  for (const bytes of hostile.slice(0, -1)) {
    const words = await lastWords(await connected(context, socket), `${bytes}`)
    assert.match(words, /^-ERR Protocol error: /, JSON.stringify(bytes.slice(0, 40)))
  }
  const waiting = await connected(context, socket)
  waiting.write(hostile.at(-1) ?? '')
  assert.equal(await asked(context, socket, request('PING')), '+PONG\r\n')
})

test('random bytes never end the store', async (context) => {
  const { socket } = await aServer(context)
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 20 }).map((list) => Buffer.from(list)),
    fc
      .constantFrom('*1\r\n', '*3\r\n$4\r\nEVAL\r\n', '$8\r\nreturn 1\r\n', '$1\r\n0\r\n', '\r\n')
      .map((text) => Buffer.from(text)),
    fc.array(fc.string(), { minLength: 1, maxLength: 4 }).map((words) => request(...words)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 8 }), async (pieces) => {
      const other = connect(socket)
      other.on('error', () => undefined).resume()
      other.end(Buffer.concat(pieces))
      await once(other, 'close')
    }),
    { numRuns: 200 },
  )
  assert.equal(await asked(context, socket, request('PING')), '+PONG\r\n')
})

test('requests are read alike, however their bytes are cut', () => {
  const words = fc.array(fc.uint8Array({ maxLength: 30 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(
      fc.array(words, { maxLength: 4 }),
      fc.array(fc.integer({ min: 1, max: 9 })),
      (all, cuts) => {
        const bytes = Buffer.concat(
          all.map((one) => request(...one.map((word) => Buffer.from(word)))),
        )
        const reader = new RequestReader()
        const read: Buffer[][] = []
        let at = 0
        for (const length of [...cuts, bytes.length]) {
          read.push(
            ...[...reader.read(bytes.subarray(at, at + length))].map((one) =>
              one.map((word) => Buffer.from(word)),
            ),
          )
          at += length
        }
        assert.deepEqual(
          read,
          all.map((one) => one.map((word) => Buffer.from(word))),
        )
      },
    ),
  )
})
