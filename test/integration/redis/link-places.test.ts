/** Every kind of address in a URL, each with a real server. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Tls } from '../../../dataplane/config/tls-files.ts'
import { Certificates } from '../../helpers/certificates.ts'
import { startUpstream } from '../../helpers/fake-upstream.ts'
import { REDIS, type RedisServer, startRedis, type TlsFiles } from '../../helpers/redis-server.ts'
import { until } from '../../helpers/until.ts'
import { ANSWER_TOKENS, keysOf, standing, untilIdle } from '../limits/limited-gateway.ts'
import { type ALink, aLink, count, refusal } from './a-link.ts'
import { startRedisCluster } from './a-redis-cluster.ts'
import { startShared } from './shared-gateways.ts'

const closing: (() => unknown)[] = []
after(async () => {
  for (const close of closing.reverse()) await close()
})

async function redis(...options: Parameters<typeof startRedis>): Promise<RedisServer> {
  const server = await startRedis(...options)
  closing.push(() => server.stop())
  return server
}

async function linkTo(...options: Parameters<typeof aLink>): Promise<ALink> {
  const made = await aLink(...options)
  closing.push(() => made.close())
  return made
}

test('a server by TCP, in the database of the URL', async () => {
  const server = await redis({ port: 'free' })
  const link = await linkTo(`redis://127.0.0.1:${server.port}/3`)
  assert.deepEqual([await count(link), await count(link)], [1, 2])
  assert.match(await server.ask('INFO', 'keyspace'), /db3:keys=2/)
  assert.match(await server.ask('CLIENT', 'LIST'), / name=gw /)
  assert.deepEqual([link.changes, link.failures], [['up'], []])
})

test("a server by unix socket, with an ACL user limited to the scripts' commands", async () => {
  const server = await redis()
  const rights = ['~gw:*', '-@all', '+evalsha', '+eval', '+select', '+@read', '+@write', '+time']
  await server.ask('ACL', 'SETUSER', 'gateway', 'on', '>se%cret', ...rights)
  const link = await linkTo(`unix://gateway:se%25cret@${server.socket}`)
  assert.equal(await count(link), 1)
  const denied = await refusal(link.link.run({ name: 'n', lua: 'return 1' }, ['other:{t}'], []))
  assert.equal(denied.reason, 'noperm')
})

test('a wrong password is reported as such, and never shown', async () => {
  const server = await redis({ args: ['--requirepass', 'right'] })
  const { link, failures } = await linkTo(`unix://:wrong@${server.socket}`, { startMs: 1_000 })
  assert.equal(link.isAway, true)
  await until('the reason is reported', () => failures.length > 0)
  const said = failures.map(({ reason, cause }) => `${reason} ${cause}`).join('\n')
  assert.match(said, /WRONGPASS/)
  assert.doesNotMatch(said, /wrong@/)
})

/** The options of a TLS server, and those of its client. */
function tlsFiles({ mutual = false } = {}): { server: TlsFiles; client: Tls } {
  const certificates = new Certificates()
  closing.push(() => certificates.remove())
  const authority = certificates.authority()
  const { certFile: cert, keyFile: key } = certificates.make({ by: authority })
  const own = certificates.make({ by: authority })
  return {
    server: { cert, key, ca: authority.certFile, mutual },
    client: {
      ca_bundle_path: authority.certFile,
      ...(mutual && { client_cert_path: own.certFile, client_key_path: own.keyFile }),
    },
  }
}

test('a TLS server, verified by the CA bundle; without the bundle nothing is sent', async () => {
  const tls = tlsFiles()
  const server = await redis({ port: 'free', tls: tls.server })
  const url = `rediss://localhost:${server.port}`
  const link = await linkTo(url, { tls: tls.client })
  assert.equal(await count(link), 1)
  const stranger = await linkTo(url, { startMs: 1_000 })
  assert.equal(stranger.link.isAway, true)
  await until('the reason is reported', () => stranger.failures.length > 0)
  assert.match(String(stranger.failures[0]?.cause), /certificate/)
})

test('a server that requires a certificate gets the one of the tls section, and refuses clients without one', async () => {
  const tls = tlsFiles({ mutual: true })
  const server = await redis({ port: 'free', tls: tls.server })
  const url = `rediss://localhost:${server.port}`
  const link = await linkTo(url, { tls: tls.client })
  assert.equal(await count(link), 1)
  const { ca_bundle_path } = tls.client
  const nameless = await linkTo(url, { tls: { ca_bundle_path }, startMs: 1_000 })
  assert.equal(nameless.link.isAway, true)
  await until('the failure is reported', () => nameless.failures.length > 0)
  assert.deepEqual(nameless.changes, [])
  assert.equal(await count(link), 2)
})

test('a gateway sends Redis the certificate of its tls section', async () => {
  const tls = tlsFiles({ mutual: true })
  const server = await redis({ port: 'free', tls: tls.server })
  const upstream = await startUpstream()
  closing.push(() => upstream.close())
  const url = `rediss://127.0.0.1:${server.port}`
  const keys = keysOf(['acme'])
  const gateway = await startShared({ url, failOpen: false, upstream, keys, tls: tls.client })
  closing.push(() => gateway.stop())
  assert.equal((await gateway.as('acme').chat()).status, 200)
})

for (const { how, scheme, tls } of [
  { how: '', scheme: 'redis', tls: undefined },
  { how: ' by TLS', scheme: 'rediss', tls: tlsFiles },
]) {
  test(`the primary that sentinels name${how}, and the replica that they promote`, async () => {
    const { server, client } = tls?.() ?? {}
    const secured = server === undefined ? {} : { tls: server }
    const [args, replicaArgs] = [[], ['--replicaof', '127.0.0.1']].map((words) =>
      server === undefined ? words : ['--tls-replication', 'yes', ...words],
    )
    const primary = await redis({ port: 'free', ...secured, args: args ?? [] })
    const replica = await redis({
      port: 'free',
      ...secured,
      args: [...(replicaArgs ?? []), String(primary.port)],
    })
    await until('the replica is one', async () =>
      (await replica.ask('INFO', 'replication')).includes('master_link_status:up'),
    )
    const sentinel = await startSentinel(primary, secured)
    const url = `${scheme}+sentinel://127.0.0.1:1,127.0.0.1:${sentinel.port}/main`
    await until(
      'the sentinels know the replica',
      async () =>
        (await sentinel.ask('SENTINEL', 'REPLICAS', 'main')).includes(String(replica.port)),
      60,
    )
    const link = await linkTo(url, client === undefined ? {} : { tls: client })
    assert.equal(await count(link), 1)
    primary.signal('SIGKILL')
    await until('it is away', async () => (await refusal(count(link))).reason !== 'none')
    await until(
      'the promoted one answers',
      async () => (await refusal(count(link))).reason === 'none',
      // A sentinel that was itself delayed trusts no server for half a minute.
      90,
    )
    assert.match(await replica.ask('INFO', 'replication'), /role:master/)
    assert.deepEqual(link.changes, ['up', 'away', 'up'])
  })
}

test('a cluster of three nodes: every slot is found, also after a move', async () => {
  const cluster = await startRedisCluster()
  closing.push(() => cluster.stop())
  const { nodes, url } = cluster
  const link = await linkTo(url)
  const keys = Array.from({ length: 60 }, (_, index) => `gw:v1:{tenant-${index}}:n`)
  for (const key of keys) assert.equal(await count(link, key), 1)
  // The slot of {tenant-0} moves from its owner to another server.
  const key = keys[0] ?? ''
  const slot = Number((await nodes[0]?.ask('CLUSTER', 'KEYSLOT', key))?.slice(1))
  await move(slot, key, nodes)
  for (const key of keys) assert.equal(await count(link, key), 2)
  assert.deepEqual([link.changes, link.failures], [['up'], []])
  await assertCounts(url)
})

/** A gateway with tenants in slots of all nodes. */
async function assertCounts(url: string): Promise<void> {
  const upstream = await startUpstream()
  closing.push(() => upstream.close())
  const tenants = Array.from({ length: 12 }, (_, index) => `tenant-${index}`)
  const budgets = tenants.map((tenant) => ({ tenant, tokens_per_day: 1_000_000 }))
  const keys = keysOf(tenants)
  const gateway = await startShared({ url, failOpen: false, upstream, keys, budgets })
  closing.push(() => gateway.stop())
  for (const tenant of tenants) {
    const front = gateway.as(tenant)
    assert.equal((await front.chat()).status, 200)
    await untilIdle(front, tenant)
    assert.equal((await standing(front, tenant)).tokens_per_day.used, ANSWER_TOKENS)
  }
}

interface Sentinel {
  readonly port: number
  ask: RedisServer['ask']
}

async function startSentinel(
  primary: RedisServer,
  secured: { readonly tls?: TlsFiles },
): Promise<Sentinel> {
  const file = join(primary.dir, 'sentinel.conf')
  const lines = [
    `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
    // Longer than a busy machine delays a primary.
    'sentinel down-after-milliseconds main 1500',
    'sentinel failover-timeout main 10000',
  ]
  await writeFile(file, `${lines.join('\n')}\n`)
  const server = await redis({
    port: 'free',
    ...secured,
    command: [REDIS, file, '--sentinel'],
    args: secured.tls === undefined ? [] : ['--tls-replication', 'yes'],
  })
  return server
}

async function move(slot: number, key: string, nodes: readonly RedisServer[]): Promise<void> {
  const ids = await Promise.all(
    nodes.map(async (node) => (await node.ask('CLUSTER', 'MYID')).split('\r\n')[1] ?? ''),
  )
  const held = await Promise.all(
    nodes.map(async (node) => await node.ask('CLUSTER', 'COUNTKEYSINSLOT', String(slot))),
  )
  const from = held.findIndex((reply) => reply !== ':0\r\n')
  const to = (from + 1) % nodes.length
  const [source, target] = [nodes[from], nodes[to]]
  await target?.ask('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', ids[from] ?? '')
  await source?.ask('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', ids[to] ?? '')
  await source?.ask('MIGRATE', '127.0.0.1', String(target?.port), key, '0', '1000')
  for (const node of [target, source, ...nodes]) {
    await node?.ask('CLUSTER', 'SETSLOT', String(slot), 'NODE', ids[to] ?? '')
  }
}
