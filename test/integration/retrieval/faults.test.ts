/**
 * A store, or the upstream that embeds, refuses, hangs, resets, drips or returns nonsense:
 * `on_error` decides, and nothing is held.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { errorOf, refusingUrl, startFront, startUpstream } from '../../helpers/fake-upstream.ts'
import { until } from '../../helpers/until.ts'
import { startQdrant } from '../../helpers/vector-stores/qdrant-server.ts'
import { embedding, wordVector } from '../../helpers/vector-stores/word-vectors.ts'

/** Servers that misbehave in the same way, regardless of the protocol. */
const FAULTS: Readonly<Record<string, (socket: Socket) => void>> = {
  hangs: () => {},
  resets: (socket) => void socket.resetAndDestroy(),
  babbles: (socket) => void socket.end('<html>not what was asked</html>'),
  drips: (socket) => {
    const timer = setInterval(() => socket.write('HTTP'[0] ?? ''), 20)
    socket.on('close', () => clearInterval(timer))
  },
}
const TIMEOUT_MS = 150

const servers = await Promise.all(
  Object.entries(FAULTS).map(async ([fault, misbehave]) => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
      socket.once('data', () => misbehave(socket))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const close = () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
    return { fault, address, sockets, close }
  }),
)
const refusing = { fault: 'refuses', address: new URL(await refusingUrl()).host }
const [upstream, embedder, qdrant] = await Promise.all([
  startUpstream(),
  startUpstream(embedding),
  startQdrant(),
])
qdrant.fill([{ id: 'a', text: 'Hello.', tenant: 'acme', source: 's', vector: wordVector('hello') }])

const SCHEMES = { qdrant: 'http://', chroma: 'http://', pgvector: 'postgres://u@' } as const
const STORE = {
  collection: 'docs',
  tenant_field: 'metadata.tenant',
  timeout_ms: TIMEOUT_MS,
  embedding: { upstream: 'embedder' },
}
const faulty = [refusing, ...servers].flatMap(({ fault, address }) => [
  ...Object.entries(SCHEMES).map(([provider, scheme]) => ({
    name: `${provider}-${fault}`,
    store: {
      ...STORE,
      provider,
      endpoint: `${scheme}${address}`,
    },
    embedder: undefined,
  })),
  {
    name: `embedder-${fault}`,
    store: {
      ...STORE,
      provider: 'qdrant',
      endpoint: qdrant.url,
      embedding: { upstream: `e-${fault}` },
    },
    embedder: { name: `e-${fault}`, endpoint: `http://${address}` },
  },
])
const retrieval = faulty.flatMap(({ name }) =>
  (['fail', 'skip'] as const).map((on_error) => ({
    name: `${name}-${on_error}`,
    store: name,
    on_error,
  })),
)
const hanging = servers.find(({ fault }) => fault === 'hangs') ?? assert.fail()
const hangingUrl = `http://${hanging.address}`
const front = await startFront({
  rate_limits: { default: { requests_per_minute: 100_000 } },
  upstreams: [
    { name: 'up', endpoint: upstream.url },
    { name: 'embedder', endpoint: embedder.url },
    ...faulty.flatMap((one) => one.embedder ?? []),
  ],
  vector_stores: [
    ...faulty.map(({ name, store }) => ({ ...store, name })),
    { ...STORE, name: 'good', provider: 'qdrant', endpoint: qdrant.url, timeout_ms: 60_000 },
    { ...STORE, name: 'patient', provider: 'qdrant', endpoint: hangingUrl, timeout_ms: 60_000 },
  ],
  retrieval: [...retrieval, { name: 'good' }, { name: 'patient' }],
  routes: [...retrieval, { name: 'good' }, { name: 'patient' }].map(({ name }) => ({
    name,
    strategy: 'single',
    primary: 'up',
    retrieval: name === 'good' ? ['good', 'qdrant-refuses-skip'] : [name],
  })),
})
after(async () => {
  await front.process.stop()
  await Promise.all([upstream.close(), embedder.close(), qdrant.close()])
  for (const { close } of servers) close()
})

const ask = (model: string) => front.ask({ model, messages: [{ role: 'user', content: 'hello' }] })
const used = async () => (await front.admin('/limits/acme')).concurrent_requests.used

for (const { name } of faulty) {
  test(`${name}: fail returns 503 without an address, skip returns an answer without passages`, async () => {
    upstream.asked.length = 0
    const [refused, answered] = await Promise.all([
      ask(`${name}-fail`).over,
      ask(`${name}-skip`).over,
    ])
    assert.equal(refused.status, 503, refused.text)
    assert.equal(errorOf(refused).code, 'ERR_GW_AUXILIARY_UNAVAILABLE')
    assert.equal(refused.headers['retry-after'], '1')
    assert.doesNotMatch(refused.text, /127\.0\.0\.1|ECONN/)
    assert.equal(answered.status, 200, answered.text)
    const { messages } = upstream.asked[0]?.body ?? assert.fail('No upstream was asked.')
    assert.deepEqual(messages, [{ role: 'user', content: 'hello' }])
    const { retrieval } = await front.trace(answered)
    assert.match(retrieval[0].outcome, /^(timeout|error|open)$/)
    assert.equal(await used(), 0)
  })
}

test('a failing store does not affect another store of the route', async () => {
  upstream.asked.length = 0
  const heard = await ask('good').over
  assert.equal(heard.status, 200)
  assert.match(JSON.stringify(upstream.asked[0]?.body.messages), /Hello\./)
})

test('requests to a store that keeps failing are refused at once, and counted', async () => {
  for (let time = 0; time < 6; time++) await ask('qdrant-refuses-fail').over
  const count = await front.value(
    'gw_auxiliary_requests_total{kind="vector_store",name="qdrant-refuses",outcome="open"}',
  )
  assert.ok(count >= 1)
})

test('a client that disconnects during the search leaves nothing behind', async () => {
  upstream.asked.length = 0
  await until('earlier searches are gone', () => hanging.sockets.size === 0)
  const asking = ask('patient')
  await until('the store has the query', () => hanging.sockets.size > 0)
  assert.equal(await used(), 1)
  asking.leave()
  await asking.over.catch(() => {})
  await until('its place is free', async () => (await used()) === 0)
  await until("the store's connection is closed", () => hanging.sockets.size === 0)
  assert.equal(await front.value('gw_requests_in_flight{route="patient"}'), 0)
  assert.equal(upstream.asked.length, 0)
})
