/** The official clients of Qdrant and Chroma use the gateway's own connections, within its bounds. */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ChromaClient } from 'chromadb'
import { Certificates } from '../../helpers/certificates.ts'
import {
  type AskedServer,
  json,
  openStore,
  search,
  startAsked,
} from '../../helpers/vector-stores/a-store.ts'

const server = await startAsked()
after(() => server.close())
beforeEach(() => {
  server.asked.length = 0
})

const POINTS = {
  result: { points: [{ id: 'a', score: 1, payload: { text: 'Hi.', tenant: 'acme' } }] },
}
const COLLECTION = { id: 'c-1', name: 'my docs', configuration_json: { hnsw: { space: 'cosine' } } }
const FOUND = {
  ids: [['a']],
  distances: [[0.25]],
  documents: [['Hi.']],
  metadatas: [[{ tenant: 'acme' }]],
  include: ['documents', 'metadatas', 'distances'],
}
const GOOD: Readonly<Record<string, AskedServer['answer']>> = {
  qdrant: json(POINTS),
  chroma: chromaWith(json(FOUND)),
}
/** The collection exists, and a query gets this answer. */
function chromaWith(answer: AskedServer['answer'], collection: object = COLLECTION) {
  const found = json(collection)
  const one: AskedServer['answer'] = (outgoing, line) =>
    line.startsWith('GET ') ? found(outgoing, line) : answer(outgoing, line)
  return one
}

test('Qdrant gets a query for points of the tenant, below the path of the endpoint', async () => {
  server.answer = json(POINTS)
  const endpoint = `${server.url}/behind/`
  const fields = { api_key: 'secret', tenant_field: 'meta.tenant', vector_field: 'text' }
  const store = openStore({ provider: 'qdrant', endpoint, ...fields })
  assert.deepEqual(await search(store), [
    { id: 'a', score: 1, payload: { text: 'Hi.', tenant: 'acme' } },
  ])
  store.close()
  const [asked] = server.asked
  assert.equal(asked?.line, 'POST /behind/collections/my%20docs/points/query')
  assert.deepEqual(JSON.parse(asked?.body ?? ''), {
    query: [1, 0.5],
    using: 'text',
    filter: { must: [{ key: 'meta.tenant', match: { value: 'acme' } }] },
    limit: 3,
    with_payload: true,
  })
  assert.equal(asked?.headers['api-key'], 'secret')
  assert.equal(asked?.headers.host, new URL(server.url).host)
  assert.equal(asked?.headers['accept-encoding'], 'identity')
  assert.equal(asked?.headers['sec-fetch-mode'], undefined)
})

test('a member of a passage keeps its name, after any other answer of Qdrant', async () => {
  const store = openStore({ provider: 'qdrant', endpoint: server.url })
  const payloads: unknown[] = []
  for (const name of [String.raw`"tex\\"`, String.raw`"tex\u0074"`]) {
    const text = `{"result":{"points":[{"id":"a","score":1,"payload":{"tenant":"acme",${name}:"Hi."}}]}}`
    server.answer = (outgoing) => outgoing.end(text)
    payloads.push((await search(store))[0]?.payload)
  }
  store.close()
  assert.deepEqual(payloads, [
    { tenant: 'acme', 'tex\\': 'Hi.' },
    { tenant: 'acme', text: 'Hi.' },
  ])
})

test('Chroma is asked for the collection once, then for passages of the tenant', async () => {
  server.answer = chromaWith(json(FOUND))
  const endpoint = `${server.url}/behind/api/v2/tenants/t1/databases/d1`
  const store = openStore({ provider: 'chroma', endpoint, api_key: 'secret' })
  const expected = [{ id: 'a', score: 0.75, payload: { document: 'Hi.', tenant: 'acme' } }]
  assert.deepEqual(await search(store), expected)
  assert.deepEqual(await search(store), expected)
  store.close()
  const below = '/behind/api/v2/tenants/t1/databases/d1/collections'
  const query = `POST ${below}/c-1/query`
  const lines = server.asked.map(({ line }) => line)
  assert.deepEqual(lines, [`GET ${below}/my%20docs`, query, query])
  assert.deepEqual(JSON.parse(server.asked[1]?.body ?? ''), {
    query_embeddings: [[1, 0.5]],
    n_results: 3,
    where: { tenant: { $eq: 'acme' } },
    include: ['documents', 'metadatas', 'distances'],
  })
  for (const { headers } of server.asked) {
    assert.equal(headers['x-chroma-token'], 'secret')
    assert.equal(headers.authorization, 'Bearer secret')
    assert.equal(headers.host, new URL(server.url).host)
  }
})

test('Chroma without a database in its endpoint uses the default one', async () => {
  server.answer = chromaWith(json(FOUND))
  const store = openStore({ provider: 'chroma', endpoint: server.url })
  await search(store)
  store.close()
  const below = '/api/v2/tenants/default_tenant/databases/default_database/collections/my%20docs'
  assert.equal(server.asked[0]?.line, `GET ${below}`)
})

test('a recreated collection of Chroma is found again', async () => {
  server.answer = chromaWith(json(FOUND))
  const store = openStore({ provider: 'chroma', endpoint: server.url })
  await search(store)
  server.answer = (outgoing, line) => {
    if (line.includes('/c-1/'))
      json({ error: 'NotFoundError', message: 'gone' }, 404)(outgoing, line)
    else chromaWith(json(FOUND), { ...COLLECTION, id: 'c-2' })(outgoing, line)
  }
  assert.equal((await search(store)).length, 1)
  server.answer = json(
    { error: 'NotFoundError', message: 'Collection [my docs] does not exist' },
    404,
  )
  await assert.rejects(search(store), {
    message: 'it answered with 404: Collection [my docs] does not exist',
  })
  store.close()
})

/** Every module that is imported leaves its mark. */
function plant(name: string) {
  const file = join(tmpdir(), `gw-planted-${process.pid}-${name}.mjs`)
  writeFileSync(file, `globalThis.planted = [...(globalThis.planted ?? []), '${name}']`)
  after(() => rmSync(file))
  const packages = join(import.meta.dirname, '../../../node_modules/@chroma-core')
  return { type: 'known', name: relative(packages, file), config: {} }
}
const planted = () => (globalThis as { planted?: readonly string[] }).planted ?? []

test('no module that Chroma names is imported, although its client would', async () => {
  const [embedding, deep] = [plant('embedding'), plant('deep')]
  const vectors = { vector_index: { enabled: true, config: { embedding_function: deep } } }
  const collection = {
    ...COLLECTION,
    configuration_json: { ...COLLECTION.configuration_json, embedding_function: embedding },
    schema: { defaults: { float_list: vectors }, keys: { '#embedding': { float_list: vectors } } },
  }
  server.answer = chromaWith(json({ ...FOUND, ...collection }), collection)
  const store = openStore({ provider: 'chroma', endpoint: server.url })
  assert.equal((await search(store)).length, 1)
  store.close()
  assert.deepEqual(planted(), [])

  const { hostname, port } = new URL(server.url)
  const alone = new ChromaClient({ host: hostname, port: Number(port), ssl: false })
  await alone.getCollection({ name: 'my docs' })
  assert.deepEqual(planted().toSorted(), ['deep', 'embedding'])
})

const MANY = `{"result":{"points":[${'1,'.repeat(1_000_001)}1]},"ids":[[]]}`
const senseless = 'its answer is not valid'
const FAULTS: readonly (readonly [name: string, answer: AskedServer['answer'], message: string])[] =
  [
    ['is a page', (outgoing) => void outgoing.end('<html>'), senseless],
    ['is another JSON', json([]), senseless],
    ['has other members', json({ hello: 1 }), senseless],
    ['is empty', (outgoing) => void outgoing.writeHead(204).end(), senseless],
    ['holds a million values', (outgoing) => void outgoing.end(MANY), senseless],
    [
      'is too long',
      (outgoing) => void outgoing.end(Buffer.alloc(33_554_433, ' ')),
      'its answer is too long',
    ],
    [
      'is packed unasked',
      (outgoing) =>
        void outgoing
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end(gzipSync(JSON.stringify({ ...POINTS, ...FOUND }))),
      senseless,
    ],
    [
      'leads elsewhere',
      (outgoing) => void outgoing.writeHead(307, { location: 'http://127.0.0.1:9/x' }).end(),
      'it answered with 307',
    ],
    [
      'refuses',
      json({ error: 'InvalidArgument', message: 'bad dimension' }, 400),
      'it answered with 400: bad dimension',
    ],
    [
      'asks for less',
      json({ status: { error: 'slow down' } }, 429),
      'it answered with 429: slow down',
    ],
    ['fails', (outgoing) => void outgoing.writeHead(503).end('no'), 'it answered with 503'],
  ]

for (const provider of ['qdrant', 'chroma']) {
  for (const [name, answer, message] of FAULTS) {
    test(`${provider}: an answer that ${name} is a failure that names no address`, async () => {
      const store = openStore({ provider, endpoint: server.url })
      server.answer = answer
      await assert.rejects(search(store), { message })
      server.answer = chromaWith(answer)
      if (provider === 'chroma') await assert.rejects(search(store), { message })
      server.answer = GOOD[provider] ?? assert.fail()
      assert.equal((await search(store)).length, 1)
      store.close()
    })
  }

  test(`${provider}: consecutive searches share connections`, async () => {
    server.answer = GOOD[provider] ?? assert.fail()
    const store = openStore({ provider, endpoint: server.url })
    const before = server.connections()
    for (let time = 0; time < 12; time++) await search(store)
    // One may still be held when the next search begins.
    assert.ok(server.connections() - before <= 2)
    store.close()
  })

  test(`${provider}: a search ends with its signal`, async () => {
    const asked = Promise.withResolvers<void>()
    server.answer = () => asked.resolve()
    const store = openStore({ provider, endpoint: server.url })
    const leaving = new AbortController()
    const searching = search(store, leaving.signal)
    await asked.promise
    leaving.abort()
    await assert.rejects(searching)
    store.close()
  })

  test(`${provider}: a denied address is not connected to`, async () => {
    const store = openStore({ provider, endpoint: 'http://169.254.169.254' })
    await assert.rejects(search(store), { message: /ERR_GW_ADDRESS_DENIED/ })
    store.close()
  })

  test(`${provider}: it is called through the proxy`, async () => {
    server.answer = GOOD[provider] ?? assert.fail()
    const store = openStore(
      { provider, endpoint: 'http://store.example' },
      { http_proxy: server.url },
    )
    assert.equal((await search(store)).length, 1)
    store.close()
    for (const { line, headers } of server.asked) {
      assert.match(line, /^(GET|POST) http:\/\/store\.example\//)
      assert.equal(headers.host, 'store.example')
    }
  })

  test(`${provider}: its certificate is verified with the authorities of the configuration`, async () => {
    const certificates = new Certificates()
    const { cert, key, certFile } = certificates.make()
    const good = GOOD[provider] ?? assert.fail()
    const secure = createServer({ cert, key }, (incoming, outgoing) => {
      incoming.resume().on('end', () => good(outgoing, `${incoming.method} ${incoming.url}`))
    })
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
    const endpoint = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`
    try {
      const trusting = openStore({ provider, endpoint }, { tls: { ca_bundle_path: certFile } })
      assert.equal((await search(trusting)).length, 1)
      trusting.close()
      const plain = openStore({ provider, endpoint })
      await assert.rejects(search(plain), { message: /DEPTH_ZERO_SELF_SIGNED_CERT/ })
      plain.close()
    } finally {
      secure.close()
      secure.closeAllConnections()
      certificates.remove()
    }
  })
}

test('an id of Qdrant keeps all its digits', async () => {
  const id = '18446744073709551615'
  server.answer = (outgoing) =>
    void outgoing.end(`{"result":{"points":[{"id":${id},"score":0.5,"payload":{}}]}}`)
  const store = openStore({ provider: 'qdrant', endpoint: server.url })
  assert.equal((await search(store))[0]?.id, id)
  store.close()
})
