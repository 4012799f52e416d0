/** A link to a cluster of real servers opens a connection to each node. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../helpers/until.ts'
import { type ALink, aLink, count, refusal } from './a-link.ts'
import { type ClusterNode, startRedisCluster } from './a-redis-cluster.ts'

const cluster = await startRedisCluster()
after(() => cluster.stop())

/** With slots of all nodes. */
const KEYS = Array.from({ length: 60 }, (_, index) => `gw:v1:{tenant-${index}}:n`)

async function linkTo(options: Parameters<typeof aLink>[1] = {}): Promise<ALink> {
  const made = await aLink(cluster.url, options)
  after(() => made.close())
  return made
}

/** The connections for calls, without those that ask for the slots. */
async function connectionsOf(node: ClusterNode): Promise<readonly string[]> {
  const clients = await node.ask('CLIENT', 'LIST')
  return [...clients.matchAll(/ addr=(\S+) .* name=gw /g)].map(([, address = '']) => address)
}

test('the first calls to the nodes are answered, however many come while connections open', async () => {
  const link = await linkTo()
  const answers = await Promise.all(KEYS.map((key) => count(link, key)))
  assert.deepEqual(new Set(answers), new Set([1]))
  assert.deepEqual([link.changes, link.failures], [['up'], []])
})

test('a connection that a node has ended is opened again without a call', async () => {
  const link = await linkTo()
  for (const node of cluster.nodes) {
    await until('it is connected', async () => (await connectionsOf(node)).length > 0)
    const [before = []] = [await connectionsOf(node)]
    for (const address of before) await node.ask('CLIENT', 'KILL', 'ADDR', address)
    await until('it is connected again', async () => {
      const now = await connectionsOf(node)
      return now.some((address) => !before.includes(address))
    })
  }
  await until('it is up', () => link.changes.at(-1) === 'up')
  const before = link.failures.length
  await Promise.all(KEYS.map((key) => count(link, key)))
  assert.equal(link.failures.length, before)
})

test('calls to a node that accepts connections without an answer end within their deadline', async () => {
  const [node] = cluster.nodes
  const link = await linkTo({ timeoutMs: 300 })
  node?.signal('SIGSTOP')
  after(() => node?.signal('SIGCONT'))
  const ends = await Promise.all(KEYS.map((key) => refusal(count(link, key))))
  const reasons = new Set(ends.map(({ reason }) => reason))
  assert.ok(reasons.has('timeout'), [...reasons].join())
  node?.signal('SIGCONT')
  await until('every key is counted', async () => {
    const after = await Promise.all(KEYS.map((key) => refusal(count(link, key))))
    return after.every(({ reason }) => reason === 'none')
  })
})
