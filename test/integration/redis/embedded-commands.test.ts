/** Random scripts in the store for the processes of one machine and in Redis have equal replies. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { RedisCells } from '../../../dataplane/store/cells/redis-cells.ts'
import type { Link, Script } from '../../../dataplane/store/redis/link.ts'
import { READ_USAGE, WRITE_USAGE } from '../../../dataplane/store/redis/scripts/usage.ts'
import { Replicas } from '../../../dataplane/store/shared/replicas.ts'
import { cases } from '../../helpers/cases.ts'
import { aClock } from '../../helpers/clock.ts'
import { startRedis } from '../../helpers/redis-server.ts'
import { startEmbedded } from '../../helpers/store/embedded-server.ts'

const store = await startEmbedded()
const redis = await startRedis()
const clients = [redis, store].map(
  ({ socket }) => new Redis({ path: socket, protocol: 2, disableClientInfo: true }),
)
after(async () => {
  for (const client of clients) client.disconnect()
  await store.stop()
  await redis.stop()
})

type Text = string | Buffer

async function replyOf(
  client: Redis | undefined,
  lua: string,
  keys: number,
  args: readonly Text[],
) {
  try {
    return await client?.callBuffer('EVAL', lua, keys, ...args)
  } catch (error) {
    // The words after the kind of an error are for people, and name the place in the script.
    return `error ${(error as Error).message.split(' ')[0]}`
  }
}

/** The reply of both. */
async function same(lua: string, keys: number, args: readonly Text[]): Promise<unknown> {
  const [expected, reply] = await Promise.all(
    clients.map((client) => replyOf(client, lua, keys, args)),
  )
  assert.deepEqual(reply, expected, JSON.stringify([lua, args.map(String)]))
  return reply
}

const key = fc.constantFrom('a', 'b', 'c', '\0é')
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 12 }).map((list): Text => Buffer.from(list)),
  fc.constantFrom<Text>('', '0', '1', 'é\u{1F600}', 'x'.repeat(70), '\r\n', 'nil'),
)
const field = fc.constantFrom<Text>('f', 'g', '', '1', '\0', 'ü')
const life = fc.constantFrom('-1', '0', '99999', '1.5', 'x', '', ' 5', '9999999')

const commands = fc.oneof(
  fc.tuple(fc.constant('GET'), key),
  fc.tuple(fc.constantFrom('SET', 'set'), key, bytes),
  fc.tuple(fc.constant('SET'), key, bytes, fc.constantFrom('PX', 'EX', 'ex', 'zz'), life),
  fc.tuple(fc.constant('HSET'), key, field, bytes),
  fc.tuple(fc.constant('HSET'), key, field, bytes, field, bytes),
  fc.tuple(fc.constant('HSET'), key, field, bytes, field),
  fc.tuple(fc.constant('HSETNX'), key, field, bytes),
  fc.tuple(fc.constant('HGET'), key, field),
  fc.tuple(fc.constant('HMGET'), key, field, field),
  fc.tuple(fc.constant('HDEL'), key, field, field),
  fc.tuple(fc.constantFrom('HLEN', 'HGETALL', 'HVALS'), key),
  fc.tuple(fc.constant('PEXPIRE'), key, life),
  fc.tuple(fc.constant('PUBLISH'), key, bytes),
  fc.tuple(fc.constantFrom('GET', 'HGET', 'NOSUCH', 'TIME')),
) as fc.Arbitrary<readonly Text[]>

/** Hashes have no order. */
const CALL = `
local reply = redis.pcall(unpack(ARGV))
local name = string.upper(ARGV[1])
if type(reply) ~= 'table' or reply.err then return reply end
if name == 'TIME' then return #reply end
if name == 'HVALS' then table.sort(reply) end
if name == 'HGETALL' then
  local pairs = {}
  for i = 1, #reply, 2 do pairs[#pairs + 1] = reply[i] .. '=' .. reply[i + 1] end
  table.sort(pairs)
  return pairs
end
return reply
`

test('random commands have the replies of Redis', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(commands, { minLength: 5, maxLength: 40 }), async (calls) => {
      await same("for _, k in ipairs(KEYS) do redis.call('PEXPIRE', k, 0) end", 4, [
        ...['a', 'b', 'c', '\0é'],
      ])
      for (const call of calls) await same(CALL, 0, call)
    }),
    { numRuns: cases(300, 10_000) },
  )
})

const number = fc.oneof(
  fc.integer().map(String),
  fc.maxSafeInteger().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value.toExponential()),
  fc.constantFrom(
    '2^53',
    '2^60',
    '-2^61',
    '2^62',
    '2^63',
    '1e17',
    '0.1',
    '1/3',
    '-0.0',
    '60000 * 1e16',
  ),
)
const literal = fc.oneof(number, fc.constantFrom('nil', 'true', 'false', "'t'", "'a\\0b'"))
const { value } = fc.letrec<{ value: string; list: string }>((tie) => ({
  value: fc.oneof({ weight: 3, arbitrary: literal }, { weight: 1, arbitrary: tie('list') }),
  list: fc.array(tie('value'), { maxLength: 5 }).map((list) => `{ ${list.join(', ')} }`),
}))

test('numbers become arguments, replies and MessagePack as in Redis', async () => {
  await fc.assert(
    fc.asyncProperty(number, value, fc.array(literal, { maxLength: 6 }), async (one, any, list) => {
      await same(`redis.call('SET', 'a', ${one}) return redis.call('GET', 'a')`, 0, [])
      // A number beyond 64 bits has no meaning as a reply.
      await same(`local n = ${one} return n > -2^62 and n < 2^62 and n or 0`, 0, [])
      await same(`return { ${/\d/.test(any) ? `#{ ${any} }` : any} }`, 0, [])
      const packed = `cmsgpack.pack(${['1', ...list].join(', ')}) .. cmsgpack.pack({ 'x', { y = 7 } })`
      await same(
        `local all = { cmsgpack.unpack(${packed}) }
         for i = 1, ${list.length + 2} do
           if type(all[i]) == 'number' then all[i] = string.format('%.17g', all[i]) end
           if all[i] == nil then all[i] = 'none' end
           if type(all[i]) == 'table' then all[i] = all[i][1] .. string.format('%.0f', all[i][2].y) end
         end
         return all`,
        0,
        [],
      )
    }),
    { numRuns: cases(500, 20_000) },
  )
})

test('a script that Redis refuses is refused, and leaves no global', async () => {
  for (const lua of [
    'this is no Lua',
    'x = 1',
    'return y',
    "error('why')",
    "error({ err = 'WHY not' })",
    'return redis.call()',
    "return redis.call('SET', 'a', {})",
    "return { ok = 'FINE' }",
    "return { err = 'BAD thing' }",
    '#!lua\nreturn #KEYS + #ARGV',
    'return tostring(3) .. tostring(0.5) .. 7',
    "return { math.floor(-1.5), math.ceil(2.1), tonumber('0x10'), tonumber('7', 8), tonumber('x') or 'none' }",
    "return tonumber('9223372036854775807') + 1 > 0",
    'return math.floor(8e18) * 2 > 0',
    'return math.ceil(8e18) * 2 > 0',
    'return cmsgpack.unpack(cmsgpack.pack(2 ^ 62)) * 4 > 0',
    "local t = { '5', '6' } return t[1] * 1000 + t[2]",
  ])
    await same(lua, 1, ['k', 'v'])
})

test('EVALSHA knows the scripts that were sent, and names the others as Redis does', async () => {
  const sha = 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db'
  for (const client of clients) {
    const unknown = client.evalsha('f'.repeat(40), 0)
    await assert.rejects(unknown, { message: 'NOSCRIPT No matching script. Please use EVAL.' })
    await client.eval('return 1', 0)
    assert.equal(await client.evalsha(sha, 0), 1)
    assert.equal(await client.evalsha(sha.toUpperCase(), 0), 1)
  }
})

/** Both servers behind one link. */
function bothLink(): Link {
  return {
    async run({ lua }: Script, keys, args) {
      const words = [...keys, ...args].map(String)
      return textOf(await same(lua, keys.length, words))
    },
  }
}

function textOf(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(textOf)
  return Buffer.isBuffer(reply) ? reply.toString() : reply
}

test('rows of usage, cells and announcements are those of Redis', async () => {
  const link = bothLink()
  const row = fc.tuple(
    fc.constantFrom('acme\nk1\nm\nr\nu\ntäg', 'beta\nk2\nm\nr\nu\n', '\u{1F600}\nk\n1\n2\n3\n'),
    fc.array(fc.maxSafeInteger().map(Math.abs), { minLength: 3, maxLength: 3 }),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 3 }),
      fc.nat(9),
      async (rows, turn) => {
        const keys = ['hour', 'day', 'added', 'turn', 'since'].map(
          (name) => `gw:v1:{usage}:${name}`,
        )
        const args = rows.flatMap(([name, totals]) => [name, totals.join(',')])
        await link.run(WRITE_USAGE, keys, [turn, turn + 1, '2026-11-22T08', ...args])
        for (const name of rows.map(([one]) => one))
          await same("return redis.call('HGET', KEYS[1], ARGV[1])", 1, ['gw:v1:{usage}:day', name])
        await link.run(READ_USAGE, ['gw:v1:{usage}:since'], [])
      },
    ),
    { numRuns: cases(200, 5_000) },
  )
  const cells = new RedisCells(link, 'gw')
  assert.equal(await cells.swap('rollout ü', 0, '{"größe":"\u{1F600}"}'), true)
  assert.equal(await cells.swap('rollout ü', 0, 'late'), false)
  assert.deepEqual(await cells.load('rollout ü'), { version: 1, text: '{"größe":"\u{1F600}"}' })
  for (const replica of ['one', 'two', 'three']) {
    const replicas = new Replicas({ keyPrefix: 'gw', replica, expected: 1, clock: aClock() })
    await replicas.announce(link.run)
    await replicas.leave(link.run)
  }
})
