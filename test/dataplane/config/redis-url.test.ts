/** The accepted URLs of a store, their meaning, and that a mistake is reported without the password. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRedisUrl, type RedisPlace } from '../../../dataplane/config/redis-url.ts'

const UNDERSTOOD: readonly (readonly [string, Partial<RedisPlace>])[] = [
  [
    'redis://cache',
    { kind: 'standalone', tls: false, nodes: [{ host: 'cache', port: 6379 }], db: 0, password: '' },
  ],
  [
    'rediss://gateway:p%40ss@cache:6380/2',
    { tls: true, username: 'gateway', password: 'p@ss', db: 2, shown: 'rediss://cache:6380/2' },
  ],
  ['redis://:only@cache', { username: '', password: 'only', shown: 'redis://cache' }],
  ['redis://user:a@b:c@cache', { username: 'user', password: 'a@b:c' }],
  ['redis://[::1]:7000', { nodes: [{ host: '::1', port: 7000 }] }],
  ['redis://cache?db=4', { db: 4 }],
  ['unix:///run/redis.sock', { kind: 'unix', path: '/run/redis.sock', nodes: [] }],
  [
    'unix://:word@/run/redis.sock?db=1',
    { path: '/run/redis.sock', password: 'word', db: 1, shown: 'unix:///run/redis.sock' },
  ],
  [
    'redis+sentinel://:word@one,two:26380/main/3?sentinel_username=s&sentinel_password=t',
    {
      kind: 'sentinel',
      nodes: [
        { host: 'one', port: 26_379 },
        { host: 'two', port: 26_380 },
      ],
      primary: 'main',
      db: 3,
      sentinelUsername: 's',
      sentinelPassword: 't',
      shown: 'redis+sentinel://one,two:26380/main/3',
    },
  ],
  ['rediss+sentinel://one/main', { kind: 'sentinel', tls: true }],
  ['redis-sentinel://one/main', { kind: 'sentinel' }],
  [
    'rediss+cluster://one:7001,two:7002',
    { kind: 'cluster', tls: true, shown: 'rediss+cluster://one:7001,two:7002' },
  ],
]

for (const [url, expected] of UNDERSTOOD) {
  test(`${url} is understood`, () => {
    const place = parseRedisUrl(url)
    for (const [name, value] of Object.entries(expected)) {
      assert.deepEqual(place[name as keyof RedisPlace], value, name)
    }
  })
}

const REFUSED: readonly (readonly [string, RegExp])[] = [
  ['http://hunter2@cache', /not a Redis URL/],
  ['cache:6379', /not a Redis URL/],
  ['redis://u:hunter2@', /host that cannot be read/],
  ['redis://u:hunter2@cache:port', /host that cannot be read/],
  ['redis://u:hunter2@cache:99999', /port outside/],
  ['redis://one,two', /several hosts/],
  ['redis://u:hunter2@cache/main', /no number/],
  ['redis://u:hunter2%@cache', /%25/],
  ['redis://cache?hunter2=1', /parameter that is not known/],
  ['redis+sentinel://one,two', /lacks the name of the primary/],
  ['redis+cluster://one/1', /a cluster has only 0/],
  ['unix://run/redis.sock', /three slashes/],
  ['unix://', /lacks the path/],
]

for (const [url, says] of REFUSED) {
  test(`${url} is refused without repeating it`, () => {
    assert.throws(
      () => parseRedisUrl(url),
      ({ message }: Error) => says.test(message) && !message.includes('hunter2'),
    )
  })
}
