/**
 * An upstream whose name has several addresses: how they share requests, and what their loss costs.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  after as behind,
  errorOf,
  type FakeUpstream,
  startFront,
  startUpstream,
  whole,
} from '../helpers/fake-upstream.ts'
import { freePort } from '../helpers/free-port.ts'
import { until } from '../helpers/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'gw-names-'))
const file = join(folder, 'names.json')
const names: Record<string, readonly string[]> = {}
const say = (name: string, addresses: readonly string[]) => {
  names[name] = addresses
  writeFileSync(file, JSON.stringify(names))
}

/** Model servers on one port of several addresses of this machine. */
async function startReplicas(hosts: readonly string[]): Promise<Replica[]> {
  const started: Replica[] = []
  const port = await freePort()
  for (const host of hosts)
    started.push({ host, port, server: await startUpstream(whole(host), { host, port }) })
  return started
}

interface Replica {
  readonly host: string
  readonly port: number
  readonly server: FakeUpstream
}

const even = await startReplicas(['127.0.0.2', '127.0.0.3', '127.0.0.4'])
const mortal = await startReplicas(['127.0.0.5', '127.0.0.6', '127.0.0.7'])
const keen = await startReplicas(['127.0.0.8', '127.0.0.9', '127.0.0.10', '127.0.0.11'])
const closedPort = await freePort()
const addressesOf = (replicas: readonly Replica[]) => replicas.map(({ host }) => host)
say('even.test', addressesOf(even))
say('mortal.test', addressesOf(mortal))
say('keen.test', addressesOf(keen))
say('dead.test', ['127.0.0.2', '127.0.0.3', '127.0.0.4'])

const upstream = (name: string, port: number, more = {}) => ({
  name,
  endpoint: `http://${name}.test:${port}`,
  endpoints: 'dns',
  ...more,
})
const front = await startFront(
  {
    upstreams: [
      upstream('even', even[0]?.port ?? 0),
      upstream('mortal', mortal[0]?.port ?? 0, { circuit_breaker: { failure_threshold: 2 } }),
      upstream('keen', keen[0]?.port ?? 0, { balance: 'affinity' }),
      upstream('dead', closedPort),
    ],
    routes: [
      ...['even', 'mortal', 'keen'].map((name) => ({ name, strategy: 'single', primary: name })),
      { name: 'dead', strategy: 'single', primary: 'dead', retry: { max_attempts: 9 } },
    ],
  },
  {
    env: {
      TEST_NAMES: file,
      NODE_OPTIONS: `--import=${join(import.meta.dirname, '../helpers/names/preload.ts')}`,
    },
  },
)
after(async () => {
  await front.process.stop()
  for (const { server } of [...even, ...mortal, ...keen]) await server.close()
  await rm(folder, { recursive: true })
})

const endpointsOf = async (upstreamName: string): Promise<Shown[]> => {
  const { upstreams } = await front.admin('/status')
  return upstreams.find(({ name }: Shown) => name === upstreamName).endpoints
}

interface Shown {
  readonly name: string
  readonly address: string
  readonly state: string
}

await until('all names are resolved', async () => (await endpointsOf('keen')).length === 4)

test('a single client at a time uses all addresses evenly', async () => {
  for (let count = 0; count < 300; count++) await front.chat({ model: 'even' })
  for (const { server } of even) {
    const { length } = server.asked
    assert.ok(length >= 80 && length <= 120, `one had ${length} of 300`)
  }
})

test('under load the busiest address gets at most 1.3 times the mean', async () => {
  for (const { server } of even) server.asked.length = 0
  let seed = 1
  for (const { host, server } of even)
    server.reply = async (...asked) => {
      seed = (seed * 48_271) % 2_147_483_647
      const wait = new Promise((resolve) => setTimeout(resolve, 2 + (seed % 20)))
      await behind(wait, whole(host))(...asked)
    }
  const lane = async () => {
    for (let count = 0; count < 15; count++) await front.chat({ model: 'even' })
  }
  await Promise.all(Array.from({ length: 20 }, lane))
  const counts = even.map(({ server }) => server.asked.length)
  assert.ok(Math.max(...counts) <= 1.3 * 100, `300 requests were distributed as ${counts}`)
})

test('the host of the URL is sent to every address', () => {
  const hosts = new Set(
    even.flatMap(({ server }) => server.asked.map(({ headers }) => headers.host)),
  )
  assert.deepEqual([...hosts], [`even.test:${even[0]?.port}`])
})

test('an address that goes down under load costs no request, and its upstream remains available', async (context) => {
  const [first, ...others] = mortal as [Replica, Replica, Replica]
  const held = Promise.withResolvers<void>()
  first.server.reply = behind(held.promise, whole(first.host))
  const asked = Array.from({ length: 30 }, () => front.chat({ model: 'mortal' }))
  // The other addresses answer at once, so on a busy machine hardly more than one request reaches
  // it.
  await until('a request waits at the address that goes down', () => first.server.asked.length > 0)
  await first.server.close()
  const later = Array.from({ length: 30 }, () => front.chat({ model: 'mortal' }))
  const heard = await Promise.all([...asked, ...later])
  held.resolve()
  assert.deepEqual(new Set(heard.map(({ status }) => status)), new Set([200]))
  const shown = await endpointsOf('mortal')
  context.diagnostic(JSON.stringify(shown))
  assert.deepEqual(
    shown.map(({ state }) => state),
    ['out', 'ready', 'ready'],
  )
  assert.equal(await front.value('gw_upstream_endpoints{upstream="mortal",state="out"}'), 1)
  assert.ok(others.every(({ server }) => server.asked.length > 0))
})

test('the trace names the endpoint of each attempt', async () => {
  const heard = await front.chat({ model: 'even' })
  const { attempts } = await front.trace(heard)
  assert.match(attempts[0].endpoint, /^127\.0\.0\.[234]:\d+$/)
})

test('if no address is reachable, the name is tried last and the answer counts the addresses', async () => {
  const heard = await front.chat({ model: 'dead' })
  assert.equal(heard.status, 503, heard.text)
  assert.equal(errorOf(heard).code, 'ERR_GW_NO_HEALTHY_UPSTREAM')
  assert.match(errorOf(heard).message, /4 endpoints tried/)
  const { attempts } = await front.trace(heard)
  const tried = attempts.map(({ endpoint }: { endpoint?: string }) => endpoint)
  assert.equal(new Set(tried.slice(0, 3)).size, 3)
  assert.equal(tried[3], undefined)
})

test('the turns of a session use one endpoint, and sessions are spread', async (context) => {
  let hits = 0
  const run = async (session: number) => {
    const messages = [
      { role: 'system', content: 'You are kind.' },
      { role: 'user', content: `session ${session}` },
    ]
    const seen = new Set<string>()
    for (let turn = 0; turn < 6; turn++) {
      const { text } = await front.chat({ model: 'keen', messages })
      const { content } = JSON.parse(text).choices[0].message
      if (turn > 0 && seen.has(content)) hits++
      seen.add(content)
      messages.push({ role: 'assistant', content }, { role: 'user', content: `turn ${turn}` })
    }
  }
  let next = 0
  const lane = async () => {
    while (next < 40) await run(next++)
  }
  await Promise.all(Array.from({ length: 2 }, lane))
  context.diagnostic(`${hits} of 200 later turns returned`)
  assert.ok(hits >= 0.85 * 200)
  assert.ok(keen.every(({ server }) => server.asked.length > 0))
})

test('a prompt cache key, and then a header, take precedence over the words', async () => {
  const at = async (fields: object, headers = {}) => {
    const { text } = await front.ask({ model: 'keen', ...fields }, headers).over
    return JSON.parse(text).choices[0].message.content
  }
  const words = (index: number) => [{ role: 'user', content: `question ${index}` }]
  const eight = [0, 1, 2, 3, 4, 5, 6, 7]
  const meet = async (ask: (index: number) => Promise<string>) => {
    const places = new Set<string>()
    for (const index of eight) places.add(await ask(index))
    return places.size
  }
  assert.equal(await meet((i) => at({ messages: words(i), prompt_cache_key: 'same' })), 1)
  assert.equal(await meet((i) => at({ messages: words(i) }, { 'x-session-id': 'same' })), 1)
  assert.ok((await meet((i) => at({ messages: words(0), prompt_cache_key: `other ${i}` }))) > 1)
})

test('a new address is used, and a removed one is not', async () => {
  const [first, second, third] = even as [Replica, Replica, Replica]
  say('even.test', [first.host, second.host])
  await until('two are left', async () => (await endpointsOf('even')).length === 2, 30)
  const before = third.server.asked.length
  for (let count = 0; count < 10; count++) await front.chat({ model: 'even' })
  assert.equal(third.server.asked.length, before)
  say('even.test', addressesOf(even))
  await until(
    'it is asked',
    async () => {
      await front.chat({ model: 'even' })
      return third.server.asked.length > before
    },
    30,
  )
})
